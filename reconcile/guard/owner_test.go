package guard_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

const (
	replicaSetPath = "/apis/apps/v1/namespaces/shop/replicasets/web"
	nodePath       = "/api/v1/nodes/web"
	servesApps     = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"apps/v1","resources":[
		{"name":"replicasets/status","kind":"ReplicaSet","namespaced":true},{"name":"replicasets","kind":"ReplicaSet","namespaced":true}]}`
	servesCore = `{"kind":"APIResourceList","apiVersion":"v1","groupVersion":"v1","resources":[{"name":"nodes","kind":"Node","namespaced":false}]}`
)

func servedOwner(kind, uid string) string {
	return `{"apiVersion":"v1","kind":"` + kind + `","metadata":{"name":"web","uid":"` + uid + `"}}`
}

func ownedBy(apiVersion, kind, name string) metav1.OwnerReference {
	return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: "u-1", Controller: ptr.To(true)}
}

// A create that has waited is not made for an owner that is gone.
func TestUnchangedLooksForTheOwner(t *testing.T) {
	create := func(ref metav1.OwnerReference) func(*world) error {
		return func(w *world) error {
			pod := aPod.DeepCopy()
			pod.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Service", Name: "first", UID: "u-0"}, ref}
			_, err := w.typed.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{})
			return err
		}
	}
	inNone := func(w *world) error {
		role := &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r", OwnerReferences: []metav1.OwnerReference{ownedBy("apps/v1", "ReplicaSet", "web")}}}
		_, err := w.typed.RbacV1().ClusterRoles().Create(t.Context(), role, metav1.CreateOptions{})
		return err
	}
	loose := ownedBy("apps/v1", "ReplicaSet", "web")
	loose.Controller = nil
	replicaSet := create(ownedBy("apps/v1", "ReplicaSet", "web"))
	for name, c := range map[string]struct {
		write func(*world) error
		owner map[string]string
		want  string
	}{
		"it is there":                {replicaSet, map[string]string{replicaSetPath: servedOwner("ReplicaSet", "u-1")}, ""},
		"it is gone":                 {replicaSet, nil, "its owner ReplicaSet web is gone"},
		"it was made anew":           {replicaSet, map[string]string{replicaSetPath: servedOwner("ReplicaSet", "u-2")}, "is gone, and another has its name now"},
		"no controller":              {create(loose), nil, ""},
		"it is in no namespace":      {create(ownedBy("v1", "Node", "web")), map[string]string{nodePath: servedOwner("Node", "u-1")}, ""},
		"a node is gone":             {create(ownedBy("v1", "Node", "web")), nil, "its owner Node web is gone"},
		"a kind that is not served":  {create(ownedBy("apps/v1", "Widget", "web")), nil, "cannot be read: the server does not serve Widget of apps/v1"},
		"a group that is not served": {create(ownedBy("example.com/v1", "Widget", "web")), nil, "its owner Widget web is gone"},
		"a name that leads astray":   {create(ownedBy("apps/v1", "ReplicaSet", "../secrets/x")), nil, "cannot be read: that is no name"},
		"a version that is none":     {create(ownedBy("a/b/c", "ReplicaSet", "web")), nil, "cannot be read"},
		"of a namespace, owns in none": {inNone, map[string]string{replicaSetPath: servedOwner("ReplicaSet", "u-1")},
			"it is in a namespace, and what it would own is in none"},
	} {
		for _, contentType := range []string{typeJSON, typeProtobuf} {
			t.Run(name+"/"+contentType[12:], func(t *testing.T) {
				_, sent, err := asked(t, contentType, func(w *world) error {
					w.server.serve("/apis/apps/v1", servesApps)
					w.server.serve("/api/v1", servesCore)
					for path, object := range c.owner {
						w.server.serve(path, object)
					}
					return c.write(w)
				}, "")
				if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if len(sent) != 1 || len(sent[0].Body) == 0 {
					t.Errorf("the body was read ahead, and then not sent: %+v", sent)
				}
			})
		}
	}
}

// An apply of an object that is not there creates it.
func TestUnchangedLooksForTheOwnerOfAnApply(t *testing.T) {
	for _, there := range []bool{false, true} {
		_, _, err := asked(t, typeJSON, func(w *world) error {
			w.server.serve("/apis/apps/v1", servesApps)
			if there {
				w.server.serve(replicaSetPath, servedOwner("ReplicaSet", "u-1"))
			}
			body := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-2","ownerReferences":[{"apiVersion":"apps/v1","kind":"ReplicaSet","name":"web","uid":"u-1","controller":true}]}}`
			w.do(t, http.MethodPatch, "/api/v1/namespaces/shop/pods/web-2?fieldManager=test", http.Header{"Content-Type": {"application/apply-patch+yaml"}}, []byte(body))
			return nil
		}, "")
		if (err == nil) != there || err != nil && !strings.Contains(err.Error(), "its owner ReplicaSet web is gone") {
			t.Errorf("owner there %v: %v", there, err)
		}
	}
}

func partial(uid types.UID) runtime.Object {
	return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: "web", UID: uid}}
}

// Where the server may not be asked, what an informer holds has to do; without it
// the owner counts as gone.
func TestUnchangedLooksForTheOwnerWithoutTheRight(t *testing.T) {
	for name, c := range map[string]struct {
		cached runtime.Object
		want   string
	}{
		"in the cache":     {partial("u-1"), ""},
		"another one":      {partial("u-2"), "is gone"},
		"not in the cache": {nil, "cannot be read"},
	} {
		t.Run(name, func(t *testing.T) {
			again := errors.New("nobody was asked")
			w := newWorld(t, state.ModeActive, typeJSON, func(o *guard.Options) {
				o.Lookup = func(ref state.Ref) runtime.Object {
					if ref.Resource != "replicasets" || ref.Namespace != "shop" || ref.Name != "web" {
						t.Errorf("looked up %+v", ref)
					}
					return c.cached
				}
				o.Before = func(ctx context.Context, p guard.Pending) error {
					again = p.Unchanged(ctx, guard.Preview{})
					return errors.New("not now")
				}
			})
			w.server.serve("/apis/apps/v1", servesApps)
			w.server.onRead = func(rw http.ResponseWriter, r *http.Request) bool {
				if r.URL.Path != replicaSetPath {
					return false
				}
				rw.Header().Set("Content-Type", "application/json")
				rw.WriteHeader(http.StatusForbidden)
				_, _ = rw.Write([]byte(`{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"Forbidden","code":403,"message":"not for you"}`))
				return true
			}
			pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", OwnerReferences: []metav1.OwnerReference{ownedBy("apps/v1", "ReplicaSet", "web")}}}
			_, _ = w.typed.CoreV1().Pods("shop").Create(t.Context(), pod, metav1.CreateOptions{})
			if c.want == "" && again != nil || c.want != "" && (again == nil || !strings.Contains(again.Error(), c.want)) {
				t.Errorf("got %v, want %q", again, c.want)
			}
		})
	}
}
