package tui

import (
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// subjectKind is what the cursor can be on.
type subjectKind string

const (
	onNothing    subjectKind = ""
	onController subjectKind = "controller"
	onQueue      subjectKind = "queue"
	onKey        subjectKind = "key"
	onInformer   subjectKind = "informer"
	onObject     subjectKind = "object"
	onWrite      subjectKind = "write"
	onRevision   subjectKind = "revision"
	onLease      subjectKind = "lease"
	onEvent      subjectKind = "event"
)

// subject is what the cursor is on, in the words that other pages understand.
// Fields that do not apply are empty.
type subject struct {
	kind                   subjectKind
	controller, queue, key string
	informer               string
	// filter is that of the informer's cache.
	filter string
	object state.Ref
	// seq is the entry of the journal that it comes from, sync the number of a
	// sync.
	seq, sync uint64
	// name is what is copied, unless copy gives more.
	name string
	copy func() string
	// explain overrides the paragraph of its kind; a key of explanations.
	explain string
}

// copied is the text that goes on the clipboard.
func (s subject) copied() string {
	if s.copy != nil {
		return render.SanitiseKeeping(s.copy(), render.KeepLines)
	}
	return render.Sanitise(s.name)
}
