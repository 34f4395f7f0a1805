package proxy

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"path"
	"strconv"
	"strings"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxLeases bounds the leases that are simulated.
const maxLeases = 1024

var leaseResource = schema.GroupResource{Group: coordinationv1.GroupName, Resource: "leases"}

// Leases simulates, in a dry run, the Leases with which a controller elects its leader,
// in memory: what it writes is returned to it and to no other process. It is a
// guard.Local.
//
// A lease is copied from the server when it is first requested by name, as if its
// holder had just released it, so that a controller leads at once although another
// instance leads in the cluster. That difference is recorded once for each lease. Lists
// and watches of leases are answered by the server, and so are the leases of nodes
// (namespace kube-node-lease).
//
// Two clients that compete for a lease get one winner: resourceVersions are compared,
// as the server does.
type Leases struct {
	recorder state.Recorder
	now      func() time.Time

	mu   sync.Mutex
	held map[string]*heldLease
}

var _ guard.Local = (*Leases)(nil)

// heldLease is one lease. Its lock is held during the request to the server, so that
// only one is sent.
type heldLease struct {
	mu    sync.Mutex
	known bool
	// lease is nil if it does not exist.
	lease *coordinationv1.Lease
}

// NewLeases starts with the leases of the server. now may be nil for the wall clock.
func NewLeases(recorder state.Recorder, now func() time.Time) *Leases {
	if now == nil {
		now = time.Now
	}
	return &Leases{recorder: recorder, now: now, held: map[string]*heldLease{}}
}

// Takes reports whether a request is about one Lease.
func (l *Leases) Takes(r request.Request) bool {
	o := r.Object
	if o.Group != leaseResource.Group || o.Version != "v1" || o.Resource != leaseResource.Resource || r.Subresource != "" || o.Namespace == "kube-node-lease" {
		return false
	}
	switch r.Verb {
	case "get", "update", "patch", "apply", "delete":
		return o.Name != ""
	case "create":
		return true
	}
	return false
}

// Elects reports whether a write is part of a leader election, as far as that is
// recognisable: it creates or changes one Lease that is not a node's.
func Elects(p guard.Pending) bool {
	o := p.Object()
	if o.Group != leaseResource.Group || o.Resource != leaseResource.Resource || o.Name == "" || p.Subresource() != "" || o.Namespace == "kube-node-lease" {
		return false
	}
	switch p.Verb() {
	case "create", "update", "patch", "apply":
		return true
	}
	return false
}

// Answer answers it.
func (l *Leases) Answer(req *http.Request, r request.Request, read func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	if r.Verb == "get" && isSet(req.URL.Query(), "watch") {
		return read(req)
	}
	var body []byte
	if req.Body != nil {
		defer req.Body.Close()
		var err error
		if body, err = io.ReadAll(io.LimitReader(req.Body, maxBody)); err != nil {
			return nil, err
		}
	}
	if media, _, _ := strings.Cut(req.Header.Get("Content-Type"), ";"); strings.Contains(media, "cbor") {
		// client-go then retries in JSON.
		return respondError(req, apierrors.NewGenericServerResponse(http.StatusUnsupportedMediaType, r.Verb, leaseResource, r.Object.Name, "CBOR is not supported", 0, true))
	}
	object := *req.URL
	name := r.Object.Name
	if r.Verb == "create" {
		lease, err := decodeLease(body)
		if err != nil {
			return respondError(req, apierrors.NewBadRequest(err.Error()))
		}
		if name = lease.Name; name == "" {
			return respondError(req, apierrors.NewBadRequest("name is required"))
		}
		// It becomes part of a path, in which ".." would lead elsewhere.
		if problems := validation.IsDNS1123Subdomain(name); len(problems) > 0 {
			return respondError(req, apierrors.NewInvalid(coordinationv1.SchemeGroupVersion.WithKind("Lease").GroupKind(), name,
				field.ErrorList{field.Invalid(field.NewPath("metadata", "name"), name, strings.Join(problems, ", "))}))
		}
		object.Path, object.RawPath = path.Join(object.Path, name), ""
	}
	held := l.of(r.Object.Namespace + "/" + name)
	if held == nil {
		return respondError(req, apierrors.NewServiceUnavailable("kctl-ctrl exec supports at most "+strconv.Itoa(maxLeases)+" leases"))
	}
	held.mu.Lock()
	defer held.mu.Unlock()
	if !held.known {
		if resp, err := l.takeOver(held, req, object, read); resp != nil || err != nil {
			return resp, err
		}
	}
	code, lease, err := l.change(held, req, r, name, body)
	if status := (*apierrors.StatusError)(nil); errors.As(err, &status) {
		return respondError(req, status)
	}
	if err != nil {
		return respondError(req, apierrors.NewBadRequest(err.Error()))
	}
	if r.Verb == "delete" {
		return guard.Respond(req, code, metav1.Status{TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}, Status: metav1.StatusSuccess})
	}
	return guard.Respond(req, code, lease)
}

func (l *Leases) of(key string) *heldLease {
	l.mu.Lock()
	defer l.mu.Unlock()
	held := l.held[key]
	if held == nil && len(l.held) < maxLeases {
		held = &heldLease{}
		l.held[key] = held
	}
	return held
}

