package lead

import (
	"context"
	"fmt"
	"sync"
	"time"

	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Tenure is this process's part in one election, and what it runs while it leads.
// Candidacy.Stand makes one.
type Tenure struct {
	Candidacy
	// Version is the API server's.
	Version string

	election *election.Election
	config   *rest.Config // of the work, through the election's gate

	led    bool // the work was started
	ending sync.Once
	ended  error
}

// Lost is closed when the lease is lost, and Err says why.
func (t *Tenure) Lost() <-chan struct{} { return t.election.Lost() }

// Err is why the lease was lost; nil where it was not.
func (t *Tenure) Err() error { return t.election.Err() }

// Left is for how long writes may leave without another renewal.
func (t *Tenure) Left() time.Duration { return t.election.Left() }

// Acquire says what will be left undone, and waits until this process leads and may
// still do so. After an error, end gives the lease back.
func (t *Tenure) Acquire(ctx context.Context) error {
	if err := t.warnOfUndone(); err != nil {
		return err
	}
	if err := t.election.Acquire(ctx); err != nil {
		return explain.Error(err, "hold the lease "+t.election.Lease()+" of context "+t.Context)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-t.election.Lost():
			cancel(t.election.Err())
		case <-ctx.Done():
		}
	}()
	return t.stillMay(ctx)
}

// Lead starts the work, to write for real. None of it may run.
func (t *Tenure) Lead(ctx context.Context) error {
	t.led = true
	return t.Work.StartWith(ctx, t.config, t.Component)
}

// End stops the work, waits for the writes under way and gives the lease back, in
// this order; where it does not end, the lease is left to expire. It is done
// once.
func (t *Tenure) End(ctx context.Context) error {
	t.ending.Do(func() {
		if t.led {
			if err := t.Work.StopWork(ctx); err != nil {
				t.election.Abandon("what writes has not ended in time")
				return // its own stop says so
			}
		}
		t.ended = t.election.Release(ctx)
	})
	return t.ended
}

// stillMay asks again, when the lease is held and before any loop runs, what was
// asked before the wait for it: that may have lasted for days, in which the server
// was upgraded, a right was taken away or the context protected. After an error the
// lease is to be given back.
func (t *Tenure) stillMay(ctx context.Context) error {
	before := t.Version
	now := before
	var err error
	if t.Allowed != nil {
		err = t.Allowed()
	}
	if err == nil {
		var said Answer
		said, err = t.Preflight(ctx)
		now = said.Version
	}
	if err != nil {
		return explain.Cause(ctx, fmt.Errorf("the lease was acquired and is released again: %w", err))
	}
	if now != before {
		t.Recorder.Record(state.Note{Source: "election", Text: state.OneLine(fmt.Sprintf("the API server is %s now; it was %s before the wait for the lease", now, before))})
	}
	return nil
}
