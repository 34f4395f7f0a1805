package tui

import (
	"fmt"
	"reflect"
	"testing"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
)

// Drawing is a pure function of the snapshot, the page, the time and the size: it
// leaves the page as it was, also where a snapshot has come that the page has not
// been told of.
func TestDrawingChangesNothing(t *testing.T) {
	early, snap := shop(t, 700), shop(t, 0)
	for _, size := range [][2]int{{80, 24}, {200, 60}} {
		for _, row := range pages() {
			t.Run(fmt.Sprintf("%s %dx%d", row.name, size[0], size[1]), func(t *testing.T) {
				o := shopOptions(snap)
				o.Start = int(row.id)
				o.Owners, o.Revisions = &fakeOwners{tree: shopTree(), cascade: shopCascades()}, &fakeRevisions{lists: shopRevisions()}
				s := newScreen(t, o, early, size[0], size[1])
				s.press("j")
				s.env.Snap, s.env.Latest = snap, snap
				before := fields(s.page())
				p, w, h := s.page(), size[0]-7, size[1]-9
				p.View(s.env, w, h)
				p.Title(s.env)
				p.Actions(s.env)
				p.Under(s.env)
				p.Filtering()
				s.View()
				if after := fields(s.page()); after != before {
					t.Errorf("it was\n%s, and is\n%s", before, after)
				}
				s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
			})
		}
	}
}

// fields prints a page, with the values of its fields but not what they point to.
func fields(p page.Page) string { return fmt.Sprintf("%+v", reflect.ValueOf(p).Elem().Interface()) }
