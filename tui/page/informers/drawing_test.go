package informers

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// What a cache holds is read in commands: drawing it asks neither the cache, of which
// each method panics here, nor any other part of a session.
func TestDrawingOfACacheAsksNobody(t *testing.T) {
	snap := tuitest.Shop(t, 0)
	theme, err := widget.NewTheme("mono", termenv.Ascii)
	if err != nil {
		t.Fatal(err)
	}
	e := &page.Env{Parts: &page.Parts{Theme: theme}, Ctx: t.Context(), Snap: snap, Latest: snap, Now: snap.At}
	p := New().(*Page)
	run := func(cmd tea.Cmd) {
		for cmds := []tea.Cmd{cmd}; len(cmds) > 0; cmds = cmds[1:] {
			if cmds[0] == nil {
				continue
			}
			switch msg := cmds[0]().(type) {
			case tea.BatchMsg:
				cmds = append(cmds, msg...)
			case page.ResultMsg:
				cmds = append(cmds, p.Update(msg.Msg, e))
			}
		}
	}
	run(p.Update(page.SizeMsg{W: 200, H: 56}, e))
	run(p.Update(page.ShownMsg{}, e))
	cmd, ok := p.Focus(page.Subject{Kind: page.OnInformer, Informer: "pods"}, e)
	if !ok {
		t.Fatal("pods have no cache")
	}
	run(cmd)
	p.opened.cache = struct{ port.Cache }{}
	p.Title(e)
	p.Actions(e)
	p.Under(e)
	if text := strings.Join(p.View(e, 200, 56), "\n"); !strings.Contains(text, "> shop") || !strings.Contains(text, "resourceVersion:") {
		t.Errorf("it is drawn as\n%s", text)
	}
}
