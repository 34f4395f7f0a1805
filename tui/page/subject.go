package page

import (
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Kind is what the cursor can be on.
type Kind string

const (
	OnNothing    Kind = ""
	OnController Kind = "controller"
	OnQueue      Kind = "queue"
	OnKey        Kind = "key"
	OnInformer   Kind = "informer"
	OnObject     Kind = "object"
	OnWrite      Kind = "write"
	OnRevision   Kind = "revision"
	OnLease      Kind = "lease"
	OnEvent      Kind = "event"
)

// Subject is what the cursor is on, in the words that other pages understand.
// Fields that do not apply are empty.
type Subject struct {
	Kind                   Kind
	Controller, Queue, Key string
	Informer               string
	// Filter is that of the informer's cache.
	Filter string
	Object state.Ref
	// Seq is the entry of the journal that it comes from, sync the number of a
	// sync.
	Seq, Sync uint64
	// Name is what is copied, unless copy gives more.
	Name string
	Copy func() string
	// Explain overrides the paragraph of its kind; a key of explanations.
	Explain string
}

// Copied is the text that goes on the clipboard.
func (s Subject) Copied() string {
	if s.Copy != nil {
		return render.SanitiseKeeping(s.Copy(), render.KeepLines)
	}
	return render.Sanitise(s.Name)
}
