package guard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/internal/faults"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
)

// gate is a guard.Gate that a test opens and shuts.
type gate struct {
	shut    atomic.Bool
	within  time.Duration
	entered atomic.Int32
	under   atomic.Int32
}

func (g *gate) Enter() (time.Duration, func(), error) {
	if g.shut.Load() {
		return 0, nil, errors.New("the lease is not held")
	}
	g.entered.Add(1)
	g.under.Add(1)
	return g.within, func() { g.under.Add(-1) }, nil
}

func (g *gate) Open() error {
	if g.shut.Load() {
		return errors.New("the lease is not held")
	}
	return nil
}

// never is a gate that is always open, whatever becomes of the lease.
type never struct{ *gate }

func (never) Enter() (time.Duration, func(), error) { return time.Hour, func() {}, nil }
func (never) Open() error                           { return nil }

// shutting is a gate, or where it is broken one that does not shut.
func shutting(door *gate, broken bool) guard.Gate {
	if broken {
		return never{door}
	}
	return door
}

func confirm(t *testing.T) guard.Confirmation {
	t.Helper()
	c, err := guard.Confirm("prod", "prod")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func elected(t *testing.T, gate guard.Gate, options ...func(*guard.Options)) *world {
	t.Helper()
	return newWorld(t, state.ModeActive, typeProtobuf, append(options, func(o *guard.Options) {
		grant, err := guard.GrantElection(o.Server, confirm(t), gate)
		if err != nil {
			t.Fatal(err)
		}
		o.Grant = grant
	})...)
}

// electedAt is a guard that writes to a server while a gate is open.
func electedAt(t *testing.T, server string, door guard.Gate) (*guard.Guard, *journal) {
	t.Helper()
	grant, err := guard.GrantElection(server, confirm(t), door)
	if err != nil {
		t.Fatal(err)
	}
	j := &journal{}
	g, err := guard.New(guard.Options{Mode: state.ModeActive, Grant: grant, Recorder: j})
	if err != nil {
		t.Fatal(err)
	}
	return g, j
}

// creation asks for a new pod.
func creation(ctx context.Context, t *testing.T, server string) *http.Request {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, server+"/api/v1/namespaces/shop/pods", strings.NewReader(`{"metadata":{"name":"web"}}`))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", typeJSON)
	return req
}

func TestConfirm(t *testing.T) {
	for _, c := range []struct{ context, typed, want string }{
		{"", "", "no name"},
		{"", "prod", "no name"},
		{"prod", "", "--confirm=prod"},
		{"prod", "Prod", `is "prod"`},
		{"prod", " prod", `is "prod"`},
		{"prod", "prod", ""},
	} {
		_, err := guard.Confirm(c.context, c.typed)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%q, %q: %v", c.context, c.typed, err)
		}
	}
}

