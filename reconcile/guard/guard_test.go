package guard_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"

	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestNew(t *testing.T) {
	for _, test := range []struct {
		name string
		o    guard.Options
		want error
	}{
		{"no mode", guard.Options{}, nil},
		{"another mode", guard.Options{Mode: "dry-run"}, nil},
		{"active without a grant", guard.Options{Mode: state.ModeActive}, guard.ErrNoGrant},
		{"active with a grant of nothing", guard.Options{Mode: state.ModeActive, Grant: guard.SandboxGrant{}}, guard.ErrNoGrant},
		{"a relative base path", guard.Options{Mode: state.ModeReadOnly, BasePath: "k8s"}, nil},
	} {
		if g, err := guard.New(test.o); err == nil || g != nil || test.want != nil && !errors.Is(err, test.want) {
			t.Errorf("%s: %v", test.name, err)
		}
	}
	g, err := guard.New(guard.Options{Mode: state.ModeDryRunServer})
	if err != nil || g.Mode() != state.ModeDryRunServer {
		t.Errorf("%v", err)
	}
}

func TestGrantSandbox(t *testing.T) {
	yes, no := func([]byte) bool { return true }, func([]byte) bool { return false }
	for _, test := range []struct {
		name, url string
		ca        []byte
		recognise func([]byte) bool
	}{
		{"not recognised", "https://127.0.0.1:1", []byte("ca"), no},
		{"nobody to recognise it", "https://127.0.0.1:1", []byte("ca"), nil},
		{"no authority", "https://127.0.0.1:1", nil, yes},
		{"no TLS", "http://127.0.0.1:1", []byte("ca"), yes},
		{"no server", "sandbox", []byte("ca"), yes},
	} {
		grant, err := guard.GrantSandbox(test.url, test.ca, test.recognise)
		if err == nil || grant != (guard.SandboxGrant{}) {
			t.Errorf("%s: granted %s", test.name, grant)
		}
	}
	if grant, err := guard.GrantSandbox("https://127.0.0.1:1", []byte("ca"), yes); err != nil || !strings.Contains(grant.String(), "127.0.0.1:1") {
		t.Errorf("%s, %v", grant, err)
	}
}

// A guard for one sandbox does not write to another server.
func TestGrantIsForOneServer(t *testing.T) {
	other := newServer(t)
	w := newWorld(t, state.ModeActive, "", func(o *guard.Options) { o.Grant, o.Server = other.grant(t), "" })
	err := w.typed.CoreV1().Pods("shop").Delete(context.Background(), "web", metav1.DeleteOptions{})
	if !guard.Refused(err) || len(w.server.writes()) != 0 || w.journal.last(t).Result != state.WriteRefused {
		t.Errorf("%v, recorded %+v", err, w.journal.last(t))
	}
}

func TestRefusalExplains(t *testing.T) {
	w := newWorld(t, state.ModeReadOnly, typeProtobuf)
	_, err := w.typed.CoreV1().Pods("shop").Create(context.Background(), pod(), metav1.CreateOptions{})
	if want := "guard (read-only) refused to create pods shop/: this session only reads"; err == nil || err.Error() != want {
		t.Errorf("got %v, want %s", err, want)
	}
	if got := w.journal.last(t); got.Object.String() != "pods shop/web" || got.Message != "this session only reads" || got.Status != http.StatusForbidden {
		t.Errorf("recorded %+v", got)
	}
}

// Ways into a pod are refused in every mode, also as GET; they are noted, and
// are no writes.
func TestConnectIsRefused(t *testing.T) {
	for _, mode := range allModes {
		w := newWorld(t, mode, "")
		for _, path := range []string{podPath + "/exec?command=sh", "/api/v1/nodes/n/proxy/run", "/debug/pprof/heap"} {
			if code, body := w.do(t, "GET", path, nil, nil); code != http.StatusForbidden {
				t.Errorf("%s: GET %s: %d %s", mode, path, code, body)
			}
		}
		if code, _ := w.do(t, "GET", podPath, http.Header{"Upgrade": {"websocket"}}, nil); code != http.StatusForbidden {
			t.Errorf("%s: an upgrade got %d", mode, code)
		}
		if len(w.server.arrivals) != 0 || len(w.journal.writes()) != 0 || len(w.journal.events) != 4 {
			t.Errorf("%s: %d arrived, recorded %+v", mode, len(w.server.arrivals), w.journal.events)
		}
		if code, _ := w.do(t, "POST", podPath+"/exec", nil, nil); code != http.StatusForbidden || w.journal.last(t).Result != state.WriteRefused {
			t.Errorf("%s: POST exec got %d", mode, code)
		}
	}
}

func TestReadsAndReviewsPass(t *testing.T) {
	for _, mode := range allModes {
		w := newWorld(t, mode, typeProtobuf)
		w.populate(t)
		ctx := context.Background()
		if _, err := w.typed.CoreV1().Pods("shop").Get(ctx, "web", metav1.GetOptions{}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		sar := &authorizationv1.SelfSubjectAccessReview{Spec: authorizationv1.SelfSubjectAccessReviewSpec{ResourceAttributes: &authorizationv1.ResourceAttributes{Verb: "list"}}}
		if _, err := w.typed.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, sar, metav1.CreateOptions{}); err != nil {
			t.Errorf("%s: %v", mode, err)
		}
		if arrived := w.server.writes(); len(arrived) != 1 || len(arrived[0].Query) != 0 || len(w.journal.events) != 0 {
			t.Errorf("%s: arrived %+v, recorded %+v", mode, arrived, w.journal.events)
		}
	}
}

