package tui

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func (p *queuesPage) actions(e *env) []action {
	k := p.current(e)
	nothing := ""
	if k == nil {
		nothing, k = errNothing.Error(), &state.Key{}
	}
	looks := p.looks(e, k, nothing)
	const first = 2 // the footer has room for these on any screen
	return append(append(looks[:first:first], p.controls(e, k, nothing)...), looks[first:]...)
}

// looks are the actions that change only what is shown.
func (p *queuesPage) looks(e *env, k *state.Key, nothing string) []action {
	toggle := func(change func()) func() tea.Cmd {
		return func() tea.Cmd { change(); return p.refresh(e, nil) }
	}
	failures, scope := "failures", "only this"
	if p.query.failures {
		failures = "all keys"
	}
	if p.query.controller != "" {
		scope = "all loops"
	}
	object := e.snap.KeyObject(k)
	noObject := nothing
	if noObject == "" && object.Name == "" {
		noObject = "the journal does not tell of which type this key's object is"
	}
	to := func(id pageID, s subject) func() tea.Cmd {
		return func() tea.Cmd { return send(jumpMsg{id, s}) }
	}
	key := subject{kind: onKey, controller: k.Controller, queue: k.Queue, key: k.Key, object: object, name: k.Key}
	of := subject{kind: onObject, object: object, name: object.Key()}
	return []action{
		{keys: []string{"enter"}, label: "story", help: "Show the key's story: its attempts, why each was made, what it wrote.", off: nothing, do: func() tea.Cmd { return p.open(k) }},
		{keys: []string{"f"}, label: failures, help: "Show only the keys whose last attempt failed, or all of them again.", do: toggle(func() { p.query.failures = !p.query.failures })},
		{keys: []string{"m"}, label: scope, help: "Show only the keys of this key's controller, or those of all loops again.", off: p.noScope(nothing), do: toggle(func() {
			if p.query.controller != "" {
				p.query.controller = ""
			} else {
				p.query.controller = k.Controller
			}
		})},
		{keys: []string{"a"}, help: "Hide the keys that have left their queue, or show them.", do: toggle(func() { p.query.noDone = !p.query.noDone })},
		{keys: []string{"H"}, help: "Show the keys that are done and were added for the renewal of a lease, or hide them.", do: toggle(func() { p.query.renewals = !p.query.renewals })},
		{keys: []string{"o"}, label: "sort", help: "Sort by the next of: state, key, age, retries, controller.", do: toggle(func() { p.query.sort = p.nextSort(); p.list.ToTop() })},
		{keys: []string{"ctrl+r"}, help: "Turn the order round.", do: toggle(func() { p.query.reverse = !p.query.reverse; p.list.ToTop() })},
		{keys: []string{"W"}, label: "writes", help: "Show the writes of this key.", off: nothing, do: to(pageWrites, key)},
		{keys: []string{"T"}, label: "timeline", help: "Show this key in the timeline.", off: nothing, do: to(pageTimeline, key)},
		{keys: []string{"O"}, label: "owners", help: "Show the tree of the object that the key names.", off: noObject, do: to(pageTree, of)},
		{keys: []string{"C"}, label: "cache", help: "Show that object in the informer's cache.", off: noObject, do: to(pageInformers, of)},
	}
}

func (p *queuesPage) noScope(nothing string) string {
	if p.query.controller != "" {
		return ""
	}
	return nothing
}

// open shows the story, and keeps it up to date.
func (p *queuesPage) open(k *state.Key) tea.Cmd {
	controller, queue, key := k.Controller, k.Queue, k.Key
	last := k
	return send(openMsg{func(e *env) *widget.TextView {
		if now := e.snap.Key(controller, queue, key); now != nil {
			last = now
		}
		shown := last
		return &widget.TextView{Title: key + " in " + queue, Lines: func(w int) []widget.Line { return p.story(e, shown, w) }}
	}})
}