// No grant comes about by leaving something out.
func TestGrantsAreNotMadeByAccident(t *testing.T) {
	sure, unsure := confirm(t), guard.Confirmation{}
	const server = "https://10.0.0.1:6443"
	for name, make := range map[string]func() (guard.Grant, error){
		"nobody confirmed":        func() (guard.Grant, error) { return guard.GrantElection(server, unsure, &gate{}) },
		"no gate":                 func() (guard.Grant, error) { return guard.GrantElection(server, sure, nil) },
		"no server":               func() (guard.Grant, error) { return guard.GrantElection("", sure, &gate{}) },
		"in the clear":            func() (guard.Grant, error) { return guard.GrantElection("http://10.0.0.1", sure, &gate{}) },
		"lease, nobody confirmed": func() (guard.Grant, error) { return guard.GrantLease(server, unsure, "kube-system", "l") },
		"lease without a name":    func() (guard.Grant, error) { return guard.GrantLease(server, sure, "kube-system", "") },
	} {
		grant, err := make()
		if err == nil {
			t.Errorf("%s: granted %s", name, grant)
		}
		if _, err := guard.New(guard.Options{Mode: state.ModeActive, Grant: grant}); !errors.Is(err, guard.ErrNoGrant) {
			t.Errorf("%s: the failed grant makes a guard: %v", name, err)
		}
	}
	if _, err := guard.New(guard.Options{Mode: state.ModeActive}); !errors.Is(err, guard.ErrNoGrant) {
		t.Errorf("no grant makes a guard: %v", err)
	}
	good, err := guard.GrantElection(server, sure, &gate{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := guard.New(guard.Options{Mode: state.ModeActive, Grant: good, Server: "https://10.0.0.2:6443"}); err == nil {
		t.Error("a grant for one server made a guard for another")
	}
}

// Every kind of write asks the gate, and none leaves while it is shut.
func TestGate(t *testing.T) {
	for _, broken := range []bool{false, true} {
		door := &gate{within: time.Minute}
		w := elected(t, shutting(door, broken))
		for _, s := range shapes() {
			w.populate(t)
			w.server.writes()
			door.shut.Store(false)
			before := door.entered.Load()
			if _, err := s.call(t.Context(), w); err != nil {
				t.Fatalf("%s: %v", s.name, err)
			}
			if !broken && door.entered.Load() != before+1 || len(w.server.writes()) != 1 {
				t.Errorf("%s: the gate was asked %d times", s.name, door.entered.Load()-before)
			}
			if n := door.under.Load(); n != 0 {
				t.Errorf("%s: %d writes are under way after the answer", s.name, n)
			}

			door.shut.Store(true)
			_, err := s.call(t.Context(), w)
			arrived := len(w.server.writes())
			if broken {
				if arrived != 1 {
					t.Errorf("%s: a gate that does not shut let out %d writes: the test below would not see it", s.name, arrived)
				}
				continue
			}
			if arrived != 0 || !guard.Refused(err) || !strings.Contains(err.Error(), "the lease is not held") {
				t.Errorf("%s: %d writes left a shut gate, %v", s.name, arrived, err)
			}
			if r := w.journal.last(t); r.Result != state.WriteRefused {
				t.Errorf("%s: recorded %+v", s.name, r)
			}
		}
	}
}

// A write that waited for a yes asks the gate after it.
func TestGateIsAskedAfterBefore(t *testing.T) {
	door := &gate{within: time.Minute}
	w := elected(t, door, func(o *guard.Options) {
		o.Before = func(context.Context, guard.Pending) error {
			door.shut.Store(true)
			return nil
		}
	})
	err := w.typed.CoreV1().Pods("shop").Delete(t.Context(), "web", metav1.DeleteOptions{})
	if !guard.Refused(err) || len(w.server.writes()) != 0 {
		t.Errorf("the write left: %v", err)
	}
}

// A write that waits for a connection while the gate shuts does not reach the server
// whole, by either version of the protocol.
func TestGateIsLookedAtOnceMoreBeforeTheBody(t *testing.T) {
	for _, c := range []struct{ http2, broken bool }{{false, false}, {true, false}, {false, true}, {true, true}} {
		var whole atomic.Int32
		api := httptest.NewUnstartedServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			if _, err := io.ReadAll(r.Body); err == nil {
				whole.Add(1)
			}
		}))
		api.EnableHTTP2 = c.http2
		api.StartTLS()
		defer api.Close()
		door := &gate{within: time.Minute}
		g, j := electedAt(t, api.URL, shutting(door, c.broken))
		through := api.Client().Transport.(*http.Transport)
		through.DialContext = func(ctx context.Context, network, address string) (net.Conn, error) {
			door.shut.Store(true)
			return (&net.Dialer{}).DialContext(ctx, network, address)
		}
		resp, err := g.Wrap(through).RoundTrip(creation(t.Context(), t, api.URL))
		if err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
		through.CloseIdleConnections()
		api.Close() // and what it has received is done
		if c.broken {
			if whole.Load() != 1 {
				t.Errorf("%+v: nothing arrived: the test cannot see what is missing", c)
			}
			continue
		}
		if r := j.last(t); whole.Load() != 0 || r.Result != state.WriteRefused || resp.StatusCode != http.StatusForbidden || door.under.Load() != 0 {
			t.Errorf("%+v: %d arrived whole, status %d, %d under way, recorded %+v", c, whole.Load(), resp.StatusCode, door.under.Load(), r)
		}
	}
}

// The deadline is counted from the send, and ends the wait for an answer.
func TestGateBoundsTheAnswer(t *testing.T) {
	door := &gate{within: 50 * time.Millisecond}
	w := elected(t, door, func(o *guard.Options) {
		o.Before = func(context.Context, guard.Pending) error { // longer than the deadline
			<-time.After(2 * door.within)
			return nil
		}
	})
	if err := w.typed.CoreV1().Pods("shop").Delete(t.Context(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatalf("the time before the send counted: %v", err)
	}
	hold := make(chan struct{})
	defer close(hold)
	w.server.mu.Lock()
	// Not until its context is done: that may be so before the writer is told, who takes
	// an answer that is there.
	w.server.onWrite = func(http.ResponseWriter, *http.Request) { <-hold }
	w.server.mu.Unlock()
	err := w.typed.CoreV1().Pods("shop").Delete(t.Context(), "web", metav1.DeleteOptions{})
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "whether it was carried out is not known") {
		t.Errorf("got %v", err)
	}
	if r := w.journal.last(t); r.Result != state.WriteFailed || door.under.Load() != 0 {
		t.Errorf("recorded %+v, %d under way", r, door.under.Load())
	}
}

