package controllers

import (
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
)

// Page 1 sorts by what one looks for, the greatest first.
func TestControllersAreSorted(t *testing.T) {
	snap := tuitest.Shop(t, 0)
	e := &page.Env{Parts: &page.Parts{}, Ctx: t.Context(), Snap: snap, Latest: snap, Now: snap.At}
	p := New().(*Page)
	p.Update(page.ShownMsg{}, e)
	press := func() string {
		a, ok := page.Find(p.Actions(e), "o")
		if !ok {
			t.Fatal("o sorts nothing")
		}
		a.Do()
		p.Update(page.ChangedMsg{}, e)
		return p.Title(e)
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
