package waits

import (
	"bytes"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A wait names the keys, since when they have been waiting, and the last error.
func TestAWaitNamesKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := hub.New(hub.Options{})
		defer h.Close()
		for _, key := range []string{"shop/a", "shop/b", "shop/c", "shop/d"} {
			h.Record(state.KeyAdded{Controller: "replicationcontroller-controller", Queue: "replicationmanager", Key: key, Cause: state.Cause{Kind: state.CauseUnknown}})
		}
		h.Record(state.KeyAdded{Controller: "job-controller", Queue: "job", Key: "shop/migrate"})
		h.Record(state.KeyTaken{Controller: "job-controller", Queue: "job", Key: "shop/migrate", Sync: 1})
		h.Record(state.KeyFinished{Failed: true, Controller: "job-controller", Queue: "job", Key: "shop/migrate", Sync: 1, Error: "quota\x1b[2J exceeded"})
		h.Record(state.KeyAdded{Controller: "job-controller", Queue: "job", Key: "shop/migrate"})
		h.Record(state.KeyTaken{Controller: "job-controller", Queue: "job", Key: "shop/migrate", Sync: 2})
		snapshot := h.Flush()
		w := settle.Waiting{For: 15 * time.Second, Total: 25, Items: []settle.Item{
			{Text: "replicationcontroller-controller: 4 ready in queue replicationmanager", For: 14 * time.Second},
			{Text: "job-controller: shop/migrate is being processed", For: 3 * time.Second},
			{Text: "job-controller: shop/migrate is due in 200ms", For: 2 * time.Second},
			{Text: "informer pods has not delivered its first list", For: 15 * time.Second},
			{Text: "job-controller: 1 ready in queue other", For: time.Second},
		}}
		got := Describe(w, snapshot, time.Now().Add(14*time.Second))
		for i, line := range got {
			got[i] = strings.ReplaceAll(line, `\x1b`, "ESC")
		}
		want := []string{
			"waiting for 15s: 25 items still in progress",
			"  - replicationcontroller-controller: shop/a queued for 14s",
			"  - replicationcontroller-controller: shop/b queued for 14s",
			"  - replicationcontroller-controller: shop/c queued for 14s",
			"  - replicationcontroller-controller: 1 more in queue replicationmanager",
			"  - job-controller: shop/migrate in flight for 3s, last error: " + strings.ReplaceAll(state.OneLine("quota\x1b[2J exceeded"), `\x1b`, "ESC"),
			"  - job-controller: shop/migrate is due in 200ms, last error: " + strings.ReplaceAll(state.OneLine("quota\x1b[2J exceeded"), `\x1b`, "ESC"),
			"  - informer pods has not delivered its first list (for 15s)",
			"  - job-controller: 1 ready in queue other (for 1s)",
			"  - and 20 more",
		}
		if !slices.Equal(got, want) {
			t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
		}
	})
}

// Where there is no terminal, a long wait is told of at growing intervals, and a
// short one not at all.
func TestProgressElsewhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := console.NewProgress(&out)
		p.Line("connecting to staging")
		time.Sleep(4 * time.Second)
		p.Line("control plane ready, \x1b[2Jnow")
		var syncing atomic.Bool
		p.Await(func() string {
			if syncing.Load() {
				return "1 informer to sync: \x1b[2Jpods"
			}
			return ""
		})
		time.Sleep(2 * time.Second)
		syncing.Store(true)
		time.Sleep(10 * time.Second)
		synctest.Wait()
		p.Done()
		time.Sleep(time.Hour)
		p.Done()
		synctest.Wait()
		got := out.String()
		// The line of what is done is not taken for what is waited for.
		if strings.Count(got, "\n") != 2 || !strings.HasPrefix(got, "still waiting after 5s: last step: control plane ready, ") || !strings.Contains(got, "\nstill waiting after 15s: 1 informer to sync: ") || strings.Contains(got, "\x1b") {
			t.Errorf("got %q", got)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		p := console.NewProgress(&out)
		p.Line("connecting to staging")
		time.Sleep(4 * time.Second)
		p.Done()
		synctest.Wait()
		if out.Len() > 0 {
			t.Errorf("got %q", out.String())
		}
	})
}
