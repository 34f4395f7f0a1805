package follow

import (
	"context"
	"io"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// announced is a follower of a session that writes to a cluster and prints no
// journal: what must not go unsaid is printed on out all the same.
type announced struct {
	Follower
	done chan struct{}
}

// Announce begins to print.
func Announce(e *engine.Engine, f Follower, out io.Writer) announced {
	a := announced{f, make(chan struct{})}
	subscription := e.Journal().Subscribe(0)
	go func() {
		defer close(a.done)
		announceAll(subscription, out)
	}()
	return a
}

func announceAll(subscription *hub.Subscription, out io.Writer) {
	journal := render.NewJournal(render.JournalOptions{Verbosity: render.Everything, Location: time.Local})
	over := console.IsTerminal(out) // the line of the progress is there
	for {
		entries, err := subscription.Next(context.Background())
		if err != nil {
			return
		}
		for _, entry := range entries {
			if !mustBeSaid(entry.Event) {
				continue
			}
			if over {
				_, _ = io.WriteString(out, "\r\x1b[K")
			}
			_ = journal.Write(out, entry)
		}
	}
}

// mustBeSaid are the mode, the election and the warnings.
func mustBeSaid(e state.Event) bool {
	switch e := e.(type) {
	case state.SessionStarted, state.ElectionChanged:
		return true
	case state.Note:
		return e.Warning
	}
	return state.Alarming(e)
}

// Wait implements Follower.
func (a announced) Wait() {
	<-a.done
	a.Follower.Wait()
}
