package proxy

import (
	"fmt"
	"net/url"
	"sync"

	"k8s.io/apimachinery/pkg/fields"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// maxDeletions bounds the deleted objects that are tracked.
	maxDeletions = 1024
	// maxHints bounds the hints of a session.
	maxHints = 10
)

// Deletions tracks what clients have deleted in a dry run. The objects still exist, so
// a client that waits for a deletion waits forever: it gets a hint in the journal when
// it reads an object for the second time, watches it by name, or deletes it again. The
// first deletion of an object is always noted, because a client that waits for the
// event of its informer shows no other sign.
type Deletions struct {
	recorder state.Recorder
	// advice is how to carry out deletions.
	advice string

	mu      sync.Mutex
	objects map[state.Ref]*deletion
	hints   int
}

type deletion struct {
	reads  int
	hinted bool
}

// NewDeletions returns an empty tracker. advice is how to carry out deletions.
func NewDeletions(recorder state.Recorder, advice string) *Deletions {
	return &Deletions{recorder: recorder, advice: advice, objects: map[state.Ref]*deletion{}}
}

// identity is equal for all references to one object.
func identity(o state.Ref) state.Ref {
	o.Version, o.UID = "", ""
	return o
}

// Wrote processes the result of a write, as guard.Options.OnWrite.
func (d *Deletions) Wrote(w state.WriteFinished) {
	if w.Result != state.WriteDry || w.Verb != "delete" || w.Subresource != "" || w.Object.Name == "" || w.Object.Resource == "events" || w.Object.Resource == "leases" {
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	id := identity(w.Object)
	switch known := d.objects[id]; {
	case known != nil:
		d.hint(known, w.Controller, id, "deletes %s again, which still exists: a dry run deletes nothing")
	case len(d.objects) < maxDeletions:
		if len(d.objects) == 0 {
			d.recorder.Record(state.Note{Source: "exec", Text: fmt.Sprintf(
				"a dry run deletes nothing: %s remains, and a command that waits for its deletion never ends: %s", id, d.advice)})
		}
		d.objects[id] = &deletion{}
	}
}

// read processes a read that was answered.
func (d *Deletions) read(client string, r request.Request, query url.Values, status int) {
	if d == nil || r.Kind != request.KindRead || status != 200 {
		return
	}
	id := identity(r.Object)
	byName := id.Name == ""
	if byName {
		selector, err := fields.ParseSelector(query.Get("fieldSelector"))
		if err != nil {
			return
		}
		id.Name, _ = selector.RequiresExactMatch("metadata.name")
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	known := d.objects[id]
	if known == nil {
		return
	}
	if known.reads++; byName || known.reads > 1 || isSet(query, "watch") {
		d.hint(known, client, id, "waits for the deletion of %s: a dry run deletes nothing")
	}
}

// hint records, once per object, that a client may wait for its deletion.
func (d *Deletions) hint(about *deletion, client string, object state.Ref, words string) {
	if about.hinted || d.hints >= maxHints {
		return
	}
	about.hinted = true
	d.hints++
	d.recorder.Record(state.Note{Source: "exec", Warning: true, Text: client + " " + fmt.Sprintf(words, object) + ": " + d.advice})
}
