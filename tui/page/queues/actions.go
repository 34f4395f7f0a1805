package queues

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func (p *Page) Actions(e *page.Env) []page.Action {
	k := p.current(e)
	nothing := ""
	if k == nil {
		nothing, k = page.ErrNothing.Error(), &state.Key{}
	}
	looks := p.looks(e, k, nothing)
	const first = 2 // the footer has room for these on any screen
	return append(append(looks[:first:first], p.controls(e, k, nothing)...), looks[first:]...)
}

// looks are the actions that change only what is shown.
func (p *Page) looks(e *page.Env, k *state.Key, nothing string) []page.Action {
	toggle := func(change func()) func() tea.Cmd {
		return func() tea.Cmd { change(); return p.refresh(e, nil) }
	}
	failures, scope := "failures", "only this"
	if p.query.failures {
		failures = "all keys"
	}
	if p.query.controller != "" {
		scope = "all queues"
	}
	object := e.Snap.KeyObject(k)
	noObject := nothing
	if noObject == "" && object.Name == "" {
		noObject = "the journal does not record the type of this key's object"
	}
	to := func(id page.ID, s page.Subject) func() tea.Cmd {
		return func() tea.Cmd { return page.Send(page.JumpMsg{Page: id, To: s}) }
	}
	key := page.Subject{Kind: page.OnKey, Controller: k.Controller, Queue: k.Queue, Key: k.Key, Object: object, Name: k.Key}
	of := page.Subject{Kind: page.OnObject, Object: object, Name: object.Key()}
	return []page.Action{
		{Keys: []string{"enter"}, Label: "story", Help: "Show the key's story: its attempts, why each was made, what it wrote.", Off: nothing, Do: func() tea.Cmd { return p.open(k) }},
		{Keys: []string{"f"}, Label: failures, Help: "Show only the keys whose last attempt failed, or all of them again.", Do: toggle(func() { p.query.failures = !p.query.failures })},
		{Keys: []string{"m"}, Label: scope, Help: "Show only the keys of this key's controller, or of all again.", Off: p.noScope(nothing), Do: toggle(func() {
			if p.query.controller != "" {
				p.query.controller = ""
			} else {
				p.query.controller = k.Controller
			}
		})},
		{Keys: []string{"a"}, Help: "Hide the keys that have left their queue, or show them.", Do: toggle(func() { p.query.noDone = !p.query.noDone })},
		{Keys: []string{"H"}, Help: "Show the keys that are done and were added for the renewal of a lease, or hide them.", Do: toggle(func() { p.query.renewals = !p.query.renewals })},
		{Keys: []string{"o"}, Label: "sort", Help: "Sort by the next of: state, key, age, retries, controller.", Do: toggle(func() { p.query.sort = p.nextSort(); p.list.ToTop() })},
		{Keys: []string{"ctrl+r"}, Help: "Reverse the order.", Do: toggle(func() { p.query.reverse = !p.query.reverse; p.list.ToTop() })},
		{Keys: []string{"W"}, Label: "writes", Help: "Show the writes of this key.", Off: nothing, Do: to(page.Writes, key)},
		{Keys: []string{"T"}, Label: "timeline", Help: "Show this key in the timeline.", Off: nothing, Do: to(page.Timeline, key)},
		{Keys: []string{"O"}, Label: "owners", Help: "Show the tree of the object that the key names.", Off: noObject, Do: to(page.Tree, of)},
		{Keys: []string{"C"}, Label: "cache", Help: "Show that object in the informer's cache.", Off: noObject, Do: to(page.Informers, of)},
	}
}

func (p *Page) noScope(nothing string) string {
	if p.query.controller != "" {
		return ""
	}
	return nothing
}

// open shows the story, and keeps it up to date.
func (p *Page) open(k *state.Key) tea.Cmd {
	controller, queue, key := k.Controller, k.Queue, k.Key
	last := k
	return page.Send(page.OpenMsg{View: func(e *page.Env) *widget.TextView {
		if now := e.Snap.Key(controller, queue, key); now != nil {
			last = now
		}
		shown := last
		return &widget.TextView{Title: key + " in " + queue, Lines: func(w int) []widget.Line { return p.story(e, shown, w) }}
	}})
}

