package tui

import (
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
)

// Page 1 sorts by what one looks for, the greatest first.
func TestControllersAreSorted(t *testing.T) {
	snap := tuitest.Shop(t, 0)
	e := &env{Parts: &Parts{}, ctx: t.Context(), snap: snap, latest: snap, now: snap.At}
	p := newControllersPage().(*controllersPage)
	p.update(shownMsg{}, e)
	press := func() string {
		a, ok := find(p.actions(e), "o")
		if !ok {
			t.Fatal("o sorts nothing")
		}
		a.do()
		p.update(changedMsg{}, e)
		return p.title(e)
	}
	for _, by := range controllerSorts()[1:] {
		if title := press(); !strings.Contains(title, "; by "+string(by)) {
			t.Errorf("by %s: the title is %q", by, title)
		}
		rows := p.rows(e).Items
		for i := 1; i < len(rows); i++ {
			if by.compare(rows[i-1], rows[i]) > 0 {
				t.Errorf("by %s: %s comes before %s", by, rows[i-1].Name, rows[i].Name)
			}
		}
	}
	if rows := p.rows(e).Items; rows[0].Writes.Total() == 0 {
		t.Error("by writes: the first has none")
	}
	if title := press(); strings.Contains(title, "; by ") {
		t.Errorf("the title is %q", title)
	}
}
