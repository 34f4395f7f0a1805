package guard_test

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func aboutWeb() corev1.ObjectReference {
	return corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "u-deployment"}
}

// What an Event says is in the record of its write, in whichever mode, encoding and
// API group it is written.
func TestRecordOfAnEventTells(t *testing.T) {
	core := func(w *world) error {
		_, err := w.typed.CoreV1().Events("shop").Create(context.Background(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "web.1", Namespace: "shop"}, InvolvedObject: aboutWeb(),
			Type: "Warning", Reason: "FailedCreate", Message: "exceeded quota", Count: 3,
		}, metav1.CreateOptions{})
		return err
	}
	newer := func(w *world) error {
		_, err := w.typed.EventsV1().Events("shop").Create(context.Background(), &eventsv1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "web.1", Namespace: "shop"}, Regarding: aboutWeb(), ReportingController: "tester",
			Type: "Warning", Reason: "FailedCreate", Note: "exceeded quota", Series: &eventsv1.EventSeries{Count: 3},
		}, metav1.CreateOptions{})
		return err
	}
	want := state.EventText{Type: "Warning", Reason: "FailedCreate", Message: "exceeded quota", Count: 3}
	for _, mode := range allModes {
		for _, contentType := range []string{typeJSON, typeProtobuf} {
			for group, write := range map[string]func(*world) error{"core": core, "events.k8s.io": newer} {
				t.Run(string(mode)+"/"+contentType[12:]+"/"+group, func(t *testing.T) {
					w := newWorld(t, mode, contentType)
					if err := write(w); (err == nil) == (mode == state.ModeReadOnly) {
						t.Fatal(err)
					}
					r := w.journal.last(t)
					if r.Tells == nil || *r.Tells != want {
						t.Errorf("it tells %+v", r.Tells)
					}
					if about, ok := r.About(); !ok || about.String() != "deployments.apps shop/web" || about.UID != "u-deployment" {
						t.Errorf("about %+v, %v", about, ok)
					}
				})
			}
		}
	}
}

// A patch says little of its Event: what the server answers says it all.
func TestRecordOfAPatchedEventTells(t *testing.T) {
	const path = "/api/v1/namespaces/shop/events/web.1"
	for _, mode := range []state.Mode{state.ModeActive, state.ModeDryRunServer, state.ModeDryRunClient} {
		w := newWorld(t, mode, "")
		w.server.serve(path, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"web.1","namespace":"shop","uid":"u"},"type":"Normal","reason":"Scaled","message":"to 3",
			"involvedObject":{"apiVersion":"apps/v1","kind":"Deployment","namespace":"shop","name":"web"}}`)
		header := http.Header{"Content-Type": {string(types.MergePatchType)}}
		if code, body := w.do(t, http.MethodPatch, path, header, []byte(`{"lastTimestamp":null}`)); code != http.StatusOK {
			t.Fatalf("%s: %d %s", mode, code, body)
		}
		if r := w.journal.last(t); r.Tells == nil || *r.Tells != (state.EventText{Type: "Normal", Reason: "Scaled", Message: "to 3"}) {
			t.Errorf("%s: it tells %+v", mode, r.Tells)
		}
	}
}

// What is long is cut, and what is said of a Secret withheld.
func TestRecordOfAnEventIsBounded(t *testing.T) {
	w := newWorld(t, state.ModeDryRunClient, typeProtobuf)
	long := strings.Repeat("ä", 2000)
	about := aboutWeb()
	create := func() state.EventText {
		t.Helper()
		if _, err := w.typed.CoreV1().Events("shop").Create(context.Background(), &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "shop"}, InvolvedObject: about, Type: long, Reason: long, Message: long,
		}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
		r := w.journal.last(t)
		if r.Tells == nil {
			t.Fatalf("it tells nothing: %+v", r)
		}
		return *r.Tells
	}
	if got := create(); len(got.Type) > 140 || len(got.Reason) > 140 || len(got.Message) > 1030 || !strings.HasPrefix(got.Message, "ää") || !strings.HasSuffix(got.Message, "ä…") {
		t.Errorf("it tells %+v", got)
	}
	about = corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "token"}
	if got := create(); strings.Contains(got.Message, "ä") || !strings.Contains(got.Message, "withheld") || !strings.HasPrefix(got.Reason, "ä") {
		t.Errorf("it tells %+v", got)
	}
}

// Other writes tell nothing, whatever fields their objects have.
func TestRecordOfOtherWritesTellsNothing(t *testing.T) {
	w := newWorld(t, state.ModeDryRunClient, "")
	body := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w"},"type":"Warning","reason":"r","message":"m","involvedObject":{"kind":"Pod","apiVersion":"v1","name":"p"}}`
	for _, path := range []string{"/apis/example.com/v1/namespaces/shop/widgets", "/apis/example.com/v1/namespaces/shop/events"} {
		if code, answered := w.do(t, http.MethodPost, path, http.Header{"Content-Type": {typeJSON}}, []byte(body)); code != http.StatusCreated {
			t.Fatalf("%d %s", code, answered)
		}
		if r := w.journal.last(t); r.Tells != nil {
			t.Errorf("%s tells %+v", path, r.Tells)
		}
	}
	if code, _ := w.do(t, http.MethodPost, "/api/v1/namespaces/shop/events", http.Header{"Content-Type": {typeJSON}}, []byte(`{"metadata":{"name":"e"}}`)); code != http.StatusCreated {
		t.Fatal(code)
	}
	if r := w.journal.last(t); r.Tells != nil {
		t.Errorf("an empty Event tells %+v", r.Tells)
	}
}

