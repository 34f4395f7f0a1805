package guard_test

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

var configMaps = schema.GroupVersionResource{Version: "v1", Resource: "configmaps"}

func configMap(data map[string]any) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "v1", "kind": "ConfigMap", "metadata": map[string]any{"name": "settings", "namespace": "shop"}, "data": data,
	}}
}

// A client of which no informer of ours knows the objects has its diffs from the
// server, in each mode that sends its writes.
func TestDiffOfWhatWasReadBefore(t *testing.T) {
	const path = "/api/v1/namespaces/shop/configmaps/settings"
	for _, mode := range []state.Mode{state.ModeDryRunServer, state.ModeActive} {
		t.Run(string(mode), func(t *testing.T) {
			w := newWorld(t, mode, typeJSON, withDiff, func(o *guard.Options) { o.ReadsBefore = true })
			diff := func(of string) []string {
				t.Helper()
				var lines []string
				for _, c := range w.journal.last(t).Diff {
					lines = append(lines, c.Path+" "+c.Old+"→"+c.New)
				}
				if w.journal.last(t).Approximate {
					t.Errorf("%s: the server's own answer is recorded as approximate", of)
				}
				return lines
			}
			client := w.dynamic.Resource(configMaps).Namespace("shop")

			if _, err := client.Create(context.Background(), configMap(map[string]any{"colour": "red"}), metav1.CreateOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := diff("create"); !slices.Contains(got, `data.colour →"red"`) {
				t.Errorf("create: %q", got)
			}

			w.serve(path, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop"},"data":{"colour":"red"}}`)
			if _, err := client.Update(context.Background(), configMap(map[string]any{"colour": "blue"}), metav1.UpdateOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := diff("update"); !slices.Equal(got, []string{`data.colour "red"→"blue"`}) {
				t.Errorf("update: %q", got)
			}

			w.onWrite = func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(rw, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"settings","namespace":"shop"},"data":{"colour":"red","size":"2"}}`)
			}
			if _, err := client.Patch(context.Background(), "settings", types.MergePatchType, []byte(`{"data":{"size":"2"}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := diff("patch"); !slices.Equal(got, []string{`data.size →"2"`}) {
				t.Errorf("patch: %q", got)
			}

			// An answer of metadata alone takes nothing else away.
			w.onWrite = func(rw http.ResponseWriter, _ *http.Request) {
				rw.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(rw, `{"apiVersion":"meta.k8s.io/v1","kind":"PartialObjectMetadata","metadata":{"name":"settings","namespace":"shop","labels":{"a":"b"}}}`)
			}
			if _, err := w.metadata.Resource(configMaps).Namespace("shop").Patch(context.Background(), "settings", types.MergePatchType, []byte(`{"metadata":{"labels":{"a":"b"}}}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := diff("metadata"); !slices.Equal(got, []string{`metadata.labels.a →"b"`}) {
				t.Errorf("patch of metadata: %q", got)
			}

			// What may not be read is written all the same.
			w.onRead = func(rw http.ResponseWriter, _ *http.Request) bool {
				http.Error(rw, "no", http.StatusForbidden)
				return true
			}
			if _, err := client.Patch(context.Background(), "settings", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{}); err != nil {
				t.Fatal(err)
			}
			if got := diff("unreadable"); len(got) > 0 {
				t.Errorf("a diff of what could not be read: %q", got)
			}
		})
	}
}

// Leases and Events are written every few seconds: nothing is read for them.
func TestNothingIsReadForLeasesAndEvents(t *testing.T) {
	w := newWorld(t, state.ModeActive, typeJSON, withDiff, func(o *guard.Options) { o.ReadsBefore = true })
	for path, body := range map[string]string{
		"/apis/coordination.k8s.io/v1/namespaces/shop/leases/l": `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"l"}}`,
		"/api/v1/namespaces/shop/events/e":                      `{"apiVersion":"v1","kind":"Event","metadata":{"name":"e"}}`,
	} {
		if code, _ := w.do(t, http.MethodPut, path, http.Header{"Content-Type": {typeJSON}}, []byte(body)); code >= 300 {
			t.Fatal(code)
		}
	}
	for _, a := range w.all() {
		if strings.EqualFold(a.Method, http.MethodGet) {
			t.Errorf("read %s", a.Path)
		}
	}
}

// An Event of a dry run is stored nowhere: the recorder's patch finds none, and that is
// no failure.
func TestPatchOfAnEventThatADryRunMade(t *testing.T) {
	for mode, want := range map[state.Mode]state.WriteResult{state.ModeDryRunServer: state.WriteDry, state.ModeActive: state.WriteFailed} {
		w := newWorld(t, mode, typeJSON)
		w.onWrite = func(rw http.ResponseWriter, _ *http.Request) {
			rw.Header().Set("Content-Type", "application/json")
			rw.WriteHeader(http.StatusNotFound)
			_, _ = io.WriteString(rw, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404,"message":"events \"e\" not found"}`)
		}
		for path, want := range map[string]state.WriteResult{"/api/v1/namespaces/shop/events/e": want, "/apis/events.k8s.io/v1/namespaces/shop/events/e": want, "/api/v1/namespaces/shop/pods/p": state.WriteFailed} {
			code, _ := w.do(t, http.MethodPatch, path, http.Header{"Content-Type": {"application/merge-patch+json"}}, []byte(`{"count":2}`))
			if got := w.journal.last(t); got.Result != want || code != http.StatusNotFound || got.Status != http.StatusNotFound {
				t.Errorf("%s: %s in %s is recorded as %s", path, http.StatusText(code), mode, got.Result)
			}
		}
	}
}
