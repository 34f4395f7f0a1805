package tui

import (
	"bytes"
	"context"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// parts is a journal that gives one snapshot after the other, and then ends.
type parts struct{ snaps []*state.Snapshot }

func (p *parts) Next(_ context.Context, last *state.Snapshot) (*state.Snapshot, error) {
	for i, s := range p.snaps {
		if last == nil || s == last && i+1 < len(p.snaps) {
			if last != nil {
				return p.snaps[i+1], nil
			}
			return s, nil
		}
	}
	return nil, context.Canceled
}

func TestPlainPrintsLinesThatStandAlone(t *testing.T) {
	for start, want := range map[int]string{
		1: "[CHANGED] deployment, state stopped, delayed 3, retry 8",
		3: "[CHANGED] deployments.apps, state synced, objects 3",
		7: "shop-operator",
	} {
		var out bytes.Buffer
		all := shop(t, 0)
		o := Options{Parts: page.Parts{Theme: testTheme(t, "mono", 0)}, Journal: &parts{[]*state.Snapshot{shop(t, 200), all}}, Start: start, Now: func() time.Time { return all.At }}
		if err := Plain(context.Background(), o, &out); err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(out.String(), want) {
			t.Errorf("page %d does not print %q:\n%s", start, want, out.String())
		}
		if strings.ContainsAny(out.String(), "\x1b\r") {
			t.Errorf("page %d prints control characters:\n%q", start, out.String())
		}
	}
}

func TestPlainTellsWhatChangedAndWhatWent(t *testing.T) {
	before := map[string]page.Row{}
	var out bytes.Buffer
	for _, rows := range [][]page.Row{
		{{ID: "a", Text: "a, 1"}, {ID: "b", Text: "b, 1"}, {ID: "h", Text: "h, 1", History: true}},
		{{ID: "a", Text: "a, 2"}, {ID: "c", Text: "c\u202e"}},
	} {
		if err := plainChanges(&out, before, rows); err != nil {
			t.Fatal(err)
		}
	}
	want := "[CAME] a, 1\n[CAME] b, 1\n[CAME] h, 1\n[CHANGED] a, 2\n[CAME] c\ufffd\n[GONE] b, 1\n"
	if out.String() != want {
		t.Errorf("printed\n%swant\n%s", out.String(), want)
	}
}
