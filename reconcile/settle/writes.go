package settle

import (
	"net/http"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// unconfirmedAfter is how long a write may wait for its watch event before it no longer
// counts as unsettled. A no-op update has no event of its own and is recognised by its
// resourceVersion; the others are responses without one (a binding, an eviction) on
// objects that nothing watches.
const unconfirmedAfter = 5 * time.Second

// forgottenAfter is how long a write is kept without a check: in a session that does
// not wait for a settled state, every write. It is longer than unconfirmedAfter, so
// that a write that is checked continuously is given up by a check, which knows whether
// its event arrived.
const forgottenAfter = 2 * unconfirmedAfter

// Deliveries is what the taps know about the events that handlers have processed.
type Deliveries interface {
	// Seen reports whether every handler of the object's type has processed an event at
	// or after resourceVersion. It is true for a type without handlers.
	Seen(object state.Ref, resourceVersion string) bool
	// SeenDeleted reports the same of the object's deletion, or of the update that
	// started it. A Ref without a name stands for all objects of its type in its
	// namespace, or in all namespaces if it has none.
	SeenDeleted(object state.Ref) bool
}

// Writes tracks mutating requests from when they are sent until the controllers have
// received their result.
//
// Its methods are safe for concurrent use. The zero Writes is not usable; see
// NewWrites.
type Writes struct {
	now func() time.Time

	mu       sync.Mutex
	inFlight int
	pending  []pendingWrite
	// generation increases with every change, so that a reader can detect changes
	// between two checks.
	generation uint64
	// unconfirmed are the writes that were given up.
	unconfirmed reasons
	changed     chan struct{}
}

// pendingWrite is what is needed to find the event of a write and to describe it.
type pendingWrite struct {
	controller, verb string
	object           state.Ref
	version          string
	since            time.Time
}

// NewWrites starts with nothing in flight. now may be nil for the wall clock.
func NewWrites(now func() time.Time) *Writes {
	if now == nil {
		now = time.Now
	}
	return &Writes{now: now, changed: make(chan struct{})}
}

// Wrap counts the mutating requests in flight through rt. It belongs outside the guard,
// so that a request that the guard holds counts, too.
func (w *Writes) Wrap(rt http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		switch r.Method {
		case http.MethodGet, http.MethodHead, http.MethodOptions:
			return rt.RoundTrip(r)
		}
		w.change(func() { w.inFlight++ })
		defer w.change(func() { w.inFlight-- })
		return rt.RoundTrip(r)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// Finished processes the record of a write. Writes that reached the server are pending
// from now on; answers of the guard never have a watch event and are not.
func (w *Writes) Finished(write state.WriteFinished) {
	if write.Result != state.WriteDone || write.Mode == state.ModeDryRunServer {
		return
	}
	w.change(func() {
		now := w.now()
		w.forget(now)
		w.pending = append(w.pending, pendingWrite{
			controller: write.Controller,
			verb:       write.Verb,
			object:     write.Object,
			version:    write.ResourceVersion,
			since:      now,
		})
	})
}

// forget drops what is older than forgottenAfter. The oldest come first; append
// releases their memory when it moves the rest.
func (w *Writes) forget(now time.Time) {
	n := 0
	for n < len(w.pending) && now.Sub(w.pending[n].since) > forgottenAfter {
		w.pending[n] = pendingWrite{}
		n++
	}
	w.pending = w.pending[n:]
}

func (w *Writes) change(f func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	f()
	w.generation++
	close(w.changed)
	w.changed = make(chan struct{})
}

// Changed is closed at the next change.
func (w *Writes) Changed() <-chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.changed
}

// TakeUnconfirmed lists the writes whose watch event was given up since the last call,
// "namespace-controller: deletecollection pods shop/", and forgets them. Of many it
// lists the first and counts the others in a last line.
func (w *Writes) TakeUnconfirmed() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	words := w.unconfirmed.words()
	w.unconfirmed = reasons{}
	return words
}

// look drops the writes that deliveries confirms and returns what is left, with the
// generation it checked.
func (w *Writes) look(deliveries Deliveries) (busy reasons, generation uint64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	now := w.now()
	kept := w.pending[:0]
	for _, p := range w.pending {
		switch {
		case p.seen(deliveries):
		case now.Sub(p.since) > unconfirmedAfter:
			w.unconfirmed.addf("%s: %s %s", p.controller, p.verb, p.object)
		default:
			kept = append(kept, p)
			if busy.full() { // before the arguments are built, for thousands of writes
				busy.more++
				continue
			}
			busy.addf("%s: %s %s: waiting for its watch event", p.controller, p.verb, p.object)
		}
	}
	clear(w.pending[len(kept):])
	w.pending = kept
	if w.inFlight > 0 {
		busy.addf("%d write(s) in flight", w.inFlight)
	}
	return busy, w.generation
}

func (p pendingWrite) seen(deliveries Deliveries) bool {
	if p.version != "" {
		return deliveries.Seen(p.object, p.version)
	}
	switch p.verb {
	case "delete", "deletecollection":
		return deliveries.SeenDeleted(p.object)
	default:
		// A binding or an eviction: its result shows on the object, whose
		// simulated node or next write is followed by others.
		return true
	}
}
