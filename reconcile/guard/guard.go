package guard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// defaultMaxBody is what kube-apiserver takes by default
// (k8s.io/apiserver v0.37.1 pkg/server/config.go MaxRequestBodyBytes).
const defaultMaxBody = 3 << 20

// Options configure a Guard. Only Mode is required.
type Options struct {
	Mode state.Mode
	// Grant is required for ModeActive. A write to any other server than the
	// one it was given for is refused.
	Grant Grant

	// Server is the API server's address: "https://10.0.0.1:6443"; a path behind
	// it is ignored. Whatever goes elsewhere, a redirect for one, is refused in
	// every mode. Empty is the server of Grant in ModeActive, and otherwise that
	// of the first request that leaves.
	Server string

	// BasePath is the path of rest.Config.Host, where the API server sits below
	// one ("/k8s/clusters/c-1"). Without it every request there is refused.
	BasePath string

	// Cause says why the calling goroutine writes. It is called once for each
	// write, on the goroutine that makes it.
	Cause func() state.Cause
	// Writer names who writes in the record, by the request; empty is what the
	// record says otherwise: the <controller> of a user agent
	// "kctl-ctrl/<controller>", or Cause's.
	Writer func(*http.Request) string
	// Recorder takes a WriteFinished for each write. OnWrite is called after
	// it, on the writing goroutine, before the writer has its answer: it must
	// not block.
	Recorder state.Recorder
	OnWrite  func(state.WriteFinished)

	// Before is called for each write that would be sent or answered, before
	// either is done, on the goroutine that makes it and with the request's
	// context. It may wait, and has to return when the context is done; Duration
	// does not count its time. An error keeps the write in this process: its API
	// status is the answer where it has one, otherwise the error itself.
	Before func(context.Context, Pending) error

	// Lookup returns what an informer holds of an object, typed or unstructured, in
	// the version the Ref names, and nil where no informer holds it. It may be the
	// informer's own: the guard does not change it.
	// In dry-run=client its objects are what updates, patches and deletes start
	// from; in all modes they are the old side of Diff. It must not block.
	Lookup func(state.Ref) runtime.Object
	// Diff lists the fields that differ, as redact.Diff does. It has to redact: it
	// is handed Secrets as they are, with the Ref that tells. Fields at the top of
	// the object, of its metadata, its spec or its status that are the same on both
	// sides may be missing on both. Without it no object is decoded for the record.
	Diff func(ref state.Ref, old, new map[string]any) []state.FieldChange

	// ReadsBefore: the old side of Diff is read from the server, by one GET with the
	// credentials of the write, before an update, patch or apply is sent, and a create
	// has a diff as well. It is for clients of which no informer of ours knows the
	// objects. Writes of Events and Leases, of which there are many, have none then.
	ReadsBefore bool

	// Local answers some requests in the API server's place, in the dry-run modes
	// only; see there.
	Local Local

	// TrustsDryRun reports whether the servers of an API group honour dryRun.
	// Only groups served by kube-apiserver itself, its CRDs included, are
	// certain to. The default is BuiltinGroup.
	TrustsDryRun func(group string) bool

	// ReadsAsUser: the clients act as others than their user, each as somebody
	// else (Impersonate-User). The GET that an answer starts from is the guard's
	// and not theirs, who may have no right to it: it goes out as the user.
	ReadsAsUser bool

	// PortForward is the one pod, by Namespace and Name, to which
	// pods/portforward may open a connection; nil is none. It goes with
	// ModeReadOnly only. New copies it. The guard does not see what is said over
	// the connection: who sets this answers for it.
	PortForward *state.Ref

	// Now is the clock; time.Now by default.
	Now func() time.Time
	// MaxBody bounds, in bytes, the bodies that are read; 3 MiB by default.
	MaxBody int64
}

// Local stands in a dry run for the API server where an answer of the server, or
// one made up for each request by itself, would not do: what is written has to be
// read again. The requests that it takes are judged, held up by Before and
// recorded as all others are, and never leave the process.
type Local interface {
	// Takes reports whether it answers a request, which is a read or a write.
	Takes(request.Request) bool
	// Answer answers one, which it does not change. read sends a GET to the API
	// server; copied headers bring the credentials along.
	Answer(req *http.Request, r request.Request, read func(*http.Request) (*http.Response, error)) (*http.Response, error)
}

// Guard decides about requests. Make one with New for each session; wrap every
// transport of the session with it.
type Guard struct {
	mode         state.Mode
	grant        Grant
	basePath     string
	cause        func() state.Cause
	writer       func(*http.Request) string
	local        Local
	recorder     state.Recorder
	onWrite      func(state.WriteFinished)
	before       func(context.Context, Pending) error
	lookup       func(state.Ref) runtime.Object
	diff         func(ref state.Ref, old, new map[string]any) []state.FieldChange
	trustsDryRun func(group string) bool
	readsAsUser  bool
	readsBefore  bool
	now          func() time.Time
	portForward  *state.Ref
	server       atomic.Pointer[string] // an origin; once set, it stays
	maxBody      int64
	kinds        map[schema.GroupVersionResource]schema.GroupVersionKind

	writes  atomic.Uint64
	mu      sync.Mutex
	repeats map[repeatKey]int
}

