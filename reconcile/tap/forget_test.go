package tap

import (
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The same controller is stopped, forgotten, and attached anew, as when loops that
// ran dry are to run for real.
func TestForget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, rec := tappedTarget(t)
		keys := worker(c)
		c.queue.Add("a")
		equal(t, "before", <-keys, "a")
		before := last[state.KeyTaken](t, rec).Sync
		tp.Pause("ctl")
		c.queue.Add("left")
		c.queue.AddAfter("late", time.Hour)
		synctest.Wait()
		c.shutDown()
		<-keys

		tp.Forget()
		var dropped []string
		for _, d := range of[state.KeyDropped](rec) {
			dropped = append(dropped, d.Key)
		}
		if want := []string{"late", "left"}; !slices.Equal(dropped, want) {
			t.Errorf("dropped %q, want %q", dropped, want)
		}
		equal(t, "queues", len(tp.Queues("ctl")), 0)
		equal(t, "delayed", len(tp.Activity().Waiting), 0)

		again := newTarget()
		if err := tp.Attach("ctl", again, Strings("queue", "queue")); err != nil {
			t.Fatal(err)
		}
		keys = worker(again)
		again.queue.Add("b")
		nothing(t, keys) // what was paused stays so
		tp.Resume("ctl")
		equal(t, "after", <-keys, "b")
		if now := last[state.KeyTaken](t, rec).Sync; now <= before {
			t.Errorf("sync %d comes after %d", now, before)
		}
		again.shutDown()
		<-keys
		tp.Forget()
		third := newTarget()
		defer third.shutDown()
		if err := tp.Attach("ctl", third, Strings("queue", "queue")); err != nil {
			t.Fatal(err)
		}
		equal(t, "paused", tp.Paused("ctl"), false)
	})
}
