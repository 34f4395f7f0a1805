package guard

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// maxMessage bounds the text of an error in the record, in bytes.
	maxMessage = 1024
	// maxRepeatKeys bounds the memory of which writes were answered before.
	// Beyond it the counting starts afresh: repeats then show as new writes.
	maxRepeatKeys = 1 << 16
	// userAgentPrefix and a controller's name make the user agent of a loop's
	// requests.
	userAgentPrefix = "kctl-ctrl/"
)

// repeatKey is what makes two dry-run writes the same.
type repeatKey struct {
	controller, queue, key       string
	verb, resource, name, subres string
}

// write is one mutating request under way.
type write struct {
	guard   *Guard
	request request.Request
	http    *http.Request
	start   time.Time
	event   state.WriteFinished
	// old is the object before, for the diff, as an informer holds it; generateName
	// stands for the name of a create in its repeatKey.
	old          runtime.Object
	generateName string
	// before is the object before as the server has it, nil where there was none,
	// and read says that before is to be compared with.
	before wire.Object
	read   bool
	// client is what Pending.Client gives.
	client string
}

// begin takes what only the start of a write can know: time and cause.
func (g *Guard) begin(req *http.Request, r request.Request) *write {
	w := &write{guard: g, request: r, http: req, start: g.now()}
	w.event = state.WriteFinished{
		Write:       g.writes.Add(1),
		Verb:        r.Verb,
		Object:      r.Object,
		Subresource: r.Subresource,
		Mode:        g.mode,
	}
	if g.cause != nil {
		w.event.Cause = g.cause()
	}
	w.event.Controller = w.event.Cause.Controller
	name := ""
	if g.writer != nil {
		if name = g.writer(req); name != "" {
			w.client = req.UserAgent()
		}
	}
	if name = cmp.Or(name, controllerOf(req.UserAgent())); name != "" {
		w.event.Controller = name
	}
	return w
}

// controllerOf is the name in a user agent "kctl-ctrl/<controller>", or empty.
func controllerOf(userAgent string) string {
	name, found := strings.CutPrefix(userAgent, userAgentPrefix)
	if !found {
		return ""
	}
	if end := strings.IndexAny(name, " /"); end >= 0 {
		name = name[:end]
	}
	return name
}

func isEvent(ref state.Ref) bool {
	return ref.Resource == "events" && (ref.Group == "" || ref.Group == "events.k8s.io")
}

// tells reports whether an Event is made or changed, which upstream's broadcaster
// does on a goroutine of its own. Deletes of Events are those of loops: the namespace
// controller empties a namespace of them too.
func tells(r request.Request) bool { return isEvent(r.Object) && !dryRunInBody(r) }

func isSecret(ref state.Ref) bool { return ref.Group == "" && ref.Resource == "secrets" }

// wantsDiff reports whether a diff can be made of what a server answers. A
// create has no old side: all of it is new. A scale is another object than the
// one that Lookup knows.
func (w *write) wantsDiff() bool {
	switch w.request.Verb {
	case "update", "patch", "apply":
		return w.guard.diff != nil && w.request.Subresource != "scale"
	}
	return false
}

// lookBefore takes the old side of the diff before the write can change it.
func (w *write) lookBefore() {
	if w.wantsDiff() && !w.guard.readsBefore {
		w.old = w.guard.cached(w.request.Object)
	}
}

// readBefore takes the old side of the diff from the server, for Options.ReadsBefore.
// A diff is no reason to keep a write back: where the object cannot be read, there is
// none.
func (w *write) readBefore(t *transport, req *http.Request) {
	r := w.request
	if !w.guard.readsBefore || w.guard.diff == nil || isEvent(r.Object) || isLease(r.Object) {
		return
	}
	switch {
	case r.Verb == "create":
		w.read = r.Subresource == "" && !binds(r)
	case w.wantsDiff():
		before, err := t.get(req, r)
		switch {
		case err == nil:
			w.before, w.read = before, true
		case r.Verb == "apply" && apierrors.IsNotFound(err): // it creates the wire.Object
			w.read = true
		}
	}
}

