package election

import (
	"context"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// trouble is the last problem with the lease.
type trouble struct{ verb, kind, text string }

// over ends the problem if is is true, and returns the verb that works again. It is
// called with the lock held.
func (e *Election) over(is bool) (verb string) {
	if is {
		verb, e.trouble = e.trouble.verb, trouble{}
	}
	return verb
}

// works records that a problem is over.
func (e *Election) works(verb string) {
	if verb == "read" || verb == "write" {
		e.recorder.Record(state.Note{Source: "election", Text: fmt.Sprintf("could %s the lease %s again", verb, e.lease.Key())})
	}
}

// because adds what prevented the renewal to the reason of a lapse.
func (e *Election) because(reason string) string {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.trouble.text == "" {
		return reason
	}
	return reason + " (could not " + e.trouble.verb + " it: " + e.trouble.text + ")"
}

// failed records a problem with the lease, once for each kind in a row.
func (e *Election) failed(verb string, err error) {
	if errors.Is(err, context.Canceled) {
		return
	}
	if apierrors.IsTooManyRequests(err) {
		err = fmt.Errorf("429 Too Many Requests: %w", err)
	}
	text := fmt.Sprintf("could not %s the lease %s: %v", verb, e.lease.Key(), err)
	kind := verb + " " + string(apierrors.ReasonForError(err))
	e.mu.Lock()
	known := e.trouble.kind == kind
	e.trouble = trouble{verb, kind, err.Error()}
	e.mu.Unlock()
	if !known {
		e.recorder.Record(state.Note{Source: "election", Text: text, Warning: true})
	}
}