// A write that was sent is under way until its answer is there, though its loop has
// been told to stop: the lease is not given back before. One that has no connection
// yet is given up at once.
func TestSentWritesGoToTheirEnd(t *testing.T) {
	for _, broken := range []bool{false, true} {
		door := &gate{within: time.Minute}
		w := elected(t, door)
		if broken {
			w.through(t, faults.AbandonWrites(w.guard.Wrap)(w.server.Client().Transport))
		}
		arrived, answer := make(chan struct{}), make(chan struct{})
		w.server.mu.Lock()
		w.server.onWrite = func(http.ResponseWriter, *http.Request) { close(arrived); <-answer }
		w.server.mu.Unlock()
		ctx, cancel := context.WithCancel(t.Context())
		ended := make(chan error)
		go func() {
			ended <- w.typed.CoreV1().Pods("shop").Delete(ctx, "web", metav1.DeleteOptions{})
		}()
		<-arrived
		cancel()
		if broken {
			<-ended
			close(answer)
			if door.under.Load() != 0 {
				t.Error("a write that was abandoned still counts: the test cannot see the difference")
			}
			continue
		}
		select {
		case err := <-ended:
			t.Errorf("given up under way: %v", err)
		default:
		}
		if n := door.under.Load(); n != 1 {
			t.Errorf("%d writes are under way, want 1", n)
		}
		close(answer)
		<-ended // client-go may say that its context has ended
		if r := w.journal.last(t); r.Result != state.WriteDone || door.under.Load() != 0 {
			t.Errorf("recorded %+v, %d under way", r, door.under.Load())
		}
	}
}

// A write that waits for a connection is given up with its writer.
func TestUnsentWritesAreGivenUp(t *testing.T) {
	door := &gate{within: time.Minute}
	const server = "https://127.0.0.1:1"
	g, _ := electedAt(t, server, door)
	dialling := make(chan struct{})
	through := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		close(dialling)
		<-ctx.Done()
		return nil, ctx.Err()
	}}
	ctx, cancel := context.WithCancel(t.Context())
	go func() { <-dialling; cancel() }()
	if _, err := g.Wrap(through).RoundTrip(creation(ctx, t, server)); !errors.Is(err, context.Canceled) || door.under.Load() != 0 {
		t.Errorf("%v, %d under way", err, door.under.Load())
	}
}

// A LeaseGrant lets out what holds an election, and nothing that looks like it.
func TestLeaseGrant(t *testing.T) {
	for _, contentType := range []string{typeJSON, typeProtobuf} {
		w := newWorld(t, state.ModeActive, contentType, func(o *guard.Options) {
			grant, err := guard.GrantLease(o.Server, confirm(t), "kube-system", "kcm")
			if err != nil {
				t.Fatal(err)
			}
			o.Grant = grant
		})
		lease := func(namespace, name string) *coordinationv1.Lease {
			return &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: coordinationv1.LeaseSpec{HolderIdentity: ptr.To("me")}}
		}
		leases, ctx := w.typed.CoordinationV1().Leases, t.Context()
		for name, c := range map[string]struct {
			call   func() error
			leaves bool
		}{
			"create": {func() error {
				_, err := leases("kube-system").Create(ctx, lease("kube-system", "kcm"), metav1.CreateOptions{})
				return err
			}, true},
			"update": {func() error {
				_, err := leases("kube-system").Update(ctx, lease("kube-system", "kcm"), metav1.UpdateOptions{})
				return err
			}, true},
			"create another": {func() error {
				_, err := leases("kube-system").Create(ctx, lease("kube-system", "ks"), metav1.CreateOptions{})
				return err
			}, false},
			"create a generated name": {func() error {
				l := lease("kube-system", "")
				l.GenerateName = "kcm"
				_, err := leases("kube-system").Create(ctx, l, metav1.CreateOptions{})
				return err
			}, false},
			"update another": {func() error {
				_, err := leases("kube-system").Update(ctx, lease("kube-system", "ks"), metav1.UpdateOptions{})
				return err
			}, false},
			"another namespace": {func() error {
				_, err := leases("shop").Update(ctx, lease("shop", "kcm"), metav1.UpdateOptions{})
				return err
			}, false},
			"delete": {func() error { return leases("kube-system").Delete(ctx, "kcm", metav1.DeleteOptions{}) }, false},
			"delete all": {func() error {
				return leases("kube-system").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
			}, false},
			"patch": {func() error {
				_, err := leases("kube-system").Patch(ctx, "kcm", "application/merge-patch+json", []byte("{}"), metav1.PatchOptions{})
				return err
			}, false},
			"a pod of that name": {func() error {
				_, err := w.typed.CoreV1().Pods("kube-system").Update(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "kcm"}}, metav1.UpdateOptions{})
				return err
			}, false},
		} {
			err := c.call()
			if n := len(w.server.writes()); (n == 1) != c.leaves || c.leaves && err != nil || !c.leaves && !guard.Refused(err) {
				t.Errorf("%s: %d left, %v", name, n, err)
			}
		}
	}
}