// controls are the actions on the loops.
func (p *Page) controls(e *page.Env, k *state.Key, nothing string) []page.Action {
	loops, name := e.Loops, render.ShortName(k.Controller)
	off := page.FirstOf(e.Without(loops != nil), nothing)
	held, paused := e.Latest.HoldOf(k.Controller, k.Queue, k.Key) != nil, e.Latest.Paused(k.Controller)
	because := func(wrong bool, reason string) string {
		if off == "" && wrong {
			return reason
		}
		return off
	}
	pause, pauseHelp := "pause", "Pause the key's controller: its workers take no more keys, its informers go on."
	if paused {
		pause, pauseHelp = "resume", "Let the key's controller go on, and what breakpoints hold of it."
	}
	live := k.Phase != state.PhaseDone && k.Phase != state.PhaseDropped
	busy := k.Phase == state.PhaseProcessing
	act := func(what string, do func(controller, queue, key string) error) func() tea.Cmd {
		return func() tea.Cmd {
			return page.Doing(what+" "+k.Key, func() error { return do(k.Controller, k.Queue, k.Key) })
		}
	}
	step := because(!paused, name+" is not paused")
	if step == "" && !held {
		step = because(!live, "the key is in no queue")
		if step == "" {
			step = because(busy, "a worker has it, and it stands at no breakpoint")
		}
	}
	noPoints := ""
	if e.Latest.Controls.Breakpoints.Len() == 0 {
		noPoints = page.FirstOf(e.Without(loops != nil), "there is no breakpoint")
	}
	return []page.Action{
		{Keys: []string{"P"}, Label: pause, Help: pauseHelp, Off: off, Do: func() tea.Cmd { return page.PauseOrResume(e, k.Controller) }},
		{Keys: []string{"s"}, Label: "step", Help: "Process this one key of a paused controller, or send its write that a breakpoint holds.", Off: step, Do: func() tea.Cmd { return act("step", loops.Step)() }},
		{Keys: []string{"r"}, Label: "retry now", Help: "Make a delayed key ready now; its retry count stays.", Off: because(k.Due.IsZero(), "the key does not wait"), Do: func() tea.Cmd { return act("retry", loops.RetryNow)() }},
		{Keys: []string{"x"}, Label: "drop", Help: "Remove the key from its queue; it is not processed until it is added again.", Off: because(!live || busy, "the key is not in the queue"), Do: func() tea.Cmd {
			return page.Send(page.ConfirmMsg{Question: fmt.Sprintf("Drop %s from the queue of %s?", k.Key, name), Yes: func() tea.Cmd { return act("drop", loops.Drop)() }})
		}},
		{Keys: []string{"b"}, Label: "break", Help: "Pause the controller when a worker asks for a key that matches a pattern, such as shop/*.", Off: off, Do: func() tea.Cmd { return breakAt(loops, k, false) }},
		{Keys: []string{"B"}, Label: "break write", Help: "Pause the controller before a write of a key that matches a pattern; empty is any write. The write waits.", Off: off, Do: func() tea.Cmd { return breakAt(loops, k, true) }},
		{Keys: []string{"u"}, Label: "breakpoints", Help: "List the breakpoints, and remove one by its number.", Off: noPoints, Do: func() tea.Cmd { return unbreak(e) }},
	}
}

// breakAt asks for the pattern of a breakpoint; at first it is this key.
func breakAt(loops port.Loops, k *state.Key, write bool) tea.Cmd {
	controller := k.Controller
	label := "break on key of " + render.ShortName(controller) + ": "
	if write {
		label = "break before a write of " + render.ShortName(controller) + ", key: "
	}
	return page.Send(page.PromptMsg{Label: label, Value: escapePattern(k.Key), Done: func(pattern string) tea.Cmd {
		pattern = strings.TrimSpace(pattern)
		if _, err := path.Match(pattern, ""); err != nil {
			return page.Complain(fmt.Sprintf("invalid pattern %q: %v", pattern, err))
		}
		return page.Doing("break", func() error {
			return loops.Break(port.Breakpoint{Controller: controller, Key: pattern, BeforeWrite: write})
		})
	}})
}

// escapePattern makes a pattern that matches a key and nothing else.
func escapePattern(key string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(key)
}

// unbreak shows the breakpoints and asks which to remove.
func unbreak(e *page.Env) tea.Cmd {
	loops := e.Loops
	view := func(e *page.Env) *widget.TextView {
		return &widget.TextView{Title: "Breakpoints", Lines: func(w int) []widget.Line { return breakpointLines(e, w) }}
	}
	if loops == nil {
		return page.Send(page.OpenMsg{View: view})
	}
	ask := page.PromptMsg{Label: "remove breakpoint number (empty: none): ", Complete: func(typed string) []string {
		var out []string
		for _, b := range e.Latest.Controls.Breakpoints.All() {
			if number := strconv.Itoa(b.Number); !b.Removed && strings.HasPrefix(number, typed) {
				out = append(out, number)
			}
		}
		return out
	}, Done: func(text string) tea.Cmd {
		text = strings.TrimSpace(text)
		if text == "" {
			return nil
		}
		number, err := strconv.Atoi(text)
		if err != nil {
			return page.Complain(fmt.Sprintf("invalid breakpoint number %q", text))
		}
		return page.Doing(fmt.Sprintf("remove breakpoint %d", number), func() error { return loops.Unbreak(number) })
	}}
	return tea.Batch(page.Send(page.OpenMsg{View: view}), page.Send(ask)) // in either order
}

func breakpointLines(e *page.Env, w int) []widget.Line {
	var out []widget.Line
	for _, b := range e.Snap.Controls.Breakpoints.All() {
		what := "when a worker asks for "
		if b.BeforeWrite {
			what = "before a write of "
		}
		text := fmt.Sprintf("%d  %s: %s%s", b.Number, render.ShortName(b.Controller), what, anyKey(b.Key))
		if b.Removed {
			text += " (removed; it holds this until it is stepped or resumed)"
		}
		out = append(out, widget.Indent(widget.Wrapped(text, max(w-2, 20), widget.Text), 1)...)
		for _, h := range e.Snap.HoldsAt(b.Number) {
			held := fmt.Sprintf("HELD for %s: %s", e.Ago(h.Since), h.Key)
			if h.Write != "" {
				held = strings.TrimSuffix(held, h.Key) + h.Write
			}
			out = append(out, widget.Indent(widget.Wrapped(held, max(w-6, 20), widget.Warn), 4)...)
		}
	}
	if out == nil {
		return []widget.Line{{widget.Dim.Of(" There is no breakpoint.")}}
	}
	return out
}

func anyKey(pattern string) string {
	if pattern == "" {
		return "any key"
	}
	return "a key that matches " + pattern
}
