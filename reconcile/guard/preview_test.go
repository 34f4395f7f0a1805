package guard_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func servedPod(rv, uid, image string) string {
	return `{"apiVersion":"v1","kind":"Pod","metadata":{"namespace":"shop","name":"web-1","uid":"` + uid + `","resourceVersion":"` + rv + `"},
		"spec":{"containers":[{"name":"web","image":"` + image + `"}]}}`
}

const (
	webPath    = "/api/v1/namespaces/shop/pods/web-1"
	imagePatch = `{"spec":{"containers":[{"name":"web","image":"web:2"}]}}`
)

// asked is a write of the test world, previewed, then checked once more after the
// server's object has changed to another.
func asked(t *testing.T, contentType string, write func(w *world) error, then string) (guard.Preview, []arrival, error) {
	t.Helper()
	var seen guard.Preview
	var failed, again error
	var w *world
	w = newWorld(t, state.ModeActive, contentType, func(o *guard.Options) {
		o.Diff = func(ref state.Ref, old, new map[string]any) []state.FieldChange {
			return redact.Diff(ref, old, new, redact.DiffOptions{})
		}
		o.Before = func(ctx context.Context, p guard.Pending) error {
			seen, failed = p.Preview(ctx)
			if then != "" {
				w.server.serve(webPath, then)
			}
			again = p.Unchanged(ctx, seen)
			p.Approved("the test")
			return nil
		}
	})
	w.server.serve(webPath, servedPod("7", "u-1", "web:1"))
	if err := write(w); err != nil {
		t.Error(err)
	}
	if failed != nil {
		t.Errorf("preview: %v", failed)
	}
	if got := w.journal.last(t).Approval; got != "the test" {
		t.Errorf("recorded as approved by %q", got)
	}
	return seen, w.server.writes(), again
}

func fields(p guard.Preview) string {
	var out []string
	for _, c := range p.Diff {
		out = append(out, c.Path+": "+c.Old+"→"+c.New)
	}
	return strings.Join(out, "\n")
}

func TestPreviewSaysWhatAWriteWouldDo(t *testing.T) {
	for _, contentType := range []string{typeJSON, typeProtobuf} {
		t.Run(contentType[12:], func(t *testing.T) {
			created := aPod.DeepCopy()
			created.Spec.Containers = []corev1.Container{{Name: "web", Image: "web:1"}}
			p, sent, err := asked(t, contentType, func(w *world) error {
				_, err := w.typed.CoreV1().Pods("shop").Create(t.Context(), created, metav1.CreateOptions{})
				return err
			}, "")
			if strings.Contains(fields(p), "metadata.uid") || strings.Contains(fields(p), "creationTimestamp") {
				t.Errorf("create: what the server makes is shown:\n%s", fields(p))
			}
			if got := fields(p); err != nil || !strings.Contains(got, `spec.containers[name=web].image: →"web:1"`) || !p.Approximate {
				t.Errorf("create: %v, %+v", err, p)
			}
			if len(sent) != 1 || len(sent[0].Body) == 0 {
				t.Errorf("the body was read ahead, and then not sent: %+v", sent)
			}

			p, sent, err = asked(t, contentType, func(w *world) error {
				_, err := w.typed.CoreV1().Pods("shop").Patch(t.Context(), "web-1", types.StrategicMergePatchType, []byte(imagePatch), metav1.PatchOptions{})
				return err
			}, "")
			if got := fields(p); err != nil || got != `spec.containers[name=web].image: "web:1"→"web:2"` || p.ResourceVersion != "7" || p.UID != "u-1" {
				t.Errorf("patch: %v, %+v", err, p)
			}
			if len(sent) != 1 || string(sent[0].Body) != imagePatch {
				t.Errorf("sent %+v", sent)
			}

			p, _, err = asked(t, contentType, func(w *world) error {
				return w.typed.CoreV1().Pods("shop").Delete(t.Context(), "web-1", metav1.DeleteOptions{})
			}, "")
			if err != nil || len(p.Diff) != 0 || p.ResourceVersion != "7" {
				t.Errorf("delete: %v, %+v", err, p)
			}
		})
	}
}

// What has changed while a write waited is noticed, where it matters to it.
func TestUnchanged(t *testing.T) {
	patch := func(w *world) error {
		_, err := w.typed.CoreV1().Pods("shop").Patch(t.Context(), "web-1", types.StrategicMergePatchType, []byte(imagePatch), metav1.PatchOptions{})
		return err
	}
	hidden := func(w *world) error { // managedFields are in no diff
		_, err := w.typed.CoreV1().Pods("shop").Patch(t.Context(), "web-1", types.MergePatchType, []byte(`{"metadata":{"managedFields":[{}]}}`), metav1.PatchOptions{})
		return err
	}
	remove := func(w *world) error {
		return w.typed.CoreV1().Pods("shop").Delete(t.Context(), "web-1", metav1.DeleteOptions{})
	}
	evict := func(w *world) error {
		return w.typed.CoreV1().Pods("shop").EvictV1(t.Context(), &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web-1"}})
	}
	update := func(w *world) error {
		pod := aPod.DeepCopy()
		pod.ResourceVersion = "7"
		_, err := w.typed.CoreV1().Pods("shop").Update(t.Context(), pod, metav1.UpdateOptions{})
		return err
	}
	for name, c := range map[string]struct {
		write func(w *world) error
		then  string
		want  string
	}{
		"a patch of other fields":         {patch, servedPod("8", "u-1", "web:1"), ""},
		"a patch of the same fields":      {patch, servedPod("8", "u-1", "web:3"), "fields that it changes have changed"},
		"a patch that is done already":    {patch, servedPod("8", "u-1", "web:2"), "fields that it changes have changed"},
		"a patch of another object":       {patch, servedPod("8", "u-2", "web:1"), "another object"},
		"a patch that shows nothing":      {hidden, servedPod("8", "u-1", "web:1"), "rv 7→8"},
		"a delete":                        {remove, servedPod("8", "u-1", "web:1"), "rv 7→8"},
		"a delete, unchanged":             {remove, servedPod("7", "u-1", "web:1"), ""},
		"an eviction":                     {evict, servedPod("8", "u-1", "web:1"), "rv 7→8"},
		"an update, which carries its rv": {update, servedPod("8", "u-1", "web:1"), ""},
	} {
		t.Run(name, func(t *testing.T) {
			_, _, err := asked(t, typeJSON, c.write, c.then)
			if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
				t.Errorf("got %v, want %q", err, c.want)
			}
		})
	}
}

// An object that is gone is the server's to tell.
func TestUnchangedLeavesTheMissingToTheServer(t *testing.T) {
	again := errors.New("nobody was asked")
	w := newWorld(t, state.ModeActive, typeJSON, func(o *guard.Options) {
		o.Before = func(ctx context.Context, p guard.Pending) error {
			again = p.Unchanged(ctx, guard.Preview{ResourceVersion: "7"})
			return errors.New("not now")
		}
	})
	_ = w.typed.CoreV1().Pods("shop").Delete(t.Context(), "web-1", metav1.DeleteOptions{})
	if again != nil {
		t.Error(again)
	}
}
