package guard_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func withDiff(o *guard.Options) {
	o.Diff = func(ref state.Ref, old, new map[string]any) []state.FieldChange {
		return redact.Diff(ref, old, new, redact.DiffOptions{})
	}
}

func TestRecordOfActiveWrite(t *testing.T) {
	cause := state.Cause{Kind: state.CauseSync, Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Sync: 9}
	clock := time.Unix(0, 0)
	var told []state.WriteFinished
	for _, contentType := range []string{typeJSON, typeProtobuf} {
		var w *world
		w = newWorld(t, state.ModeActive, contentType, fromCache, withDiff, func(o *guard.Options) {
			o.Cause = func() state.Cause { return cause }
			o.Now = func() time.Time { clock = clock.Add(time.Second); return clock }
			o.OnWrite = func(f state.WriteFinished) {
				if f.Write != w.journal.last(t).Write {
					t.Error("OnWrite was called before Record")
				}
				told = append(told, f)
			}
		})
		d := deployment()
		d.Spec.Replicas, d.ResourceVersion = ptr.To[int32](5), "8"
		got, err := w.typed.AppsV1().Deployments("shop").Update(context.Background(), d, metav1.UpdateOptions{})
		if err != nil || *got.Spec.Replicas != 5 {
			t.Fatalf("the answer did not get through: %+v, %v", got, err)
		}
		r := w.journal.last(t)
		if r.Write != 1 || r.Controller != "tester" || r.Cause != cause || r.Object.UID != "u-deployment" || r.ResourceVersion != "8" ||
			r.Status != http.StatusOK || r.Duration != time.Second || r.Approximate {
			t.Errorf("recorded %+v", r)
		}
		if want := (state.FieldChange{Path: "spec.replicas", Old: "3", New: "5"}); len(r.Diff) != 1 || r.Diff[0] != want {
			t.Errorf("diff %+v", r.Diff)
		}

		p := pod()
		p.Name, p.GenerateName, p.UID = "web-x", "web-", "u-new"
		if _, err := w.typed.CoreV1().Pods("shop").Create(context.Background(), p, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		if r := w.journal.last(t); r.Write != 2 || r.Object.Name != "web-x" || r.Object.UID != "u-new" || r.ResourceVersion != "5" || r.Repeat != 0 {
			t.Errorf("recorded %+v", r)
		}
		if err := w.typed.CoreV1().Pods("shop").Delete(context.Background(), "web", metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
		if r := w.journal.last(t); r.Object.UID != "u-deleted" || r.ResourceVersion != "" {
			t.Errorf("recorded %+v", r)
		}
	}
	if len(told) != 6 {
		t.Errorf("OnWrite was called %d times", len(told))
	}
}

// The writer is who the user agent names, else who the goroutine belongs to.
func TestController(t *testing.T) {
	for agent, want := range map[string]string{
		"kctl-ctrl/kube-scheduler":            "kube-scheduler",
		"kctl-ctrl/replicaset-controller/x y": "replicaset-controller",
		"kctl-ctrl":                           "labelled",
		"kubectl/v1.37":                       "labelled",
	} {
		w := newWorld(t, state.ModeDryRunClient, "", func(o *guard.Options) {
			o.Cause = func() state.Cause { return state.Cause{Kind: state.CauseTimer, Controller: "labelled"} }
		})
		w.do(t, "POST", "/api/v1/namespaces/shop/configmaps", http.Header{"User-Agent": {agent}}, []byte(`{"metadata":{"name":"c"}}`))
		if r := w.journal.last(t); r.Controller != want {
			t.Errorf("%s: %s", agent, r.Controller)
		}
	}
}

// An Event is written by the broadcaster: its goroutine's cause is not the
// Event's, the object it is about is.
func TestCauseOfEvents(t *testing.T) {
	for i, mode := range append(allModes, state.ModeActive) {
		w := newWorld(t, mode, typeProtobuf, func(o *guard.Options) {
			o.Cause = func() state.Cause { return state.Cause{Kind: state.CauseSync, Key: "shop/other"} }
		})
		if i == len(allModes) {
			w.onWrite = func(rw http.ResponseWriter, _ *http.Request) { rw.WriteHeader(http.StatusForbidden) }
		}
		_, _ = w.typed.CoreV1().Events("shop").CreateWithEventNamespaceWithContext(context.Background(), event())
		r := w.journal.last(t)
		want := state.Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web", UID: "u-deployment"}
		if r.Cause.Kind != state.CauseUnknown || r.Cause.Key != "" || r.Cause.Object == nil || *r.Cause.Object != want || r.Object.String() != "events shop/web.1" {
			t.Errorf("%s: recorded %+v about %+v", mode, r, r.Cause.Object)
		}
	}
	w := newWorld(t, state.ModeDryRunClient, "")
	w.do(t, "POST", "/apis/events.k8s.io/v1/namespaces/shop/events", nil,
		[]byte(`{"metadata":{"name":"e"},"reportingController":"job-controller","regarding":{"kind":"Job","apiVersion":"batch/v1","name":"j"}}`))
	if r := w.journal.last(t); r.Controller != "job-controller" || r.Cause.Object.Type() != "jobs.batch" {
		t.Errorf("recorded %+v", r)
	}
}

// Identical dry-run writes of one key count up; another key starts anew.
func TestRepeat(t *testing.T) {
	key := "shop/web"
	w := newWorld(t, state.ModeDryRunServer, typeProtobuf, func(o *guard.Options) {
		o.Cause = func() state.Cause { return state.Cause{Kind: state.CauseSync, Controller: "c", Queue: "q", Key: key} }
	})
	write := func() int {
		t.Helper()
		if _, err := w.typed.AppsV1().Deployments("shop").Update(context.Background(), deployment(), metav1.UpdateOptions{}); err != nil {
			t.Fatal(err)
		}
		return w.journal.last(t).Repeat
	}
	if a, b := write(), write(); a != 0 || b != 1 {
		t.Errorf("repeats %d, %d", a, b)
	}
	key = "shop/other"
	if a := write(); a != 0 {
		t.Errorf("repeat of another key: %d", a)
	}
}

const canary = "canary-5up3r53cr3t"

// No value of a Secret enters the journal, in no mode, whatever the answer. The
// diff sees Secrets and is told so; it is the one that redacts.
func TestSecretsStayOut(t *testing.T) {
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Name: "s", Namespace: "shop", ResourceVersion: "1", UID: "u-secret"},
		Data:       map[string][]byte{"k": []byte(canary)}, StringData: map[string]string{"k": canary},
	}
	const path = "/api/v1/namespaces/shop/secrets/s"
	for _, mode := range allModes {
		for _, contentType := range []string{typeJSON, typeProtobuf} {
			for _, fails := range []bool{false, true} {
				diffed := 0
				w := newWorld(t, mode, contentType, func(o *guard.Options) {
					o.Diff = func(ref state.Ref, old, new map[string]any) []state.FieldChange {
						if ref.Type() != "secrets" {
							t.Errorf("diff of %s", ref)
						}
						diffed++
						return redact.Diff(ref, old, new, redact.DiffOptions{})
					}
					o.Lookup = func(state.Ref) runtime.Object { return secret }
				})
				w.serve(path, asJSON(t, "v1", "Secret", secret))
				if fails {
					w.onWrite = func(rw http.ResponseWriter, _ *http.Request) {
						rw.Header().Set("Content-Type", typeJSON)
						rw.WriteHeader(http.StatusUnprocessableEntity)
						_, _ = fmt.Fprintf(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Invalid","code":422,"message":"patch: Invalid value: %s"}`, canary)
					}
				}
				ctx, secrets := context.Background(), w.typed.CoreV1().Secrets("shop")
				_, _ = secrets.Create(ctx, secret, metav1.CreateOptions{})
				_, _ = secrets.Update(ctx, secret, metav1.UpdateOptions{})
				for _, patch := range []string{`{"stringData":{"k":"` + canary + `"}}`, `{"data":"` + canary + `"}`, `{` + canary, `[{"op":"test","path":"/data/k","value":"` + canary + `"}]`} {
					for _, pt := range []types.PatchType{types.MergePatchType, types.StrategicMergePatchType, types.JSONPatchType} {
						_, _ = secrets.Patch(ctx, "s", pt, []byte(patch), metav1.PatchOptions{})
					}
				}
				_ = secrets.Delete(ctx, "s", metav1.DeleteOptions{})
				w.do(t, "PATCH", path, http.Header{"Content-Type": {canary}}, []byte(`{}`))
				w.do(t, "PUT", path, http.Header{"Content-Type": {typeJSON}}, []byte(`{"data":`+canary))
				if len(w.journal.writes()) != 17 {
					t.Errorf("%s: recorded %d writes", mode, len(w.journal.writes()))
				}
				for _, r := range w.journal.writes() {
					text := fmt.Sprintf("%+v", r)
					for _, form := range []string{canary, base64.StdEncoding.EncodeToString([]byte(canary))} {
						if strings.Contains(text, form) {
							t.Errorf("%s, %s, fails %v: recorded %s", mode, contentType, fails, text)
						}
					}
				}
				if diffed == 0 && !fails && mode != state.ModeReadOnly {
					t.Errorf("%s: the diff was not asked", mode)
				}
			}
		}
	}
}

func TestFailuresAreRecorded(t *testing.T) {
	w := newWorld(t, state.ModeActive, typeProtobuf)
	w.onWrite = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", typeJSON)
		rw.WriteHeader(http.StatusConflict)
		_, _ = fmt.Fprintf(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Conflict","code":409,"message":"%s"}`, strings.Repeat("é", 2000))
	}
	_, err := w.typed.CoreV1().Pods("shop").Create(context.Background(), pod(), metav1.CreateOptions{})
	r := w.journal.last(t)
	if !apierrors.IsConflict(err) || r.Result != state.WriteFailed || r.Status != http.StatusConflict || r.Object.Name != "web" || len(r.Message) > 1100 || !strings.HasPrefix(r.Message, "éé") {
		t.Errorf("%v, recorded %+v", err, r)
	}
	w.server.Close()
	if _, err = w.typed.CoreV1().Pods("shop").Create(context.Background(), pod(), metav1.CreateOptions{}); err == nil {
		t.Fatal("a closed server answered")
	}
	if r := w.journal.last(t); r.Result != state.WriteFailed || r.Status != 0 || r.Message == "" {
		t.Errorf("recorded %+v", r)
	}
}

// A response that breaks off reaches the client as it came.
func TestBrokenResponse(t *testing.T) {
	broken := errors.New("connection reset")
	inner := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: 200, Header: http.Header{}, Body: io.NopCloser(io.MultiReader(strings.NewReader("half"), failingReader{broken}))}, nil
	})
	j := &journal{}
	g, err := guard.New(guard.Options{Mode: state.ModeDryRunServer, Recorder: j})
	if err != nil {
		t.Fatal(err)
	}
	req, err := http.NewRequest("POST", "https://h/api/v1/namespaces", strings.NewReader(`{"metadata":{"name":"n"}}`))
	if err != nil {
		t.Fatal(err)
	}
	resp, err := g.Wrap(inner).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	got, err := io.ReadAll(resp.Body)
	if string(got) != "half" || !errors.Is(err, broken) || resp.Request != req {
		t.Errorf("%q, %v", got, err)
	}
	if r := j.last(t); r.Result != state.WriteFailed || r.Message != broken.Error() || r.Object.Name != "n" {
		t.Errorf("recorded %+v", r)
	}
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

type failingReader struct{ err error }

func (f failingReader) Read([]byte) (int, error) { return 0, f.err }

// A token goes to who asked for it, and nowhere else.
func TestActiveTokenIsNotRecorded(t *testing.T) {
	w := newWorld(t, state.ModeActive, typeJSON, withDiff)
	w.onWrite = func(rw http.ResponseWriter, _ *http.Request) {
		rw.Header().Set("Content-Type", typeJSON)
		_, _ = fmt.Fprintf(rw, `{"kind":"TokenRequest","apiVersion":"authentication.k8s.io/v1","metadata":{"name":"default"},"status":{"token":"%s"}}`, canary)
	}
	got, err := w.typed.CoreV1().ServiceAccounts("shop").CreateToken(context.Background(), "default", tokenRequest(), metav1.CreateOptions{})
	if err != nil || got.Status.Token != canary {
		t.Fatalf("%+v, %v", got, err)
	}
	if r := w.journal.last(t); strings.Contains(fmt.Sprintf("%+v", r), canary) || r.Subresource != "token" || r.Object.Key() != "shop/default" {
		t.Errorf("recorded %+v", r)
	}
}
