package queues

import (
	"fmt"
	"slices"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestQueuesOrder(t *testing.T) {
	q := keyQuery{sort: byState}
	o := orderKeys(tuitest.BusyShop(t), q, widget.Filter{})
	if len(o.counts) < 3 {
		t.Fatalf("the recording has keys in %v only", o.counts)
	}
	for i := 1; i < len(o.keys); i++ {
		a, b := o.keys[i-1], o.keys[i]
		if phaseOrder(a.Phase) > phaseOrder(b.Phase) {
			t.Errorf("%s %s stands before %s %s", a.Phase, a.Key, b.Phase, b.Key)
		}
		if a.Phase == state.PhaseWaiting && b.Phase == state.PhaseWaiting && a.Due.After(b.Due) {
			t.Errorf("%s is due after %s", a.Key, b.Key)
		}
	}
	for i, id := range o.ids {
		if at := o.find(id); at != i {
			t.Errorf("%q is looked for at %d, stands at %d", id, at, i)
		}
	}
	q.reverse = true
	reversed := orderKeys(o.snap, q, widget.Filter{})
	slices.Reverse(reversed.ids)
	if !slices.Equal(reversed.ids, o.ids) {
		t.Error("reversed is another order")
	}
}

// manyKeysSnapshot has live keys beyond what is sorted at once.
func manyKeysSnapshot(n int) *state.Snapshot {
	entries := make([]state.Entry, 0, n)
	for i := range n {
		e := state.KeyAdded{Controller: fmt.Sprintf("c%d", i%40), Queue: "q", Key: fmt.Sprintf("shop/key-%06d", i), How: "Add"}
		if i%3 == 0 {
			e.How, e.Delay, e.Retries = "AddRateLimited", time.Duration(i%1000+1)*time.Second, i%9
		}
		entries = append(entries, state.Entry{Seq: uint64(i + 1), At: tuitest.Now(), Event: e})
	}
	return state.Fold(nil, entries...)
}

// keysPage shows a snapshot's keys, sorted by a command where there are many.
func keysPage(t testing.TB, snap *state.Snapshot) (*Page, *page.Env) {
	t.Helper()
	theme, err := widget.NewTheme("mono", termenv.Ascii)
	if err != nil {
		t.Fatal(err)
	}
	e := &page.Env{Parts: &page.Parts{Theme: theme}, Ctx: t.Context(), Snap: snap, Latest: snap, Now: tuitest.Now()}
	p := New().(*Page)
	p.Update(page.SizeMsg{W: 200, H: 57}, e)
	answered(t, p, p.Update(page.ShownMsg{}, e), e)
	return p, e
}

// answered runs a command of the page's and brings it the answer.
func answered(t testing.TB, p *Page, cmd tea.Cmd, e *page.Env) {
	t.Helper()
	if cmd == nil {
		return
	}
	p.Update(cmd().(page.ResultMsg).Msg, e)
}

func TestQueuesMany(t *testing.T) {
	snap := manyKeysSnapshot(3 * manyKeys)
	p, e := keysPage(t, snap)
	if len(p.order.ids) != 3*manyKeys {
		t.Fatalf("%d keys are shown", len(p.order.ids))
	}
	// A key far down is found although it takes a command to sort.
	cmd, ok := p.Focus(page.Subject{Kind: page.OnKey, Controller: "c7", Queue: "q", Key: "shop/key-008007"}, e)
	if !ok {
		t.Fatal("the page cannot show a key")
	}
	answered(t, p, cmd, e)
	if got := p.Under(e).Key; got != "shop/key-008007" {
		t.Errorf("the cursor is on %q", got)
	}
	// Old rows show their keys as they are now, before the new order comes.
	id := p.list.Selected
	next := state.Fold(snap, state.Entry{Seq: snap.Seq + 1, At: tuitest.Now(), Event: state.KeyTaken{Controller: "c7", Queue: "q", Key: "shop/key-008007", Sync: 1}})
	e.Snap = next
	if k := p.current(e); p.list.Selected != id || k.Phase != state.PhaseProcessing {
		t.Errorf("the row shows %s", k.Phase)
	}
	// One question at a time; its answer counts only while it is the latest.
	p.pacing = page.Pacing{}
	first := p.refresh(e, nil)
	if first == nil || p.refresh(e, nil) != nil {
		t.Fatal("want one question at a time")
	}
	old := p.order
	p.stale.Next()
	answered(t, p, first, e)
	if p.order != old {
		t.Error("an outdated answer was taken")
	}
}

// BenchmarkQueues draws and moves in 100,000 keys: what a frame costs, and apart
// from it what sorting them in a command costs.
func BenchmarkQueues(b *testing.B) {
	snap := manyKeysSnapshot(100_000)
	b.Run("view", func(b *testing.B) {
		p, e := keysPage(b, snap)
		b.ResetTimer()
		for i := range b.N {
			p.Key([]string{"j", "G", "g", "pgdown"}[i%4], e)
			p.Update(page.ChangedMsg{}, e)
			p.View(e, 200, 57)
		}
	})
	b.Run("sort", func(b *testing.B) {
		for range b.N {
			orderKeys(snap, keyQuery{sort: byState}, widget.Filter{})
		}
	})
}