// Below a base path, everything is read as if it were at the root; beside it,
// nothing passes.
func TestBasePath(t *testing.T) {
	w := newWorld(t, state.ModeDryRunServer, "", func(o *guard.Options) { o.BasePath = "/k8s/clusters/c-1/" })
	if code, body := w.do(t, "DELETE", "/k8s/clusters/c-1"+podPath, nil, nil); code != http.StatusOK {
		t.Errorf("%d %s", code, body)
	}
	if got := w.journal.last(t); got.Object.String() != "pods shop/web" {
		t.Errorf("recorded %+v", got)
	}
	w.server.serve("/k8s/clusters/c-1/apis/rbac.authorization.k8s.io/v1/clusterroles/system:node", "{}")
	if code, body := w.do(t, "GET", "/k8s/clusters/c-1/apis/rbac.authorization.k8s.io/v1/clusterroles/system%3Anode", nil, nil); code != http.StatusOK {
		t.Errorf("an escaped colon: %d %s", code, body)
	}
	for _, path := range []string{"/k8s/clusters/c-1/api/v1/namespaces/a%2Fb/pods", "/k8s/clusters/c-1/api/v1/nodes/n%2Fproxy", "/k8s/clusters/c-1/api/v1/nodes/n/proxy", "/k8s/clusters/c-10/api/v1/pods", "/api/v1/pods"} {
		if code, _ := w.do(t, "GET", path, nil, nil); code != http.StatusForbidden {
			t.Errorf("GET %s: %d", path, code)
		}
	}
	if arrived := w.server.writes(); len(arrived) != 1 || arrived[0].Path != "/k8s/clusters/c-1"+podPath {
		t.Errorf("arrived %+v", arrived)
	}
}

// net/http sends a request again, with what GetBody returns, when a connection
// that it took from its pool turns out to be closed. What it sends must be the
// dry run, not the original.
func TestRepeatedRequestIsStillDry(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	bodies := make(chan string, 4)
	failed := make(chan error, 1)
	go func() {
		// The first connection answers one request, reads half of a second and
		// is closed; the next one gets that request again.
		failed <- func() error {
			for _, answers := range []int{1, 1} {
				conn, err := listener.Accept()
				if err != nil {
					return err
				}
				reader := bufio.NewReader(conn)
				for range answers {
					req, err := http.ReadRequest(reader)
					if err != nil {
						return err
					}
					body, err := io.ReadAll(req.Body)
					if err != nil {
						return err
					}
					bodies <- req.Method + " " + string(body)
					if _, err := fmt.Fprint(conn, "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}"); err != nil {
						return err
					}
				}
				if _, err := reader.Peek(1); err != nil && !errors.Is(err, io.EOF) {
					return err
				}
				if err := conn.Close(); err != nil {
					return err
				}
			}
			return nil
		}()
	}()

	g, err := guard.New(guard.Options{Mode: state.ModeDryRunServer})
	if err != nil {
		t.Fatal(err)
	}
	inner := &http.Transport{MaxIdleConnsPerHost: 1}
	client := g.Wrap(inner)
	send := func(method, path, body string) {
		t.Helper()
		req, err := http.NewRequest(method, "http://"+listener.Addr().String()+path, bytes.NewReader([]byte(body)))
		if err != nil {
			t.Fatal(err)
		}
		// Only what may be sent twice is.
		req.Header.Set("Idempotency-Key", "1")
		resp, err := client.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, resp.Body); err != nil {
			t.Fatal(err)
		}
		_ = resp.Body.Close()
	}
	send("GET", podPath, "")
	send("DELETE", podPath, `{"gracePeriodSeconds":0}`)
	inner.CloseIdleConnections()
	if err := <-failed; err != nil {
		t.Fatal(err)
	}
	close(bodies)
	var got []string
	for b := range bodies {
		got = append(got, b)
	}
	if len(got) != 2 || got[1] != `DELETE {"dryRun":["All"],"gracePeriodSeconds":0}` {
		t.Errorf("arrived %q", got)
	}
}

func TestTooLarge(t *testing.T) {
	for _, mode := range []state.Mode{state.ModeDryRunClient, state.ModeDryRunServer} {
		w := newWorld(t, mode, "", func(o *guard.Options) { o.MaxBody = 16 })
		if code, body := w.do(t, "DELETE", podPath, nil, []byte(`{"gracePeriodSeconds":          0}`)); code != http.StatusRequestEntityTooLarge {
			t.Errorf("%s: %d %s", mode, code, body)
		}
	}
}

// A cancelled request is not answered as if it had been made.
func TestCancelled(t *testing.T) {
	w := newWorld(t, state.ModeDryRunClient, "")
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err := w.dynamic.Resource(pods).Namespace("shop").Create(ctx, widget(), metav1.CreateOptions{})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestBuiltinGroups(t *testing.T) {
	for _, gv := range scheme.Scheme.PrioritizedVersionsAllGroups() {
		if !request.BuiltinGroup(gv.Group) {
			t.Errorf("%s is in client-go's scheme and not in the guard's list", gv.Group)
		}
	}
	for _, group := range []string{"example.com", "metrics.k8s.io", "custom.metrics.k8s.io", "snapshot.storage.k8s.io"} {
		if request.BuiltinGroup(group) {
			t.Errorf("%s passes for built in", group)
		}
	}
}
