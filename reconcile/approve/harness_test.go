package approve

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// world is a gate in a real guard in front of a server in memory, which has one
// pod and says yes to everything.
type world struct {
	t      *testing.T
	gate   *Gate
	client *kubernetes.Clientset

	mu    sync.Mutex
	notes []string
	// journal is what the gate's entries add up to.
	journal *state.Snapshot
	// restating: what is recorded has been before.
	restating bool
	done      []state.WriteFinished
	sent      []string
	// pod is the resourceVersion of the pod shop/web-1.
	pod string
	// onRead is called before the pod is read.
	onRead func()
	now    time.Time
	// cause is what the next write is made for.
	cause state.Cause
	// writer is who makes it, where that is a program of the user's own.
	writer string
}

func newWorld(t *testing.T, o Options) *world {
	t.Helper()
	w := &world{t: t, pod: "7", now: time.Date(2026, 3, 4, 5, 6, 7, 0, time.UTC), cause: syncOf("replicaset-controller", "shop/web")}
	o.Recorder = state.RecorderFunc(w.record)
	o.Now = func() time.Time { w.mu.Lock(); defer w.mu.Unlock(); return w.now }
	w.gate = New(o)
	grant, err := guard.GrantSandbox("https://127.0.0.1:1", []byte("ca"), func([]byte) bool { return true })
	if err != nil {
		t.Fatal(err)
	}
	g, err := guard.New(guard.Options{
		Mode: state.ModeActive, Grant: grant, Recorder: state.RecorderFunc(w.record), Before: w.gate.Before,
		Writer: func(*http.Request) string { w.mu.Lock(); defer w.mu.Unlock(); return w.writer },
		Cause:  func() state.Cause { w.mu.Lock(); defer w.mu.Unlock(); return w.cause },
		Diff: func(ref state.Ref, old, new map[string]any) []state.FieldChange {
			return redact.Diff(ref, old, new, redact.DiffOptions{})
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: named{g.Wrap(w)}}
	if w.client, err = kubernetes.NewForConfigAndClient(&rest.Config{Host: "https://127.0.0.1:1", QPS: -1}, client); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(w.gate.Close)
	return w
}

func syncOf(controller, key string) state.Cause {
	return state.Cause{Kind: state.CauseSync, Controller: controller, Queue: strings.TrimSuffix(controller, "-controller"), Key: key, Sync: 1}
}

// named sends the user agent that client-go gives to clients without a transport
// of their own.
type named struct{ http.RoundTripper }

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", rest.DefaultKubernetesUserAgent())
	return n.RoundTripper.RoundTrip(req)
}

// as has the writes that follow be made for a cause.
func (w *world) as(c state.Cause) { w.mu.Lock(); defer w.mu.Unlock(); w.cause = c }

// asClient has the writes that follow be made by a program of the user's own.
func (w *world) asClient(name string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.cause, w.writer = state.Cause{Kind: state.CauseUnknown}, name
}

func (w *world) record(e state.Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := e.(type) {
	case state.WriteFinished:
		w.done = append(w.done, e)
		return
	}
	if !w.restating {
		w.notes = append(w.notes, state.DescribeParts(e).Text)
	}
	w.journal = state.Fold(w.journal, state.Entry{Seq: state.Fold(w.journal).Seq + 1, At: w.now, Event: e})
}

// RoundTrip is the server.
func (w *world) RoundTrip(req *http.Request) (*http.Response, error) {
	w.mu.Lock()
	onRead := w.onRead
	w.mu.Unlock()
	if onRead != nil && req.Method == http.MethodGet {
		onRead()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	code, answer := http.StatusOK, []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	switch {
	case req.Method == http.MethodGet:
		answer, _ = json.Marshal(&corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u", ResourceVersion: w.pod}})
	default:
		w.sent = append(w.sent, req.Method+" "+req.URL.Path)
		if req.Method == http.MethodPost {
			code = http.StatusCreated
			answer, _ = io.ReadAll(req.Body)
		}
	}
	return &http.Response{StatusCode: code, Request: req, Header: http.Header{"Content-Type": {req.Header.Get("Content-Type")}}, Body: io.NopCloser(bytes.NewReader(answer))}, nil
}

// Writes of the tests, each on a goroutine of its own as those of loops are.

func (w *world) start(write func(context.Context) error) <-chan error {
	return w.startWith(w.t.Context(), write)
}

func (w *world) startWith(ctx context.Context, write func(context.Context) error) <-chan error {
	done := make(chan error, 1)
	go func() { done <- write(ctx) }()
	return done
}

func (w *world) create(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.client.CoreV1().Pods("shop").Create(ctx, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		return err
	}
}

func (w *world) remove(name string) func(context.Context) error {
	return func(ctx context.Context) error {
		return w.client.CoreV1().Pods("shop").Delete(ctx, name, metav1.DeleteOptions{})
	}
}

func (w *world) event(about string) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := w.client.CoreV1().Events("shop").Create(ctx, &corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: about + ".1"},
			InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: "shop", Name: about},
		}, metav1.CreateOptions{})
		return err
	}
}

