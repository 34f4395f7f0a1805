package guard

import (
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/fakeapi"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// answer answers a write in this process.
func (t *transport) answer(w *write, req *http.Request) (*http.Response, error) {
	if err := req.Context().Err(); err != nil {
		return t.fail(w, req, err)
	}
	body, err := readBody(req, t.guard.maxBody)
	if err != nil {
		return t.fail(w, req, badBody(err))
	}
	a, err := t.invent(req, w.request, body)
	if err != nil {
		return t.fail(w, req, err)
	}
	w.answered(a)
	if a.Object == nil {
		return Respond(req, a.Code, success(a, w.request))
	}
	return Respond(req, a.Code, asAccepted(req.Header, a.Object))
}

func badBody(err error) error {
	if errors.Is(err, errTooLarge) {
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	return apierrors.NewBadRequest(err.Error())
}

// answered records an answer.
func (w *write) answered(a fakeapi.Answer) {
	w.event.Status = a.Code
	w.event.Result = state.WriteDry
	if a.Object == nil {
		h := w.requestHead()
		if a.UID != "" {
			h.Name, h.UID = w.request.Object.Name, a.UID
		}
		w.event.Diff = w.guard.places(w.request, a.Act)
		w.identify(h)
		w.emit()
		return
	}
	w.event.Approximate = true
	w.identify(wire.HeadOf(a.Object))
	if tells(w.request) {
		w.causeOfEvent(a.Object)
	}
	if w.guard.diff != nil {
		w.event.Diff = w.guard.diff(w.event.Object, a.Old, a.Object)
	}
	w.emit()
}

// success is the Status of a delete, a binding or an eviction.
func success(a fakeapi.Answer, r request.Request) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Code:     int32(a.Code),
		Details:  &metav1.StatusDetails{Name: r.Object.Name, Group: r.Object.Group, Kind: r.Object.Resource, UID: types.UID(a.UID)},
	}
}

// asAccepted honours a request for PartialObjectMetadata. The metadata client
// fails on anything else (k8s.io/client-go v0.37.1 metadata/metadata.go).
func asAccepted(header http.Header, o wire.Object) wire.Object {
	first, _, _ := strings.Cut(header.Get("Accept"), ",")
	_, params, err := mime.ParseMediaType(first)
	if err != nil || params["as"] != "PartialObjectMetadata" {
		return o
	}
	version := params["v"]
	if version == "" {
		version = "v1"
	}
	return wire.Object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/" + version, "metadata": o["metadata"]}
}

// invent has an answer made up.
func (t *transport) invent(req *http.Request, r request.Request, body []byte) (fakeapi.Answer, error) {
	api := fakeapi.API{Kinds: t.guard.kinds, Now: t.guard.now}
	return api.Answer(r, request.MediaType(req.Header), body, func() (wire.Object, bool, error) { return t.base(req, r) })
}

// base is the object a write starts from. live says that it was read from the
// server just now.
func (t *transport) base(req *http.Request, r request.Request) (o wire.Object, live bool, err error) {
	if r.Subresource != "scale" && !t.fresh {
		if o, found := t.guard.lookUp(r.Object); found {
			return o, false, nil
		}
	}
	o, err = t.get(req, r)
	return o, true, err
}

// get reads the object a write is about with the credentials of the write. A
// Scale is an object of its own; other subresources belong to their parent.
func (t *transport) get(req *http.Request, r request.Request) (wire.Object, error) {
	where := r
	if r.Subresource == "scale" {
		where.Subresource = ""
	}
	return t.fetch(req, parentURL(req.URL, where), r)
}

// fetch reads what is at a URL of the server, with the credentials of a request; r
// is for the words of errors.
func (t *transport) fetch(req *http.Request, at *url.URL, r request.Request) (wire.Object, error) {
	get, err := http.NewRequestWithContext(req.Context(), http.MethodGet, at.String(), nil)
	if err != nil {
		return nil, fmt.Errorf("read %s before answering: %w", r.Object, err)
	}
	get.Host = req.Host
	for name, values := range req.Header { // credentials and impersonation among them
		lower := strings.ToLower(name)
		if strings.HasPrefix(lower, "content-") || t.guard.readsAsUser && strings.HasPrefix(lower, "impersonate-") {
			continue
		}
		get.Header[name] = values
	}
	get.Header.Set("Accept", wire.JSON)
	resp, err := t.leave(get)
	if err != nil {
		return nil, fmt.Errorf("read %s before answering: %w", r.Object, err)
	}
	body, err := readResponse(resp, t.guard.maxBody)
	if err != nil {
		return nil, fmt.Errorf("read %s before answering: %w", r.Object, err)
	}
	if resp.StatusCode != http.StatusOK {
		if status, ok := wire.ReadStatus(request.MediaType(resp.Header), body); ok {
			return nil, &apierrors.StatusError{ErrStatus: status}
		}
		return nil, apierrors.NewGenericServerResponse(resp.StatusCode, "get", schema.GroupResource{Group: r.Object.Group, Resource: r.Object.Resource}, r.Object.Name, "", 0, true)
	}
	o, err := wire.Decode(request.MediaType(resp.Header), body)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("read %s before answering: %w", r.Object, err))
	}
	return o, nil
}

// readResponse reads and closes the body of a response.
func readResponse(resp *http.Response, limit int64) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	// An object in etcd can be larger as JSON than any request may be.
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4*limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > 4*limit {
		return nil, errTooLarge
	}
	return body, nil
}
