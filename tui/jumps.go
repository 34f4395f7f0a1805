package tui

import (
	tea "github.com/charmbracelet/bubbletea"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// jumps are the keys that show a subject on other pages.
func jumps(s subject, nothing string, from pageID) []action {
	noKey, noObject := nothing, nothing
	if s.key == "" || s.queue == "" {
		noKey = firstOf(nothing, "no queue key is known of it")
	}
	if s.object.Resource == "" || s.object.Name == "" {
		noObject = firstOf(nothing, "it is about no single object")
	}
	object := subject{kind: onObject, object: s.object, informer: s.object.Type(), name: s.object.Name}
	key := subject{kind: onKey, controller: s.controller, queue: s.queue, key: s.key, sync: s.sync, name: s.key}
	to := func(id pageID, s subject) func() tea.Cmd { return func() tea.Cmd { return send(jumpMsg{id, s}) } }
	out := []action{
		{keys: []string{"Q"}, label: "queue", help: "Show its key in the queue.", off: noKey, do: to(pageQueues, key)},
		{keys: []string{"O"}, label: "owners", help: "Show the tree of owners in which its object stands.", off: noObject, do: to(pageTree, object)},
		{keys: []string{"C"}, label: "cache", help: "Show its object in the informer's cache.", off: noObject, do: to(pageInformers, object)},
	}
	if from != pageTimeline {
		noTime := nothing
		if s.seq == 0 {
			noTime = firstOf(nothing, "the journal has no entry of it")
		}
		out = append([]action{{keys: []string{"T"}, label: "timeline", help: "Show what led to it and what followed.", off: noTime, do: to(pageTimeline, s)}}, out...)
	}
	if from != pageWrites {
		writes, noWrites := key, noKey
		switch {
		case s.kind == onWrite:
			writes, noWrites = s, nothing
		case noKey != "":
			writes, noWrites = object, noObject
		}
		out = append(out, action{keys: []string{"W"}, label: "writes", help: "Show its writes on page 4.", off: noWrites, do: to(pageWrites, writes)})
	}
	return out
}

// scopeName says in words what a page was cut down to.
func scopeName(s subject) string {
	switch {
	case s.object.Resource != "":
		return s.object.String()
	case s.key != "":
		return render.ShortName(s.controller) + " " + s.key
	}
	return render.ShortName(s.controller)
}
