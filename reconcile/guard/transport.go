package guard

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

type transport struct {
	guard *Guard
	next  http.RoundTripper
	// fresh: what a write starts from is read from the server in any case.
	fresh bool
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(req *http.Request) (*http.Response, error) {
	r := t.guard.classify(req)
	verdict := t.guard.Decide(r)
	if verdict.Action == ActionForward && !t.guard.opensForward(req, r) {
		verdict = refuse("this is not how a port-forward is opened")
	}
	answer := t.leave
	local := t.guard.answersLocally(r, verdict)
	if local {
		answer = func(out *http.Request) (*http.Response, error) { return t.guard.local.Answer(out, r, t.read) }
	}
	if verdict.Action == ActionPass || verdict.Action == ActionForward {
		resp, err := answer(req)
		if refusal, refused := errors.AsType[*Refusal](err); refused {
			return t.refuseRead(req, refusal)
		}
		return resp, err
	}
	if isRead(req) {
		return t.refuseRead(req, t.guard.refusal(r, verdict.Reason))
	}
	w := t.guard.begin(req, r)
	if verdict.Action != ActionRefuse && t.guard.before != nil {
		if err := w.wait(t); err != nil {
			return t.holdBack(w, req, err)
		}
	}
	if local {
		return t.deliver(w, req, req, answer)
	}
	switch verdict.Action {
	case ActionSend:
		return t.send(w, req, req)
	case ActionSendDry:
		out, err := t.guard.makeDry(req, r)
		if err != nil {
			return t.fail(w, req, t.guard.cannotBeDry(r, err))
		}
		return t.send(w, req, out)
	case ActionAnswer:
		return t.answer(w, req)
	default:
		return t.fail(w, req, t.guard.refusal(r, verdict.Reason))
	}
}

// CloseIdleConnections passes the call of http.Client on. The transport is
// deliberately no utilnet.RoundTripperWrapper: nobody gets at what is inside.
func (t *transport) CloseIdleConnections() {
	if closer, ok := t.next.(interface{ CloseIdleConnections() }); ok {
		closer.CloseIdleConnections()
	}
}

// leave is the only way to the inner transport. Whatever was decided before,
// it reads what is about to leave once more, and lets out nothing that the mode
// does not allow, and nothing to another server. It returns a Refusal for what
// it keeps, whose body it leaves open.
func (t *transport) leave(out *http.Request) (*http.Response, error) {
	g := t.guard
	r := g.classify(out)
	switch {
	case r.Kind == request.KindRead && isRead(out):
	case r.Kind == request.KindReview && out.Method == http.MethodPost:
	case g.forwards(r) && g.opensForward(out, r):
	case r.Kind == request.KindWrite && g.mode == state.ModeActive:
		if originOf(out.URL.Scheme, out.URL.Host) != g.grant.origin() {
			return nil, g.refusal(r, "active mode was granted for "+g.grant.String()+", not for "+out.URL.Scheme+"://"+out.URL.Host)
		}
	case r.Kind == request.KindWrite && g.mode == state.ModeDryRunServer:
		if err := g.proveDry(out); err != nil {
			return nil, g.cannotBeDry(r, err)
		}
	default:
		return nil, g.refusal(r, "it got past the guard's decision, which is a bug in the guard")
	}
	if reason := g.otherServer(out); reason != "" {
		return nil, g.refusal(r, reason)
	}
	if r.Kind == request.KindWrite && g.mode == state.ModeActive {
		if reason := g.grant.admits(g, out, r); reason != "" {
			return nil, g.refusal(r, reason)
		}
		if gate := g.grant.door(); gate != nil {
			return t.through(gate, out, r)
		}
	}
	return t.next.RoundTrip(out)
}

// opensForward looks at what a Request leaves out. client-go v0.37.1 asks for
// the upgrade below the guard, over SPDY with a POST and over a WebSocket with a
// GET (transport/spdy, transport/websocket): an upgrade seen here is another
// client's, and has to be to one of the two.
func (g *Guard) opensForward(req *http.Request, r request.Request) bool {
	path := g.basePath + "/api/v1/namespaces/" + r.Object.Namespace + "/pods/" + r.Object.Name + "/portforward"
	return (req.Method == http.MethodGet || req.Method == http.MethodPost) &&
		req.URL.Path == path && req.URL.RawPath == "" &&
		(req.Body == nil || req.Body == http.NoBody) &&
		(r.Kind != request.KindUpgrade || upgradesTo(req.Header, "SPDY/3.1", "websocket"))
}

// upgradesTo reports whether a request asks for one protocol, one of these, and
// for nothing else of its connection.
func upgradesTo(header http.Header, protocols ...string) bool {
	var connection, upgrade []string
	for name, values := range header { // in any spelling, as asksUpgrade
		switch {
		case strings.EqualFold(name, "Connection"):
			connection = append(connection, values...)
		case strings.EqualFold(name, "Upgrade"):
			upgrade = append(upgrade, values...)
		}
	}
	return len(connection) == 1 && strings.EqualFold(connection[0], "Upgrade") && len(upgrade) == 1 &&
		slices.ContainsFunc(protocols, func(p string) bool { return strings.EqualFold(upgrade[0], p) })
}

// read is leave for what only reads.
func (t *transport) read(req *http.Request) (*http.Response, error) {
	if r := t.guard.classify(req); r.Kind != request.KindRead || !isRead(req) {
		return nil, t.guard.refusal(r, "what answers in the server's place may only read from it")
	}
	return t.leave(req)
}

func isRead(req *http.Request) bool {
	return req.Method == "" || req.Method == http.MethodGet || req.Method == http.MethodHead
}

// refuseRead refuses what would not have been a write by its method, an exec
// over WebSocket for one. It is a note in the record, not a write.
func (t *transport) refuseRead(req *http.Request, refusal *Refusal) (*http.Response, error) {
	if req.Body != nil {
		defer func() { _ = req.Body.Close() }()
	}
	if t.guard.recorder != nil {
		t.guard.recorder.Record(state.Note{Source: "guard", Text: refusal.Error(), Warning: true})
	}
	return Respond(req, http.StatusForbidden, refusal.Status())
}

func (g *Guard) refusal(r request.Request, reason string) *Refusal {
	return &Refusal{Mode: g.mode, Request: r, Reason: reason}
}

func (g *Guard) cannotBeDry(r request.Request, err error) error {
	if errors.Is(err, errTooLarge) {
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	return g.refusal(r, "it cannot be made a dry run: "+err.Error())
}

// send sends a write, as out, and records what came back.
func (t *transport) send(w *write, req, out *http.Request) (*http.Response, error) {
	w.readBefore(t, req)
	return t.deliver(w, req, out, t.leave)
}

// deliver hands a write, as out, to what answers it, and records the answer.
func (t *transport) deliver(w *write, req, out *http.Request, answer func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	w.lookBefore()
	resp, err := answer(out)
	if _, refused := errors.AsType[*Refusal](err); refused {
		return t.fail(w, req, err)
	}
	if err != nil {
		w.failed(err)
		return nil, err
	}
	resp.Request = req
	if w.request.Verb == "deletecollection" && resp.StatusCode < http.StatusBadRequest {
		w.finish(resp.StatusCode, "", nil) // the answer lists what was deleted
		return resp, nil
	}
	body, err := readAll(resp)
	closer := resp.Body
	if err != nil {
		// The client gets what there was, then the same error.
		resp.Body = splitBody{io.MultiReader(bytes.NewReader(body), failing{err}), closer}
		w.failed(err)
		return resp, nil
	}
	resp.Body = splitBody{bytes.NewReader(body), closer}
	media := request.MediaType(resp.Header)
	if resp.Header.Get("Content-Encoding") != "" {
		media = "?"
	}
	w.finish(resp.StatusCode, media, body)
	return resp, nil
}

// readAll reads a body into memory of its size where the server has told it.
func readAll(resp *http.Response) ([]byte, error) {
	var body bytes.Buffer
	if size := resp.ContentLength; size > 0 && size <= defaultMaxBody {
		body.Grow(int(size) + bytes.MinRead)
	}
	_, err := body.ReadFrom(resp.Body)
	return body.Bytes(), err
}

// splitBody reads from one place and closes another.
type splitBody struct {
	io.Reader
	io.Closer
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// fail answers a write that did not leave with an error: as a Status where it
// has one, and as the error itself otherwise.
func (t *transport) fail(w *write, req *http.Request, err error) (*http.Response, error) {
	if req.Body != nil {
		defer func() { _ = req.Body.Close() }()
	}
	status, ok := statusOf(err)
	if !ok {
		w.failed(err)
		return nil, err
	}
	if refusal, is := errors.AsType[*Refusal](err); is {
		w.refused(refusal)
	} else {
		w.event.Status = int(status.Code)
		w.event.Message = status.Message
		w.failed(nil)
	}
	return Respond(req, int(status.Code), status)
}

// holdBack answers a write that Options.Before did not let go. The error's API
// status is the answer where it has one.
func (t *transport) holdBack(w *write, req *http.Request, err error) (*http.Response, error) {
	status, ok := statusOf(err)
	if !ok {
		return t.fail(w, req, err)
	}
	if req.Body != nil {
		defer func() { _ = req.Body.Close() }()
	}
	w.heldBack(status)
	return Respond(req, int(status.Code), status)
}