// controls are the actions on the loops.
func (p *queuesPage) controls(e *env, k *state.Key, nothing string) []action {
	loops, name := e.Loops, render.ShortName(k.Controller)
	off := firstOf(e.without(loops != nil), nothing)
	held, paused := e.latest.HoldOf(k.Controller, k.Queue, k.Key) != nil, e.latest.Paused(k.Controller)
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
			return doing(what+" "+k.Key, func() error { return do(k.Controller, k.Queue, k.Key) })
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
	if e.latest.Controls.Breakpoints.Len() == 0 {
		noPoints = firstOf(e.without(loops != nil), "there is no breakpoint")
	}
	return []action{
		{keys: []string{"P"}, label: pause, help: pauseHelp, off: off, do: func() tea.Cmd { return pauseOrResume(e, k.Controller) }},
		{keys: []string{"s"}, label: "step", help: "Let this key of a paused controller through to a worker, or the write that a breakpoint holds of it.", off: step, do: func() tea.Cmd { return act("step", loops.Step)() }},
		{keys: []string{"r"}, label: "retry now", help: "Make a waiting key ready at once; the count of its retries stays.", off: because(k.Due.IsZero(), "the key does not wait"), do: func() tea.Cmd { return act("retry", loops.RetryNow)() }},
		{keys: []string{"x"}, label: "drop", help: "Take the key out of its queue; what it was added for is not done until it is added again.", off: because(!live || busy, "there is nothing of it to take out of the queue"), do: func() tea.Cmd {
			return send(confirmMsg{question: fmt.Sprintf("Drop %s from the queue of %s?", k.Key, name), yes: func() tea.Cmd { return act("drop", loops.Drop)() }})
		}},
		{keys: []string{"b"}, label: "break", help: "Pause the controller when a worker asks for a key that matches a pattern, such as shop/*.", off: off, do: func() tea.Cmd { return breakAt(loops, k, false) }},
		{keys: []string{"B"}, label: "break write", help: "Pause the controller before a write of a key that matches a pattern; empty is any write. The write waits.", off: off, do: func() tea.Cmd { return breakAt(loops, k, true) }},
		{keys: []string{"u"}, label: "breakpoints", help: "List the breakpoints, and remove one by its number.", off: noPoints, do: func() tea.Cmd { return unbreak(e) }},
	}
}

// breakAt asks for the pattern of a breakpoint; at first it is this key.
func breakAt(loops Loops, k *state.Key, write bool) tea.Cmd {
	controller := k.Controller
	label := "break on key of " + render.ShortName(controller) + ": "
	if write {
		label = "break before a write of " + render.ShortName(controller) + ", key: "
	}
	return send(promptMsg{Label: label, Value: escapePattern(k.Key), Done: func(pattern string) tea.Cmd {
		pattern = strings.TrimSpace(pattern)
		if _, err := path.Match(pattern, ""); err != nil {
			return complain(fmt.Sprintf("%q is no pattern: %v", pattern, err))
		}
		return doing("break", func() error {
			return loops.Break(Breakpoint{Controller: controller, Key: pattern, BeforeWrite: write})
		})
	}})
}

// escapePattern makes a pattern that matches a key and nothing else.
func escapePattern(key string) string {
	return strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`).Replace(key)
}

// unbreak shows the breakpoints and asks which to remove.
func unbreak(e *env) tea.Cmd {
	loops := e.Loops
	view := func(e *env) *widget.TextView {
		return &widget.TextView{Title: "Breakpoints", Lines: func(w int) []widget.Line { return breakpointLines(e, w) }}
	}
	if loops == nil {
		return send(openMsg{view})
	}
	ask := promptMsg{Label: "remove breakpoint number (empty: none): ", Complete: func(typed string) []string {
		var out []string
		for _, b := range e.latest.Controls.Breakpoints.All() {
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
			return complain(fmt.Sprintf("%q is no number of a breakpoint", text))
		}
		return doing(fmt.Sprintf("remove breakpoint %d", number), func() error { return loops.Unbreak(number) })
	}}
	return tea.Batch(send(openMsg{view}), send(ask)) // in either order
}

func breakpointLines(e *env, w int) []widget.Line {
	var out []widget.Line
	for _, b := range e.snap.Controls.Breakpoints.All() {
		what := "when a worker asks for "
		if b.BeforeWrite {
			what = "before a write of "
		}
		text := fmt.Sprintf("%d  %s: %s%s", b.Number, render.ShortName(b.Controller), what, anyKey(b.Key))
		if b.Removed {
			text += " (removed; it holds this until it is stepped or resumed)"
		}
		out = append(out, widget.Indent(widget.Wrapped(text, max(w-2, 20), widget.Text), 1)...)
		for _, h := range e.snap.HoldsAt(b.Number) {
			held := fmt.Sprintf("HELD for %s: %s", e.ago(h.Since), h.Key)
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
