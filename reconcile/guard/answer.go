package guard

import (
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"reflect"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/uuid"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// An answer is what the guard says in place of the API server.
type answer struct {
	code int
	// object is the body where it is not a bare Status of success.
	object object
	// old is what object is to be compared with; nil for a create.
	old object
	// uid is the object's, where the body does not say it.
	uid string
	// changes are what the write changes of another object than object.
	changes []state.FieldChange
}

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
	if a.object == nil {
		return Respond(req, a.code, success(a, w.request))
	}
	return Respond(req, a.code, asAccepted(req.Header, a.object))
}

func badBody(err error) error {
	if errors.Is(err, errTooLarge) {
		return apierrors.NewRequestEntityTooLargeError(err.Error())
	}
	return apierrors.NewBadRequest(err.Error())
}

// answered records an answer.
func (w *write) answered(a answer) {
	w.event.Status = a.code
	w.event.Result = state.WriteDry
	if a.object == nil {
		h := w.requestHead()
		if a.uid != "" {
			h.name, h.uid = w.request.Object.Name, a.uid
		}
		w.event.Diff = a.changes
		w.identify(h)
		w.emit()
		return
	}
	w.event.Approximate = true
	w.identify(headOf(a.object))
	if tells(w.request) {
		w.causeOfEvent(a.object)
	}
	if w.guard.diff != nil {
		w.event.Diff = w.guard.diff(w.event.Object, a.old, a.object)
	}
	w.emit()
}

// success is the Status of a delete, a binding or an eviction.
func success(a answer, r request.Request) metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusSuccess,
		Code:     int32(a.code),
		Details:  &metav1.StatusDetails{Name: r.Object.Name, Group: r.Object.Group, Kind: r.Object.Resource, UID: types.UID(a.uid)},
	}
}

// asAccepted honours a request for PartialObjectMetadata. The metadata client
// fails on anything else (k8s.io/client-go v0.37.1 metadata/metadata.go).
func asAccepted(header http.Header, o object) object {
	first, _, _ := strings.Cut(header.Get("Accept"), ",")
	_, params, err := mime.ParseMediaType(first)
	if err != nil || params["as"] != "PartialObjectMetadata" {
		return o
	}
	version := params["v"]
	if version == "" {
		version = "v1"
	}
	return object{"kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/" + version, "metadata": o["metadata"]}
}

// invent makes the answer. Its errors are API errors, or those of the GET.
func (t *transport) invent(req *http.Request, r request.Request, body []byte) (answer, error) {
	switch r.Verb {
	case "create":
		return t.create(req, r, body)
	case "update":
		return t.update(req, r, body)
	case "patch", "apply":
		return t.patch(req, r, body)
	case "delete":
		return t.delete(req, r, body)
	default: // deletecollection
		if _, err := decodeDeleteOptions(request.MediaType(req.Header), body); err != nil {
			return answer{}, apierrors.NewBadRequest(err.Error())
		}
		return answer{code: http.StatusOK}, nil
	}
}