func isLease(ref state.Ref) bool {
	return ref.Group == "coordination.k8s.io" && ref.Resource == "leases"
}

// finish records a server's answer.
func (w *write) finish(code int, media string, body []byte) {
	w.event.Status = code
	w.event.Result = state.WriteDone
	if w.guard.mode != state.ModeActive {
		w.event.Result = state.WriteDry
	}
	if code == http.StatusNotFound && w.updatesDryEvent() {
		w.event.Message = "a dry run stores no Event, so there is none to update"
		w.unanswered()
		return
	}
	if code >= http.StatusBadRequest {
		w.event.Result = state.WriteFailed
		if status, ok := wire.ReadStatus(media, body); ok {
			w.event.Message = status.Message
			if isSecret(w.request.Object) {
				w.event.Message = withheld(string(status.Reason))
			}
		} else {
			w.event.Message = http.StatusText(code)
		}
		w.unanswered()
		return
	}
	h := wire.ReadHead(media, body)
	if h.IsStatus() {
		h = w.requestHead()
		if status, ok := wire.ReadStatus(media, body); ok && status.Details != nil && status.Details.UID != "" {
			h.Name, h.UID = w.request.Object.Name, string(status.Details.UID)
		}
	} else if w.event.Result == state.WriteDone {
		w.event.ResourceVersion = h.ResourceVersion
	}
	w.identify(h)
	if tells(w.request) {
		w.readEvent(media, body)
	}
	if binds(w.request) {
		if media, body := w.requestBody(); body != nil {
			if o, err := wire.Decode(media, body); err == nil {
				w.event.Diff = w.guard.places(w.request, o)
			}
		}
	}
	switch {
	case w.read:
		w.event.Diff = w.guard.changesFrom(w.event.Object, w.before, media, body)
	case w.old != nil:
		w.event.Diff = w.guard.changes(w.event.Object, w.old, media, body)
	}
	w.emit()
}

// updatesDryEvent reports whether this is the update of an Event in a dry run of the
// server's, whose creation was one too. That it is not found is no failure: client-go's
// recorder creates it again then (k8s.io/client-go v0.37.1 tools/record/event.go).
func (w *write) updatesDryEvent() bool {
	return w.guard.mode == state.ModeDryRunServer && isEvent(w.request.Object) && (w.request.Verb == "patch" || w.request.Verb == "update")
}

// withheld stands for an error about a Secret, whose text may quote it: a
// refused JSON patch comes back with the whole patched object.
func withheld(reason string) string {
	return fmt.Sprintf("%s (text withheld: it may quote the Secret)", reason)
}

// failed records an error without an answer, or, for nil, one that is already
// in the event.
func (w *write) failed(err error) {
	w.event.Result = state.WriteFailed
	if err != nil {
		w.event.Message = err.Error()
	}
	if isSecret(w.request.Object) && w.event.Status != 0 {
		w.event.Message = withheld(http.StatusText(w.event.Status))
	}
	w.unanswered()
}

// refused records a refusal.
func (w *write) refused(refusal *Refusal) {
	w.event.Result = state.WriteRefused
	w.event.Status = http.StatusForbidden
	w.event.Message = refusal.Reason
	w.unanswered()
}

// heldBack records what Options.Before answered with an API status.
func (w *write) heldBack(status metav1.Status) {
	w.event.Result = state.WriteRefused
	w.event.Status = int(status.Code)
	w.event.Message = status.Message
	w.unanswered()
}

// unanswered hands on the record of a write that no object was answered to: what it
// was about stands in the request.
func (w *write) unanswered() {
	w.identify(w.requestHead())
	if tells(w.request) {
		if media, body := w.requestBody(); body != nil {
			w.readEvent(media, body)
		}
	}
	w.emit()
}