// takeOver reads the lease from the server. Other responses, except not found, are
// returned for the client.
func (l *Leases) takeOver(held *heldLease, req *http.Request, object url.URL, read func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	object.RawQuery, object.Fragment = "", ""
	get, err := http.NewRequestWithContext(req.Context(), http.MethodGet, object.String(), nil)
	if err != nil {
		return nil, err
	}
	get.Host = req.Host
	for name, values := range req.Header { // including credentials and impersonation
		if lower := strings.ToLower(name); !strings.HasPrefix(lower, "content-") && lower != "accept-encoding" {
			get.Header[name] = values
		}
	}
	get.Header.Set("Accept", mediaJSON)
	resp, err := read(get)
	if err != nil {
		return nil, err
	}
	switch resp.StatusCode {
	case http.StatusNotFound:
		resp.Body.Close()
		held.known = true
		return nil, nil
	case http.StatusOK:
	default:
		resp.Request = req
		return resp, nil
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(io.LimitReader(resp.Body, maxBody))
	if err != nil {
		return nil, err
	}
	lease, err := decodeLease(body)
	if err != nil {
		return nil, fmt.Errorf("read a lease from the server: %w", err)
	}
	if holder := lease.Spec.HolderIdentity; holder != nil && *holder != "" {
		l.recorder.Record(state.Note{Source: "exec", Text: fmt.Sprintf(
			"lease %s/%s is held by %s on the server; this dry run shows it to the command as free", lease.Namespace, lease.Name, clip(*holder))})
	}
	released := int32(1)
	lease.Spec.HolderIdentity, lease.Spec.LeaseDurationSeconds = nil, &released
	lease.Spec.PreferredHolder, lease.Spec.Strategy = nil, nil
	held.lease, held.known = lease, true
	return nil, nil
}

func clip(text string) string {
	const most = 253
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + "…"
}

// change applies a verb to a lease and returns the response: the lease, none for a
// delete. The client's own dry runs change nothing.
func (l *Leases) change(held *heldLease, req *http.Request, r request.Request, name string, body []byte) (int, *coordinationv1.Lease, error) {
	old := held.lease
	if old == nil && r.Verb != "create" && r.Verb != "apply" {
		return 0, nil, apierrors.NewNotFound(leaseResource, name)
	}
	dry := len(req.URL.Query()["dryRun"]) > 0
	keep := func(lease *coordinationv1.Lease) {
		if !dry {
			held.lease = lease
		}
	}
	switch r.Verb {
	case "get":
		return http.StatusOK, old, nil
	case "delete":
		keep(nil)
		return http.StatusOK, nil, nil
	case "create":
		if old != nil {
			return 0, nil, apierrors.NewAlreadyExists(leaseResource, name)
		}
	}
	var next *coordinationv1.Lease
	var err error
	if r.Verb == "create" || r.Verb == "update" {
		next, err = decodeLease(body)
	} else {
		next, err = patched(old, req.Header.Get("Content-Type"), body)
	}
	if err != nil {
		return 0, nil, err
	}
	if next.Name != name && next.Name != "" || next.Namespace != r.Object.Namespace && next.Namespace != "" {
		return 0, nil, apierrors.NewBadRequest("the name or namespace of the lease does not match the path")
	}
	if old != nil && next.ResourceVersion != "" && next.ResourceVersion != old.ResourceVersion {
		return 0, nil, apierrors.NewConflict(leaseResource, name, errors.New("the object has been modified; please apply your changes to the latest version and try again"))
	}
	next.TypeMeta = metav1.TypeMeta{APIVersion: coordinationv1.SchemeGroupVersion.String(), Kind: "Lease"}
	next.Name, next.Namespace = name, r.Object.Namespace
	code := http.StatusOK
	if old == nil {
		code = http.StatusCreated
		next.UID, next.CreationTimestamp, next.ResourceVersion = uuid.NewUUID(), metav1.NewTime(l.now().UTC().Truncate(time.Second)), "1"
	} else {
		next.UID, next.CreationTimestamp, next.ResourceVersion = old.UID, old.CreationTimestamp, after(old.ResourceVersion)
	}
	keep(next)
	return code, next, nil
}

// after is a resourceVersion that the server does not use: it is only compared with
// others of this lease.
func after(resourceVersion string) string {
	n, err := strconv.ParseUint(resourceVersion, 10, 63)
	if err != nil {
		return "1"
	}
	return strconv.FormatUint(n+1, 10)
}

// decodeLease reads JSON, YAML and protobuf.
func decodeLease(body []byte) (*coordinationv1.Lease, error) {
	lease := &coordinationv1.Lease{}
	gvk := coordinationv1.SchemeGroupVersion.WithKind("Lease")
	object, _, err := scheme.Codecs.UniversalDeserializer().Decode(body, &gvk, lease)
	if err != nil {
		return nil, fmt.Errorf("decode the lease: %w", err)
	}
	lease, ok := object.(*coordinationv1.Lease)
	if !ok {
		return nil, fmt.Errorf("decode the lease: unexpected type %T", object)
	}
	lease.TypeMeta = metav1.TypeMeta{APIVersion: gvk.GroupVersion().String(), Kind: gvk.Kind}
	return lease, nil
}

// patched applies a patch; a server-side apply is applied as a merge patch, because all
// fields have one manager here.
func patched(old *coordinationv1.Lease, contentType string, patch []byte) (*coordinationv1.Lease, error) {
	if old == nil {
		old = &coordinationv1.Lease{}
	}
	original, err := json.Marshal(old)
	if err != nil {
		return nil, err
	}
	after, err := applyPatch(original, contentType, patch)
	if err != nil {
		return nil, fmt.Errorf("apply the patch to the lease: %w", err)
	}
	return decodeLease(after)
}