// base is the object a write starts from. live says that it was read from the
// server just now.
func (t *transport) base(req *http.Request, r request.Request) (o object, live bool, err error) {
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
func (t *transport) get(req *http.Request, r request.Request) (object, error) {
	where := r
	if r.Subresource == "scale" {
		where.Subresource = ""
	}
	return t.fetch(req, parentURL(req.URL, where), r)
}

// fetch reads what is at a URL of the server, with the credentials of a request; r
// is for the words of errors.
func (t *transport) fetch(req *http.Request, at *url.URL, r request.Request) (object, error) {
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
	get.Header.Set("Accept", mediaJSON)
	resp, err := t.leave(get)
	if err != nil {
		return nil, fmt.Errorf("read %s before answering: %w", r.Object, err)
	}
	body, err := readResponse(resp, t.guard.maxBody)
	if err != nil {
		return nil, fmt.Errorf("read %s before answering: %w", r.Object, err)
	}
	if resp.StatusCode != http.StatusOK {
		if status, ok := readStatus(request.MediaType(resp.Header), body); ok {
			return nil, &apierrors.StatusError{ErrStatus: status}
		}
		return nil, apierrors.NewGenericServerResponse(resp.StatusCode, "get", groupResource(r), r.Object.Name, "", 0, true)
	}
	o, err := decodeObject(request.MediaType(resp.Header), body)
	if err != nil {
		return nil, apierrors.NewInternalError(fmt.Errorf("read %s before answering: %w", r.Object, err))
	}
	return o, nil
}

// create answers a POST.
func (t *transport) create(req *http.Request, r request.Request, body []byte) (answer, error) {
	if r.Subresource != "" || r.Object.Resource == "bindings" && r.Object.Group == "" {
		return t.act(req, r, body)
	}
	o, err := decodeObject(request.MediaType(req.Header), body)
	if err != nil {
		return answer{}, apierrors.NewBadRequest(fmt.Sprintf("decode the %s to create: %v", r.Object.Resource, err))
	}
	name, err := t.guard.nameFor(o, r)
	if err != nil {
		return answer{}, err
	}
	return answer{code: http.StatusCreated, object: t.guard.created(o, r, name)}, nil
}

// nameFor is the name in the object, or one made from generateName by
// upstream's rule (k8s.io/apiserver v0.37.1 pkg/storage/names).
func (g *Guard) nameFor(o object, r request.Request) (string, error) {
	h := headOf(o)
	switch {
	case r.Object.Namespace != "" && h.namespace != "" && h.namespace != r.Object.Namespace:
		return "", apierrors.NewBadRequest("the namespace of the provided object does not match the namespace sent on the request")
	case h.name != "":
		return h.name, nil
	case h.generateName != "":
		const longest = 63 - 5
		return h.generateName[:min(len(h.generateName), longest)] + rand.String(5), nil
	default:
		return "", apiError(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, "name or generateName is required")
	}
}

// created is an object as the API server answers its creation, without
// defaulting and admission. It has no resourceVersion.
func (g *Guard) created(o object, r request.Request, name string) object {
	out := withMeta(o, func(m object) {
		m["name"] = name
		m["namespace"] = r.Object.Namespace
		m["uid"] = string(uuid.NewUUID())
		m["creationTimestamp"] = g.now().UTC().Format(time.RFC3339)
		m["generation"] = int64(1)
		for _, field := range []string{"resourceVersion", "selfLink", "deletionTimestamp", "deletionGracePeriodSeconds", "managedFields"} {
			delete(m, field)
		}
	})
	delete(out, "status")
	if gvk, known := g.kinds[gvrOf(r.Object)]; known && out["kind"] == nil {
		out["apiVersion"], out["kind"] = gvk.ToAPIVersionAndKind() // the server takes a body without
	}
	return out
}

// act answers the creates that make no object: eviction and binding.
func (t *transport) act(req *http.Request, r request.Request, body []byte) (answer, error) {
	o, err := decodeObject(request.MediaType(req.Header), body)
	if err != nil {
		return answer{}, apierrors.NewBadRequest(fmt.Sprintf("decode the %s to create: %v", r.Subresource, err))
	}
	if r.Subresource == "" { // the old form of a binding names its pod inside
		if headOf(o).name == "" {
			return answer{}, apierrors.NewBadRequest("the binding names no pod")
		}
		return answer{code: http.StatusCreated}, nil
	}
	pod, _, err := t.base(req, r)
	if err != nil {
		return answer{}, err
	}
	return answer{code: http.StatusCreated, uid: metaString(pod, "uid"), changes: t.guard.places(r, o)}, nil
}

// update answers a PUT: what was sent, with what the API server would not let
// it change.
func (t *transport) update(req *http.Request, r request.Request, body []byte) (answer, error) {
	sent, err := decodeObject(request.MediaType(req.Header), body)
	if err != nil {
		return answer{}, apierrors.NewBadRequest(fmt.Sprintf("decode the %s to update: %v", r.Object.Resource, err))
	}
	base, live, err := t.base(req, r)
	if err != nil {
		return answer{}, err
	}
	if err := checkPreconditions(r, base, live, metaString(sent, "uid"), metaString(sent, "resourceVersion")); err != nil {
		return answer{}, err
	}
	return answer{code: http.StatusOK, object: t.guard.updated(r, base, sent, metaString(sent, "resourceVersion")), old: base}, nil
}

// updated merges sent into base as the strategy of the resource does: each
// subresource has its field, and the object itself everything but status.
// resourceVersion is the one to answer with.
func (g *Guard) updated(r request.Request, base, sent object, resourceVersion string) object {
	var out object
	edit := func(m object) {
		m["resourceVersion"] = resourceVersion
		for _, field := range []string{"uid", "creationTimestamp", "generation", "name", "namespace"} {
			if v, has := metaOf(base)[field]; has {
				m[field] = v
			}
		}
	}
	switch r.Subresource {
	case "status", "approval":
		out = withMeta(base, edit)
		out["status"] = sent["status"]
	case "finalize":
		out = withMeta(base, edit)
		out["spec"] = sent["spec"]
	case "scale":
		out = withMeta(sent, edit)
		out["status"] = base["status"]
	default:
		out = withMeta(sent, func(m object) {
			edit(m)
			if generation, has := m["generation"].(int64); has && !reflect.DeepEqual(sent["spec"], base["spec"]) {
				m["generation"] = generation + 1
			}
		})
		// A custom resource may have no status subresource: then the object
		// carries it.
		if _, builtin := g.kinds[gvrOf(r.Object)]; builtin {
			out["status"] = base["status"]
		}
	}
	if out["status"] == nil {
		delete(out, "status")
	}
	out["apiVersion"], out["kind"] = base["apiVersion"], base["kind"]
	return out
}

// checkPreconditions compares what a write expects of the object with base. A
// resourceVersion is compared with a live object only: the cache may be behind
// the writer.
func checkPreconditions(r request.Request, base object, live bool, uid, resourceVersion string) error {
	h := headOf(base)
	switch {
	case uid != "" && h.uid != "" && uid != h.uid:
		//lint:ignore ST1005 these are the API server's own words
		mismatch := fmt.Errorf("Precondition failed: UID in precondition: %s, UID in object meta: %s", uid, h.uid)
		return apierrors.NewConflict(groupResource(r), r.Object.Name, mismatch)
	case live && resourceVersion != "" && h.resourceVersion != "" && resourceVersion != h.resourceVersion:
		return apierrors.NewConflict(groupResource(r), r.Object.Name,
			errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	default:
		return nil
	}
}

// delete answers a DELETE of one object.
func (t *transport) delete(req *http.Request, r request.Request, body []byte) (answer, error) {
	options, err := decodeDeleteOptions(request.MediaType(req.Header), body)
	if err != nil {
		return answer{}, apierrors.NewBadRequest(err.Error())
	}
	base, live, err := t.base(req, r)
	if err != nil {
		return answer{}, err
	}
	if p := options.Preconditions; p != nil {
		var uid, resourceVersion string
		if p.UID != nil {
			uid = string(*p.UID)
		}
		if p.ResourceVersion != nil {
			resourceVersion = *p.ResourceVersion
		}
		if err := checkPreconditions(r, base, live, uid, resourceVersion); err != nil {
			return answer{}, err
		}
	}
	return answer{code: http.StatusOK, uid: metaString(base, "uid")}, nil
}

// apiError is an error that apimachinery has no constructor for.
func apiError(code int32, reason metav1.StatusReason, message string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: code, Reason: reason, Message: message}}
}

func groupResource(r request.Request) schema.GroupResource {
	return schema.GroupResource{Group: r.Object.Group, Resource: r.Object.Resource}
}
