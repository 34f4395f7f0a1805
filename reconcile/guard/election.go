package guard

import (
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A Gate is asked about each write of a session that an election allows to
// write, when everything else is decided and the write is about to leave.
type Gate interface {
	// Enter says that a write may leave now, and for how long it may be under
	// way; done is called once, when its answer is complete or is given up. The
	// error is half a sentence that follows a colon.
	Enter() (within time.Duration, done func(), err error)
	// Open says why a write that has entered may not be sent any more, if so, as
	// Enter does.
	Open() error
}

// Confirmation says that the user has named the context that is to be written
// to. The zero Confirmation confirms nothing.
type Confirmation struct{ context string }

// Confirm compares what the user typed with the name of the context. There is
// no other way to a Confirmation.
func Confirm(context, typed string) (Confirmation, error) {
	switch {
	case context == "":
		return Confirmation{}, errors.New("confirm active mode: the context has no name: choose one of the kubeconfig with --context")
	case typed == "":
		return Confirmation{}, fmt.Errorf("active mode writes to context %q for real: confirm it with --confirm=%s", context, context)
	case typed != context:
		return Confirmation{}, fmt.Errorf("--confirm=%s does not name the context, which is %q: check --context, then give its name", typed, context)
	}
	return Confirmation{context: context}, nil
}

// ElectionGrant is the permission to write to a cluster for real while a Gate
// is open. It comes from GrantElection; the zero ElectionGrant permits nothing.
type ElectionGrant struct {
	server  string
	context string
	gate    Gate
}

// GrantElection gives the permission to write to the server, an origin as in
// Options.Server, through the gate. It is for package election, whose gate is
// open while this process holds the lease of kube-controller-manager: a test
// over the source tree lets nobody else call it.
func GrantElection(server string, c Confirmation, gate Gate) (ElectionGrant, error) {
	origin, err := confirmed(server, c)
	if err != nil {
		return ElectionGrant{}, err
	}
	if gate == nil {
		return ElectionGrant{}, errors.New("grant active mode: there is no gate to close when the lease is lost")
	}
	return ElectionGrant{server: origin, context: c.context, gate: gate}, nil
}

// LeaseGrant is the permission to create and update one Lease and nothing else.
// An election needs it before it can be won: its own writes bypass the Gate by
// being those of another Guard, which lets nothing else out. It comes from
// GrantLease; the zero LeaseGrant permits nothing.
type LeaseGrant struct {
	server          string
	namespace, name string
}

// GrantLease gives it for the Lease by that name.
func GrantLease(server string, c Confirmation, namespace, name string) (LeaseGrant, error) {
	origin, err := confirmed(server, c)
	if err != nil {
		return LeaseGrant{}, err
	}
	if namespace == "" || name == "" {
		return LeaseGrant{}, fmt.Errorf("grant an election: %q is not a lease", namespace+"/"+name)
	}
	return LeaseGrant{server: origin, namespace: namespace, name: name}, nil
}

func confirmed(server string, c Confirmation) (origin string, err error) {
	u, err := url.Parse(server)
	switch {
	case err != nil:
		return "", fmt.Errorf("grant active mode on %q: %w", server, err)
	case u.Scheme != "https" || u.Hostname() == "":
		return "", fmt.Errorf("grant active mode on %q: not an https address", server)
	case c.context == "":
		return "", fmt.Errorf("grant active mode on %s: nobody has confirmed the context", u.Host)
	}
	return originOf(u.Scheme, u.Host), nil
}

func (g ElectionGrant) valid() bool    { return g.server != "" && g.context != "" && g.gate != nil }
func (g ElectionGrant) origin() string { return g.server }

// admits implements Grant: what may leave is the Gate's business.
func (g ElectionGrant) admits(*Guard, *http.Request, request.Request) string { return "" }

func (g ElectionGrant) door() Gate { return g.gate }

// String names context and server.
func (g ElectionGrant) String() string {
	if !g.valid() {
		return "no grant"
	}
	return fmt.Sprintf("context %s (%s)", g.context, g.server)
}

func (g LeaseGrant) valid() bool    { return g.server != "" && g.namespace != "" && g.name != "" }
func (g LeaseGrant) origin() string { return g.server }
func (g LeaseGrant) door() Gate     { return nil }

// admits implements Grant: exactly the writes by which an election is held.
func (g LeaseGrant) admits(guard *Guard, out *http.Request, r request.Request) string {
	want := state.Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: g.namespace}
	got := r.Object
	if r.Verb == "update" {
		want.Name = g.name
	} else if r.Verb == "create" && got.Name == "" {
		w := write{guard: guard, request: r, http: out}
		want.Name, got.Name = g.name, w.requestHead().Name
	}
	if want.Name == "" || got != want || r.Subresource != "" {
		return "this connection may write " + g.String() + " and nothing else"
	}
	return ""
}

// String names the lease and the server.
func (g LeaseGrant) String() string {
	if !g.valid() {
		return "no grant"
	}
	return fmt.Sprintf("the lease %s/%s (%s)", g.namespace, g.name, g.server)
}
