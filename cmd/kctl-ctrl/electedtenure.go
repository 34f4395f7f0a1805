package main

import (
	"context"
	"sync"

	"k8s.io/client-go/rest"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// tenure is this process's part in one election, and the loops that it runs while it
// leads. Stand makes one.
type tenure struct {
	s         *session
	e         *election.Election
	config    *rest.Config // the loops', through the election's gate
	component *kubectrlmgrconfig.KubeControllerManagerConfiguration
	context   string
	namespace string
	// started tells the journal of the mode.
	started state.SessionStarted
	// again asks what was asked before the wait for the lease.
	again func(context.Context) error

	led    bool // its loops were started
	ending sync.Once
	ended  error
}

// acquire says what will be left undone, and waits until this process leads and may
// still do so. After an error, end gives the lease back.
func (t *tenure) acquire(ctx context.Context) error {
	if err := t.s.warnOfUndone(t.component, t.namespace); err != nil {
		return err
	}
	if err := t.e.Acquire(ctx); err != nil {
		return explain.Error(err, "hold the lease "+t.e.Lease()+" of context "+t.context)
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	go func() {
		select {
		case <-t.e.Lost():
			cancel(t.e.Err())
		case <-ctx.Done():
		}
	}()
	return t.again(ctx)
}

// lead starts the loops to write for real. None of the session's may run.
func (t *tenure) lead(ctx context.Context) error {
	t.led = true
	t.s.connectBy(t.config, state.ModeActive)
	return t.s.startWork(ctx, t.component, t.namespace)
}

// end stops the loops, waits for the writes under way and gives the lease back, in
// this order; where the loops do not end, the lease is left to expire. It is done
// once.
func (t *tenure) end(ctx context.Context) error {
	t.ending.Do(func() {
		if gate := t.s.approval.gate; gate != nil && t.led {
			gate.Close() // no worker stands there when it is to end
		}
		if t.led {
			if err := t.s.stopWork(ctx); err != nil {
				t.e.Abandon("what writes has not ended in time")
				return // its own stop says so
			}
		}
		t.ended = t.e.Release(ctx)
	})
	return t.ended
}
