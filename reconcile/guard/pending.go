package guard

import (
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Pending is a write that has not been made yet.
type Pending struct {
	write *write
	via   *transport
}

// Controller is the writer, as in the record.
func (p Pending) Controller() string { return p.write.event.Controller }

// Mode says what becomes of it: in ModeActive, and only there, it is stored.
func (p Pending) Mode() state.Mode { return p.write.guard.mode }

// Cause says why its goroutine writes.
func (p Pending) Cause() state.Cause { return p.write.event.Cause }

// Client is the user agent of a writer that Options.Writer has named, as it was
// sent; empty for others.
func (p Pending) Client() string { return p.write.client }

// Verb is the API's, as in the record.
func (p Pending) Verb() string { return p.write.event.Verb }

// Subresource is that of the object, or empty.
func (p Pending) Subresource() string { return p.write.request.Subresource }

// Kind is the object's kind, "Deployment". It is known of the types that
// Kubernetes itself serves, and empty for others.
func (p Pending) Kind() string { return p.write.guard.kinds[wire.GVR(p.write.request.Object)].Kind }

// Deletes reports whether an object is to go: by a delete, of a collection or of
// one, or by an eviction.
func (p Pending) Deletes() bool { return dryRunInBody(p.write.request) }

// Approved says by whom or what the write was let out, for the record.
func (p Pending) Approved(by string) { p.write.event.Approval = by }

// About is the object that an Event tells of; false for what is none (IsEvent),
// and for one that cannot be read.
func (p Pending) About() (state.Ref, bool) {
	if !p.IsEvent() {
		return state.Ref{}, false
	}
	media, body := p.write.requestBody()
	o, err := wire.Decode(media, body)
	if err != nil {
		return state.Ref{}, false
	}
	return aboutOf(o)
}

// IsEvent reports whether an Event is made or changed. Upstream's broadcaster does
// that on a goroutine that all Events of a controller share. A delete of Events is a
// write like any other.
func (p Pending) IsEvent() bool { return tells(p.write.request) }

// Object is what is to be written. The name of a create is read from its body;
// it is empty where the server is to make one.
func (p Pending) Object() state.Ref {
	object := p.write.event.Object
	if object.Name == "" {
		object.Name = p.write.requestHead().Name
	}
	return object
}

// String says it in a line: "update deployments.apps shop/web/status".
func (p Pending) String() string {
	object := p.Object()
	text := p.Verb() + " " + object.Type() + " " + object.Key()
	if object.Name == "" {
		if made := p.write.requestHead().GenerateName; made != "" {
			text += made + "*"
		}
	}
	if sub := p.write.event.Subresource; sub != "" {
		text += "/" + sub
	}
	return state.OneLine(text)
}

// wait lets Options.Before have its time. The write begins after it.
func (w *write) wait(via *transport) error {
	err := w.guard.before(w.http.Context(), Pending{w, via})
	w.start = w.guard.now()
	return err
}
