package page

import (
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// Jumps are the keys that show a subject on other pages.
func Jumps(s Subject, nothing string, from ID) []Action {
	noKey, noObject := nothing, nothing
	if s.Key == "" || s.Queue == "" {
		noKey = FirstOf(nothing, "its queue key is unknown")
	}
	if s.Object.Resource == "" || s.Object.Name == "" {
		noObject = FirstOf(nothing, "it is not about a single object")
	}
	object := Subject{Kind: OnObject, Object: s.Object, Informer: s.Object.Type(), Name: s.Object.Name}
	key := Subject{Kind: OnKey, Controller: s.Controller, Queue: s.Queue, Key: s.Key, Sync: s.Sync, Name: s.Key}
	to := func(id ID, s Subject) func() tea.Cmd { return func() tea.Cmd { return Send(JumpMsg{id, s}) } }
	out := []Action{
		{Keys: []string{"Q"}, Label: "queue", Help: "Show its key in the queue.", Off: noKey, Do: to(Queues, key)},
		{Keys: []string{"O"}, Label: "owners", Help: "Show the tree of owners in which its object stands.", Off: noObject, Do: to(Tree, object)},
		{Keys: []string{"C"}, Label: "cache", Help: "Show its object in the informer's cache.", Off: noObject, Do: to(Informers, object)},
	}
	if from != Timeline {
		noTime := nothing
		if s.Seq == 0 {
			noTime = FirstOf(nothing, "it is not in the journal")
		}
		out = append([]Action{{Keys: []string{"T"}, Label: "timeline", Help: "Show what led to it and what followed.", Off: noTime, Do: to(Timeline, s)}}, out...)
	}
	if from != Writes {
		writes, noWrites := key, noKey
		switch {
		case s.Kind == OnWrite:
			writes, noWrites = s, nothing
		case noKey != "":
			writes, noWrites = object, noObject
		}
		out = append(out, Action{Keys: []string{"W"}, Label: "writes", Help: "Show its writes on page 4.", Off: noWrites, Do: to(Writes, writes)})
	}
	return out
}

// ScopeName says in words what a page was cut down to.
func ScopeName(s Subject) string {
	switch {
	case s.Object.Resource != "":
		return s.Object.String()
	case s.Key != "":
		return render.ShortName(s.Controller) + " " + s.Key
	}
	return render.ShortName(s.Controller)
}
