package tui

import (
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/muesli/termenv"
)

// What a cache holds is read in commands: drawing it asks neither the cache, of which
// each method panics here, nor any other part of a session.
func TestDrawingOfACacheAsksNobody(t *testing.T) {
	snap := tuitest.Shop(t, 0)
	theme, err := widget.NewTheme("mono", termenv.Ascii)
	if err != nil {
		t.Fatal(err)
	}
	e := &env{Parts: &Parts{Theme: theme}, ctx: t.Context(), snap: snap, latest: snap, now: snap.At}
	p := newInformersPage().(*informersPage)
	run := func(cmd tea.Cmd) {
		for cmds := []tea.Cmd{cmd}; len(cmds) > 0; cmds = cmds[1:] {
			if cmds[0] == nil {
				continue
			}
			switch msg := cmds[0]().(type) {
			case tea.BatchMsg:
				cmds = append(cmds, msg...)
			case pageMsg:
				cmds = append(cmds, p.update(msg.msg, e))
			}
		}
	}
	run(p.update(sizeMsg{200, 56}, e))
	run(p.update(shownMsg{}, e))
	cmd, ok := p.focus(subject{kind: onInformer, informer: "pods"}, e)
	if !ok {
		t.Fatal("pods have no cache")
	}
	run(cmd)
	p.opened.cache = struct{ Cache }{}
	p.title(e)
	p.actions(e)
	p.under(e)
	if text := strings.Join(p.view(e, 200, 56), "\n"); !strings.Contains(text, "> shop") || !strings.Contains(text, "resourceVersion:") {
		t.Errorf("it is drawn as\n%s", text)
	}
}
