package guard_test

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A binding is recorded, and asked about, with the node that it gives.
func TestBindingSaysWhichNode(t *testing.T) {
	want := []state.FieldChange{{Path: "spec.nodeName", New: `"n1"`}}
	for _, contentType := range []string{typeJSON, typeProtobuf} {
		bind := func(w *world) error {
			return w.typed.CoreV1().Pods("shop").Bind(t.Context(), &corev1.Binding{
				ObjectMeta: metav1.ObjectMeta{Name: "web-1", Namespace: "shop"}, Target: corev1.ObjectReference{Kind: "Node", Name: "n1"},
			}, metav1.CreateOptions{})
		}
		for _, mode := range []state.Mode{state.ModeDryRunClient, state.ModeDryRunServer, state.ModeActive} {
			w := newWorld(t, mode, contentType, withDiff)
			w.server.serve(webPath, servedPod("7", "u-1", "web:1"))
			if err := bind(w); err != nil {
				t.Errorf("%s: %v", mode, err)
			}
			if got := w.journal.last(t).Diff; !slices.Equal(got, want) {
				t.Errorf("%s: recorded with %+v", mode, got)
			}
		}
		if p, _, err := asked(t, contentType, bind, ""); err != nil || !slices.Equal(p.Diff, want) {
			t.Errorf("asked about with %+v, %v", p.Diff, err)
		}
	}
}