// asked waits until n writes stand at the gate.
func (w *world) asked(n int) []state.Question {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), time.Minute)
	defer cancel()
	for {
		changed := w.gate.Changed()
		if q := w.gate.Questions(); len(q) == n {
			w.tells(q)
			return q
		}
		select {
		case <-changed:
		case <-ctx.Done():
			w.t.Fatalf("not %d questions: %+v", n, w.gate.Questions())
		}
	}
}

// tells compares what the journal tells with the questions that there are, before and
// after it is stated again.
func (w *world) tells(asked []state.Question) {
	w.t.Helper()
	for _, when := range []string{"at first", "stated again"} {
		var told []string
		for q := range w.snapshot().Questions() {
			told = append(told, fmt.Sprint(q.ID, q.Braked))
		}
		var want []string
		for _, q := range asked {
			want = append(want, fmt.Sprint(q.ID, q.Braked))
		}
		if c := w.snapshot().Controls; !slices.Equal(told, want) || c.Approvals.Len() != len(w.gate.Grants()) || (c.Breaker != nil) != w.gate.Braked().On() {
			w.t.Errorf("%s: the journal tells of the questions %q, there are %q; %d approvals, breaker %+v", when, told, want, c.Approvals.Len(), c.Breaker)
		}
		w.restate()
	}
}

func (w *world) restate() {
	set := func(on bool) { w.mu.Lock(); defer w.mu.Unlock(); w.restating = on }
	set(true)
	defer set(false)
	w.gate.Restate()
}

func (w *world) snapshot() *state.Snapshot {
	w.mu.Lock()
	defer w.mu.Unlock()
	return state.Fold(w.journal)
}

func (w *world) answer(id int, a state.Answer) {
	w.t.Helper()
	if err := w.gate.Answer(id, a); err != nil {
		w.t.Fatal(err)
	}
}

// left are the writes that reached the server, and forgets them.
func (w *world) left() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	out := strings.Join(w.sent, "\n")
	w.sent = nil
	return strings.ReplaceAll(out, "/api/v1/namespaces/shop/", "")
}

func (w *world) said() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return strings.Join(w.notes, "\n")
}

func (w *world) last() state.WriteFinished {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.done[len(w.done)-1]
}

func (w *world) passes(write func(context.Context) error) {
	w.t.Helper()
	if err := write(w.t.Context()); err != nil {
		w.t.Errorf("not let out: %v", err)
	}
}

func (w *world) skips(write func(context.Context) error, why string) {
	w.t.Helper()
	if err := write(w.t.Context()); !Skipped(err) || !strings.Contains(err.Error(), why) {
		w.t.Errorf("got %v, want skipped: %s", err, why)
	}
}

// policyOf parses the rules and limits of a policy.
func policyOf(t *testing.T, rest string) *Policy {
	t.Helper()
	p, err := Parse("policy.yaml", []byte("apiVersion: "+APIVersion+"\nkind: "+Kind+"\n"+rest), knownController)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func knownController(name string) (string, error) {
	full := strings.TrimSuffix(name, "-controller") + "-controller"
	for _, known := range []string{"replicaset-controller", "deployment-controller", "namespace-controller"} {
		if full == known {
			return known, nil
		}
	}
	return "", errors.New("unknown controller " + name)
}