// New makes a guard. It fails for an unknown mode, for ModeActive without a
// grant (ErrNoGrant), and for one with the grant of another server.
func New(o Options) (*Guard, error) {
	switch o.Mode {
	case state.ModeReadOnly, state.ModeDryRunClient, state.ModeDryRunServer:
	case state.ModeActive:
		if o.Grant == nil || !o.Grant.valid() {
			return nil, ErrNoGrant
		}
	default:
		return nil, fmt.Errorf("make a guard: there is no mode %q", o.Mode)
	}
	server, err := o.origin()
	if err != nil {
		return nil, err
	}
	base := strings.TrimSuffix(o.BasePath, "/")
	if base != "" && base[0] != '/' {
		return nil, fmt.Errorf("make a guard: the base path %q does not begin with a slash", o.BasePath)
	}
	if pod := o.PortForward; pod != nil && (o.Mode != state.ModeReadOnly || pod.Namespace == "" || pod.Name == "") {
		return nil, fmt.Errorf("make a guard: ports are forwarded to one named pod of a session that only reads, not to %q in mode %s", pod.Key(), o.Mode)
	}
	if o.MaxBody < 0 {
		return nil, errors.New("make a guard: the bound on bodies is negative")
	}
	g := &Guard{
		mode: o.Mode, grant: o.Grant, basePath: base,
		cause: o.Cause, writer: o.Writer, local: o.Local, recorder: o.Recorder, onWrite: o.OnWrite, before: o.Before, lookup: o.Lookup, diff: o.Diff,
		trustsDryRun: o.TrustsDryRun, readsAsUser: o.ReadsAsUser, readsBefore: o.ReadsBefore, now: o.Now, maxBody: o.MaxBody,
		kinds: wire.Kinds(scheme.Scheme), repeats: map[repeatKey]int{},
	}
	if server != "" {
		g.server.Store(&server)
	}
	if o.PortForward != nil {
		pod := *o.PortForward
		g.portForward = &pod
	}
	if g.trustsDryRun == nil {
		g.trustsDryRun = request.BuiltinGroup
	}
	if g.now == nil {
		g.now = time.Now
	}
	if g.maxBody == 0 {
		g.maxBody = defaultMaxBody
	}
	return g, nil
}

// origin is that of the one server, or empty where the first request tells.
func (o Options) origin() (server string, err error) {
	if o.Server != "" {
		if server, err = parseServer(o.Server); err != nil {
			return "", err
		}
	}
	if o.Mode != state.ModeActive {
		return server, nil
	}
	granted := o.Grant.origin()
	if server != "" && server != granted {
		return "", fmt.Errorf("make a guard: active mode was granted for %s, not for %s", o.Grant, server)
	}
	return granted, nil
}

// Mode is what the guard was made with; it never changes.
func (g *Guard) Mode() state.Mode { return g.mode }

// Wrap puts the guard around a transport. It fits rest.Config.Wrap, which puts
// it inside the wrappers that add credentials and user agents: the guard sees
// requests as they leave.
func (g *Guard) Wrap(next http.RoundTripper) http.RoundTripper {
	return &transport{guard: g, next: next}
}

// classify takes the base path off and reads the request.
func (g *Guard) classify(req *http.Request) request.Request {
	if g.basePath == "" {
		return request.Classify(req.Method, req.URL, req.Header)
	}
	path, found := strings.CutPrefix(req.URL.Path, g.basePath)
	if !found || path != "" && path[0] != '/' {
		return request.Unknown(strings.ToLower(req.Method), "the path is not below that of the API server")
	}
	u := *req.URL
	u.Path = path
	if raw, found := strings.CutPrefix(u.RawPath, g.basePath); found {
		u.RawPath = raw // as clients spell it that escape colons
	}
	return request.Classify(req.Method, &u, req.Header)
}

// lookUp is Lookup with the kind filled in. An object of another version than
// asked for is none.
func (g *Guard) lookUp(ref state.Ref) (wire.Object, bool) {
	cached := g.cached(ref)
	if cached == nil {
		return nil, false
	}
	return g.contentOf(cached, ref)
}

// cached is what Lookup returns, nil without it.
func (g *Guard) cached(ref state.Ref) runtime.Object {
	if g.lookup == nil || ref.Name == "" {
		return nil
	}
	return g.lookup(ref)
}

// contentOf is a copy of an informer's object, with the kind filled in.
func (g *Guard) contentOf(cached runtime.Object, ref state.Ref) (wire.Object, bool) {
	o, err := runtime.DefaultUnstructuredConverter.ToUnstructured(cached)
	if err != nil {
		return nil, false
	}
	return g.withKind(o, ref)
}

// withKind gives o apiVersion and kind, which objects in informers lack.
func (g *Guard) withKind(o wire.Object, ref state.Ref) (wire.Object, bool) {
	version := schema.GroupVersion{Group: ref.Group, Version: ref.Version}.String()
	if v, _ := o["apiVersion"].(string); v != "" {
		return o, v == version
	}
	gvk, known := g.kinds[wire.GVR(ref)]
	if !known {
		return nil, false
	}
	o["apiVersion"], o["kind"] = gvk.ToAPIVersionAndKind()
	return o, true
}

// parentURL is the URL of the object that a subresource belongs to, without a
// query.
func parentURL(u *url.URL, r request.Request) *url.URL {
	parent := *u
	parent.RawQuery, parent.Fragment = "", ""
	if r.Subresource != "" {
		path := strings.TrimSuffix(parent.Path, "/")
		parent.Path = path[:strings.LastIndexByte(path, '/')]
	}
	return &parent
}
