package causality

import (
	"cmp"
	"fmt"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// HopKind says what a Hop is.
type HopKind string

const (
	// HopEvent: an object's change reached a cache.
	HopEvent HopKind = "event"
	// HopAdded: a key was put in a queue.
	HopAdded HopKind = "enqueue"
	// HopSync: a worker took the key, and gave it back.
	HopSync HopKind = "sync"
	// HopWrite: a request to the API server.
	HopWrite HopKind = "write"
)

// HopLink says how it is known that one Hop follows from another.
type HopLink string

const (
	// LinkNone: nothing is before it; see Hop.Origin.
	LinkNone HopLink = ""
	// LinkCause: it was recorded on the goroutine on which it happened.
	LinkCause HopLink = "cause"
	// LinkVersion: the event has the resourceVersion with which the write was
	// answered.
	LinkVersion HopLink = "version"
	// LinkObject is no proof: it is the next that happened to the same object,
	// such as the scheduler's binding of a pod that was created.
	LinkObject HopLink = "object"
	// LinkOwner is no proof either: the object came after its owner.
	LinkOwner HopLink = "owner"
	// LinkAbout: an Event was written that names the object. What it tells of may
	// have happened before: Events are written when their turn comes.
	LinkAbout HopLink = "about"
)

// Sure reports whether the link was observed, and not only supposed.
func (l HopLink) Sure() bool { return l == LinkCause || l == LinkVersion }

// Origin says why nothing is before a Hop.
type Origin string

const (
	OriginUser Origin = "the user"
	// OriginTimer: a ticker or timer of the controller, which works on no key.
	OriginTimer Origin = "a timer"
	// OriginUnknown: upstream left nothing to go by.
	OriginUnknown Origin = "cause unknown"
	// OriginElsewhere: no write of this journal made the event.
	OriginElsewhere Origin = "written by another process"
	OriginListed    Origin = "in the first list"
	OriginResync    Origin = "periodic resync"
	// OriginForgotten: what was before it is no longer kept.
	OriginForgotten Origin = "what was before is no longer kept"
)

const sep = "\x00"

// Hop is one step of cause and effect. It is immutable once Link has made it.
type Hop struct {
	Kind HopKind
	// Seq is the number of its entry; zero for an event that is known only as
	// the cause of something else.
	Seq uint64
	// Start and End are when it began and ended: of a write, the request and
	// its answer; of a sync, taken and given back, where End is zero while it
	// runs. The others take no time.
	Start, End time.Time
	// Event is an ObjectChanged, KeyAdded, KeyTaken or WriteFinished.
	Event state.Event
	// Done is how a sync ended; nil while it runs.
	Done *state.Sync
	// Into is the sync that took this addition; zero where none has yet.
	Into uint64
	// Unchanged: the write was answered with the version that the object had
	// before, so that no event can follow.
	Unchanged bool

	// Parent is what it follows from, and Link how that is known; without a
	// parent, Origin says why.
	Parent *Hop
	Link   HopLink
	Origin Origin
	// Children are in the order of their Start.
	Children []*Hop
}

// Latency is the time since its parent began.
func (h *Hop) Latency() time.Duration {
	if h.Parent == nil {
		return 0
	}
	return h.since(h.Parent)
}

// since is never negative: goroutines record out of order by microseconds.
func (h *Hop) since(from *Hop) time.Duration { return max(h.Start.Sub(from.Start), 0) }

// Root is the first Hop of those that lead to it.
func (h *Hop) Root() *Hop {
	for h.Parent != nil {
		h = h.Parent
	}
	return h
}

// Object is what an event or a write is about; false for the others.
func (h *Hop) Object() (state.Ref, bool) {
	switch e := h.Event.(type) {
	case state.ObjectChanged:
		return e.Object, true
	case state.WriteFinished:
		return e.Object, true
	}
	return state.Ref{}, false
}

// About is the object of which the write of an Event tells; false for the others.
func (h *Hop) About() (state.Ref, bool) {
	w, ok := h.Event.(state.WriteFinished)
	if !ok {
		return state.Ref{}, false
	}
	return w.About()
}

// Key is what an addition or a sync is about.
func (h *Hop) Key() (controller, queue, key string, ok bool) {
	switch e := h.Event.(type) {
	case state.KeyAdded:
		return e.Controller, e.Queue, e.Key, true
	case state.KeyTaken:
		return e.Controller, e.Queue, e.Key, true
	}
	return "", "", "", false
}

// Failed reports whether a sync or a write went wrong.
func (h *Hop) Failed() bool {
	if w, ok := h.Event.(state.WriteFinished); ok {
		return w.Result == state.WriteFailed || w.Result == state.WriteRefused
	}
	return h.Done != nil && h.Done.Failed
}

// shape is what Hops have in common that may be told as one.
func (h *Hop) shape() string {
	text := string(h.Kind) + sep + string(h.Link) + sep
	switch e := h.Event.(type) {
	case state.ObjectChanged:
		return text + string(e.Change) + sep + e.Object.Type()
	case state.KeyAdded:
		return text + e.Controller + sep + e.Queue + sep + e.How
	case state.KeyTaken:
		return text + e.Controller + sep + e.Queue + sep + fmt.Sprint(h.Failed())
	case state.WriteFinished:
		if e.Tells != nil {
			text += e.Tells.Type + sep + e.Tells.Reason + sep
		}
		return text + e.Controller + sep + e.Verb + sep + e.Object.Type() + sep + e.Subresource + sep + string(e.Result) + sep + fmt.Sprint(h.Unchanged)
	}
	return text
}

// order puts Hops in the order in which they began.
func (h *Hop) order(o *Hop) int {
	if c := cmp.Or(h.Start.Compare(o.Start), cmp.Compare(h.Seq, o.Seq)); c != 0 {
		return c
	}
	return cmp.Compare(h.id(), o.id())
}

// Describe is a Hop in words, without its times: "sync 8 of
// deployment-controller shop/web, took 13ms, 1 write".
func Describe(h *Hop) string {
	switch e := h.Event.(type) {
	case state.ObjectChanged:
		return state.OneLine(state.Cause{Kind: state.CauseEvent, Object: &e.Object, Change: e.Change, OldRV: e.OldRV, NewRV: e.NewRV}.String())
	case state.KeyAdded:
		e.Cause = state.Cause{}
		d := state.DescribeParts(e)
		text := d.Source + " " + d.Subject + " " + d.Text
		if h.Into != 0 {
			text += fmt.Sprintf(", for sync %d", h.Into)
		}
		return text
	case state.KeyTaken:
		text := fmt.Sprintf("sync %d of %s %s, ", e.Sync, e.Controller, state.KeyIn(e.Controller, e.Queue, e.Key))
		if h.Done == nil {
			return state.OneLine(text + "under way")
		}
		did, failed := h.Done.Event().Ended()
		return state.OneLine(text + did + failed)
	case state.WriteFinished:
		text := e.Controller + " " + state.DescribeWrite(e)
		if h.Unchanged {
			text += ", changed nothing"
		}
		return state.OneLine(text)
	}
	return ""
}