// What is withheld of an Event about a Secret is in no part of the record of its
// write: not in the fields that it sets or changes either.
func TestRecordOfAnEventAboutASecret(t *testing.T) {
	const path, quoted = "/api/v1/namespaces/shop/events/db.1", "password=hunter2"
	for _, mode := range []state.Mode{state.ModeActive, state.ModeDryRunServer, state.ModeDryRunClient} {
		for _, contentType := range []string{typeJSON, typeProtobuf} {
			about := corev1.ObjectReference{APIVersion: "v1", Kind: "Secret", Namespace: "shop", Name: "db"}
			was := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "db.1", Namespace: "shop", UID: "u", ResourceVersion: "7"}, InvolvedObject: about, Reason: "Bad", Message: quoted}
			w := newWorld(t, mode, contentType, func(o *guard.Options) {
				o.Diff = func(ref state.Ref, old, new map[string]any) []state.FieldChange {
					return redact.Diff(ref, old, new, redact.DiffOptions{})
				}
				o.Lookup = func(ref state.Ref) runtime.Object {
					if ref.Name == was.Name && ref.Resource == "events" {
						return was
					}
					return nil
				}
			})
			event := &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "db.1", Namespace: "shop"}, InvolvedObject: about, Reason: "Bad", Message: quoted}
			if _, err := w.typed.CoreV1().Events("shop").Create(context.Background(), event, metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			records := []state.WriteFinished{w.journal.last(t)}
			w.server.serve(path, `{"apiVersion":"v1","kind":"Event","metadata":{"name":"db.1","namespace":"shop","uid":"u","resourceVersion":"7"},"reason":"Bad","message":"`+quoted+`",
				"involvedObject":{"apiVersion":"v1","kind":"Secret","namespace":"shop","name":"db"}}`)
			header := http.Header{"Content-Type": {string(types.MergePatchType)}}
			if code, body := w.do(t, http.MethodPatch, path, header, []byte(`{"message":"now `+quoted+`"}`)); code != http.StatusOK {
				t.Fatalf("%s: %d %s", mode, code, body)
			}
			records = append(records, w.journal.last(t))
			if _, err := w.typed.CoreV1().Events("shop").Patch(context.Background(), "db.1", types.StrategicMergePatchType, []byte(`{"message":"now `+quoted+`"}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			records = append(records, w.journal.last(t))
			for _, r := range records {
				if text := fmt.Sprintf("%+v %+v", r, r.Tells); strings.Contains(text, "hunter2") {
					t.Errorf("%s, %s: %s is recorded with %s", mode, contentType, r.Verb, text)
				}
			}
		}
	}
}