// identify fills in what the path does not say.
func (w *write) identify(h wire.Head) {
	o := &w.event.Object
	if o.Name == "" {
		o.Name = h.Name
	}
	if h.UID != "" && h.Name == o.Name {
		o.UID = h.UID
	}
	w.generateName = h.GenerateName
}

// requestBody is the body of the request if it can be had without taking it
// from the transport.
func (w *write) requestBody() (media string, body []byte) {
	if w.http.GetBody == nil {
		return "", nil
	}
	reader, err := w.http.GetBody()
	if err != nil {
		return "", nil
	}
	defer func() { _ = reader.Close() }()
	body, err = io.ReadAll(io.LimitReader(reader, w.guard.maxBody))
	if err != nil {
		return "", nil
	}
	return request.MediaType(w.http.Header), body
}

// requestHead is the head of the object in the request, where the path names
// none.
func (w *write) requestHead() wire.Head {
	if w.request.Verb != "create" || w.request.Object.Name != "" {
		return wire.Head{}
	}
	media, body := w.requestBody()
	if body == nil {
		return wire.Head{}
	}
	return wire.ReadHead(media, body)
}

func (w *write) readEvent(media string, body []byte) {
	if o, err := wire.Decode(media, body); err == nil {
		w.causeOfEvent(o)
	}
}

// causeOfEvent replaces the cause of an Event. The goroutine that wrote it is
// the broadcaster's, whose labels are those of whoever started it; what links
// an Event to a sync is the object it is about.
func (w *write) causeOfEvent(o wire.Object) {
	cause := state.Cause{Kind: state.CauseUnknown}
	if about, ok := aboutOf(o); ok {
		cause.Object = &about
	}
	if w.event.Controller == "" {
		source, _ := o["source"].(wire.Object)
		w.event.Controller, _ = source["component"].(string)
		for _, field := range []string{"reportingComponent", "reportingController"} {
			if reporting, _ := o[field].(string); w.event.Controller == "" {
				w.event.Controller = reporting
			}
		}
	}
	cause.Controller = w.event.Controller
	w.event.Cause = cause
	w.event.Tells = textOf(o)
}

// aboutOf is the object that an Event is about, as far as it says.
func aboutOf(o wire.Object) (state.Ref, bool) {
	about, _ := o["involvedObject"].(wire.Object)
	if about == nil {
		about, _ = o["regarding"].(wire.Object)
	}
	text := func(field string) string { s, _ := about[field].(string); return s }
	kind := text("kind")
	if kind == "" {
		return state.Ref{}, false
	}
	gv, _ := schema.ParseGroupVersion(text("apiVersion"))
	plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(kind))
	return state.Ref{Group: plural.Group, Version: plural.Version, Resource: plural.Resource,
		Namespace: text("namespace"), Name: text("name"), UID: text("uid")}, true
}

// countRepeat sets Repeat for writes that no informer will ever see, which a
// loop makes again at each sync.
func (w *write) countRepeat() {
	c := w.event.Cause
	key := repeatKey{controller: w.event.Controller, queue: c.Queue, key: c.Key, verb: w.event.Verb,
		resource: w.event.Object.Type() + "/" + w.event.Object.Namespace, name: w.event.Object.Name, subres: w.event.Subresource}
	if w.generateName != "" {
		key.name = w.generateName + "*"
	}
	if isEvent(w.event.Object) {
		return // each Event has a name of its own
	}
	g := w.guard
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.repeats) >= maxRepeatKeys {
		clear(g.repeats)
	}
	w.event.Repeat = g.repeats[key]
	g.repeats[key]++
}

// emit hands the record on.
func (w *write) emit() {
	w.event.Duration = w.guard.now().Sub(w.start)
	if len(w.event.Message) > maxMessage {
		w.event.Message = strings.ToValidUTF8(w.event.Message[:maxMessage], "") + "…"
	}
	if w.event.Result == state.WriteDry {
		w.countRepeat()
	}
	if w.guard.recorder != nil {
		w.guard.recorder.Record(w.event)
	}
	if w.guard.onWrite != nil {
		w.guard.onWrite(w.event)
	}
}
