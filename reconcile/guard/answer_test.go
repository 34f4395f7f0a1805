package guard_test

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// fromCache answers Lookup like an informer: typed objects carry no kind.
func fromCache(o *guard.Options) {
	o.Lookup = func(ref state.Ref) runtime.Object {
		switch ref.String() {
		case "deployments.apps shop/web":
			return deployment()
		case "pods shop/web":
			return pod()
		}
		return nil
	}
}

// TestAnswers looks at what upstream's calls are answered with in
// dry-run=client, when the guard starts from an informer and when it reads.
func TestAnswers(t *testing.T) {
	check := map[string]func(t *testing.T, o metav1.Object){
		"create": func(t *testing.T, o metav1.Object) {
			p := o.(*corev1.Pod)
			if p.Name != "new" || len(p.UID) != 36 || p.CreationTimestamp.IsZero() || p.ResourceVersion != "" || p.Generation != 1 || p.Status.Phase != "" {
				t.Errorf("%+v", p)
			}
		},
		"update": func(t *testing.T, o metav1.Object) {
			d := o.(*appsv1.Deployment)
			if *d.Spec.Replicas != 5 || d.ResourceVersion != "7" || d.Status.Replicas != 3 || d.UID != "u-deployment" || d.Generation != 3 {
				t.Errorf("%+v", d)
			}
		},
		"update status": func(t *testing.T, o metav1.Object) {
			d := o.(*appsv1.Deployment)
			if *d.Spec.Replicas != 3 || d.ResourceVersion != "7" || d.Status.Replicas != 4 || d.Generation != 2 {
				t.Errorf("%+v", d)
			}
		},
		"strategic merge patch": func(t *testing.T, o metav1.Object) {
			d := o.(*appsv1.Deployment)
			c := d.Spec.Template.Spec.Containers
			if len(c) != 2 || c[0].Image != "web:2" || c[1].Image != "log:1" || d.ResourceVersion != "7" {
				t.Errorf("%+v", d)
			}
		},
		"merge patch": func(t *testing.T, o metav1.Object) {
			if d := o.(*appsv1.Deployment); len(d.Labels) != 0 || d.Generation != 2 {
				t.Errorf("%+v", d)
			}
		},
		"JSON patch": func(t *testing.T, o metav1.Object) {
			if d := o.(*appsv1.Deployment); *d.Spec.Replicas != 9 || d.Status.Replicas != 3 {
				t.Errorf("%+v", d)
			}
		},
		"patch status": func(t *testing.T, o metav1.Object) {
			if p := o.(*corev1.Pod); p.Status.Phase != corev1.PodFailed || len(p.Spec.Containers) != 1 {
				t.Errorf("%+v", p)
			}
		},
		"patch, metadata client": func(t *testing.T, o metav1.Object) {
			p := o.(*metav1.PartialObjectMetadata)
			if p.UID != "u-pod" || len(p.Finalizers) != 1 {
				t.Errorf("%+v", p)
			}
		},
		"apply": func(t *testing.T, o metav1.Object) {
			d := o.(*appsv1.Deployment)
			if *d.Spec.Replicas != 8 || len(d.Spec.Template.Spec.Containers) != 2 {
				t.Errorf("%+v", d)
			}
		},
		"apply status, dynamic": func(t *testing.T, o metav1.Object) {
			replicas, _, _ := unstructured.NestedInt64(o.(*unstructured.Unstructured).Object, "status", "replicas")
			if replicas != 6 || o.GetUID() != "u-deployment" {
				t.Errorf("%+v", o)
			}
		},
		"update scale": func(t *testing.T, o metav1.Object) {
			if s := o.(*autoscalingv1.Scale); s.Spec.Replicas != 6 || s.Status.Replicas != 3 || s.UID != "u-deployment" || s.ResourceVersion != "7" {
				t.Errorf("%+v", s)
			}
		},
		"approve": func(t *testing.T, o metav1.Object) {
			c := o.(*certificatesv1.CertificateSigningRequest)
			if len(c.Status.Conditions) != 1 || c.Spec.SignerName == "" {
				t.Errorf("%+v", c)
			}
		},
		"finalize namespace": func(t *testing.T, o metav1.Object) {
			n := o.(*corev1.Namespace)
			if len(n.Spec.Finalizers) != 0 || n.Status.Phase != corev1.NamespaceTerminating || n.ResourceVersion != "2" {
				t.Errorf("%+v", n)
			}
		},
	}
	for _, cached := range []bool{false, true} {
		for _, s := range shapes() {
			if s.token {
				continue
			}
			t.Run(map[bool]string{false: "read/", true: "cached/"}[cached]+s.name, func(t *testing.T) {
				var adjust []func(*guard.Options)
				if cached {
					adjust = append(adjust, fromCache)
				}
				w := newWorld(t, state.ModeDryRunClient, typeProtobuf, adjust...)
				w.populate(t)
				o, err := s.call(context.Background(), w)
				if err != nil {
					t.Fatal(err)
				}
				if f := check[s.name]; f != nil {
					f(t, o)
				}
				if got := w.journal.last(t).Approximate; got != (o != nil) {
					t.Errorf("approximate is %v", got)
				}
			})
		}
	}
}

func TestGenerateName(t *testing.T) {
	w := newWorld(t, state.ModeDryRunClient, typeProtobuf)
	name := regexp.MustCompile(`^web-[bcdfghjklmnpqrstvwxz2456789]{5}$`)
	seen := map[string]bool{}
	for i := range 3 {
		p := pod()
		p.Name, p.GenerateName = "", "web-"
		got, err := w.typed.CoreV1().Pods("shop").Create(context.Background(), p, metav1.CreateOptions{})
		if err != nil || !name.MatchString(got.Name) || seen[got.Name] || got.GenerateName != "web-" {
			t.Fatalf("%+v, %v", got, err)
		}
		seen[got.Name] = true
		if r := w.journal.last(t); r.Repeat != i || r.Object.Name != got.Name || r.Object.UID != string(got.UID) || r.Status != http.StatusCreated {
			t.Errorf("recorded %+v", r)
		}
	}
	p := pod()
	p.Name, p.GenerateName = "", strings.Repeat("x", 80)
	got, err := w.typed.CoreV1().Pods("shop").Create(context.Background(), p, metav1.CreateOptions{})
	if err != nil || len(got.Name) != 63 {
		t.Errorf("%q, %v", got.Name, err)
	}
	p.GenerateName = ""
	if _, err := w.typed.CoreV1().Pods("shop").Create(context.Background(), p, metav1.CreateOptions{}); !strings.Contains(err.Error(), "name or generateName is required") {
		t.Error(err)
	}
}

// The errors an API server would answer with.
func TestAnswersErrors(t *testing.T) {
	ctx := context.Background()
	w := newWorld(t, state.ModeDryRunClient, typeProtobuf)
	w.populate(t)
	deployments := w.typed.AppsV1().Deployments("shop")
	stale := deployment()
	stale.ResourceVersion = "6"
	gone := deployment()
	gone.Name = "gone"
	other := deployment()
	other.UID = "u-other"
	patch := func(pt types.PatchType, data string) error {
		_, err := deployments.Patch(ctx, "web", pt, []byte(data), metav1.PatchOptions{})
		return err
	}
	tests := []struct {
		name string
		err  func() error
		is   func(error) bool
	}{
		{"update of what is not there", func() error { _, err := deployments.Update(ctx, gone, metav1.UpdateOptions{}); return err }, apierrors.IsNotFound},
		{"update at an old resourceVersion", func() error { _, err := deployments.Update(ctx, stale, metav1.UpdateOptions{}); return err }, apierrors.IsConflict},
		{"update of another incarnation", func() error { _, err := deployments.Update(ctx, other, metav1.UpdateOptions{}); return err }, apierrors.IsConflict},
		{"delete of what is not there", func() error { return deployments.Delete(ctx, "gone", metav1.DeleteOptions{}) }, apierrors.IsNotFound},
		{"delete of another incarnation", func() error {
			return deployments.Delete(ctx, "web", metav1.DeleteOptions{Preconditions: metav1.NewUIDPreconditions("u-other")})
		}, apierrors.IsConflict},
		{"delete at an old resourceVersion", func() error {
			return deployments.Delete(ctx, "web", metav1.DeleteOptions{Preconditions: &metav1.Preconditions{ResourceVersion: ptr.To("6")}})
		}, apierrors.IsConflict},
		{"patch with a failing test", func() error {
			return patch(types.JSONPatchType, `[{"op":"test","path":"/spec/replicas","value":1}]`)
		}, apierrors.IsInvalid},
		{"patch with broken JSON", func() error { return patch(types.MergePatchType, `{`) }, apierrors.IsBadRequest},
		{"patch of another incarnation", func() error { return patch(types.StrategicMergePatchType, `{"metadata":{"uid":"u-other"}}`) }, apierrors.IsConflict},
		{"patch at an old resourceVersion", func() error { return patch(types.MergePatchType, `{"metadata":{"resourceVersion":"6"}}`) }, apierrors.IsConflict},
		{"patch of no known type", func() error { return patch("application/x", `{}`) }, apierrors.IsUnsupportedMediaType},
		{"strategic merge patch of a custom resource", func() error {
			_, err := w.dynamic.Resource(widgets).Namespace("shop").Patch(ctx, "w", types.StrategicMergePatchType, []byte(`{}`), metav1.PatchOptions{})
			return err
		}, apierrors.IsUnsupportedMediaType},
		{"apply of a status that has no object", func() error {
			_, err := w.dynamic.Resource(widgets).Namespace("shop").ApplyStatus(ctx, "gone", widget(), metav1.ApplyOptions{FieldManager: "t"})
			return err
		}, apierrors.IsNotFound},
		{"create in another namespace", func() error {
			_, err := w.typed.CoreV1().Pods("other").Create(ctx, pod(), metav1.CreateOptions{})
			return err
		}, apierrors.IsBadRequest},
	}
	for _, test := range tests {
		if err := test.err(); !test.is(err) || guard.Refused(err) {
			t.Errorf("%s: %v", test.name, err)
		}
		if r := w.journal.last(t); r.Result != state.WriteFailed || r.Status < 400 || r.Message == "" {
			t.Errorf("%s: recorded %+v", test.name, r)
		}
	}
	if arrived := w.server.writes(); len(arrived) != 0 {
		t.Errorf("arrived: %+v", arrived)
	}
}

// A cache may be behind its controller: its resourceVersion proves nothing.
func TestCachedBaseIsNoConflict(t *testing.T) {
	w := newWorld(t, state.ModeDryRunClient, typeProtobuf, fromCache)
	newer := deployment()
	newer.ResourceVersion = "8"
	got, err := w.typed.AppsV1().Deployments("shop").Update(context.Background(), newer, metav1.UpdateOptions{})
	if err != nil || got.ResourceVersion != "8" {
		t.Errorf("%+v, %v", got, err)
	}
}

func TestApplyCreates(t *testing.T) {
	w := newWorld(t, state.ModeDryRunClient, "")
	o := widget()
	o.SetResourceVersion("")
	o.SetUID("")
	got, err := w.dynamic.Resource(widgets).Namespace("shop").Apply(context.Background(), "w", o, metav1.ApplyOptions{FieldManager: "t"})
	if err != nil || got.GetUID() == "" || got.GetResourceVersion() != "" {
		t.Errorf("%+v, %v", got, err)
	}
	if r := w.journal.last(t); r.Verb != "apply" || r.Status != http.StatusCreated || !r.Approximate {
		t.Errorf("recorded %+v", r)
	}
}

// An apply merges lists by the keys of the type.
func TestApplyMergesByKey(t *testing.T) {
	w := newWorld(t, state.ModeDryRunClient, "")
	w.populate(t)
	got, err := w.dynamic.Resource(deployments).Namespace("shop").Apply(context.Background(), "web", &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"},
		"spec": map[string]any{"template": map[string]any{"spec": map[string]any{"containers": []any{map[string]any{"name": "log", "image": "log:2"}}}}},
	}}, metav1.ApplyOptions{FieldManager: "t"})
	if err != nil {
		t.Fatal(err)
	}
	containers, _, _ := unstructured.NestedSlice(got.Object, "spec", "template", "spec", "containers")
	if len(containers) != 2 {
		t.Errorf("%+v", containers)
	}
}

// An apply is YAML by its media type, whichever way it is written.
func TestApplyIsReadInEveryStyle(t *testing.T) {
	const meta = `"metadata":{"name":"web","namespace":"shop"}`
	for style, body := range map[string]string{
		"block":           "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\n  namespace: shop\nspec:\n  replicas: 8\n",
		"after a marker":  "# by hand\n---\napiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web, namespace: shop}\nspec: {replicas: 8}\n",
		"flow":            "{apiVersion: apps/v1, kind: Deployment, metadata: {name: web, namespace: shop}, spec: {replicas: 8}}",
		"flow, of lines":  "\n{\n  apiVersion: apps/v1, # the group\n  kind: 'Deployment',\n  metadata: {name: web, namespace: shop},\n  spec: {replicas: 8},\n}\n",
		"JSON":            `{"apiVersion":"apps/v1","kind":"Deployment",` + meta + `,"spec":{"replicas":8}}`,
		"JSON, with tabs": "{\n\t\"apiVersion\": \"apps/v1\",\n\t\"kind\": \"Deployment\",\n\t" + meta + ",\n\t\"spec\": {\"replicas\": 8}\n}",
	} {
		for _, there := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/%v", style, there), func(t *testing.T) {
				w := newWorld(t, state.ModeDryRunClient, "")
				want := http.StatusCreated
				if there {
					w.populate(t)
					want = http.StatusOK
				}
				code, answered := w.do(t, http.MethodPatch, deploymentPath+"?fieldManager=t", http.Header{"Content-Type": {string(types.ApplyYAMLPatchType)}}, []byte(body))
				if code != want {
					t.Fatalf("%d %s", code, answered)
				}
				o := unstructured.Unstructured{}
				if err := o.UnmarshalJSON(answered); err != nil {
					t.Fatal(err)
				}
				replicas, _, err := unstructured.NestedInt64(o.Object, "spec", "replicas")
				if err != nil || replicas != 8 || o.GetName() != "web" || o.GetUID() == "" {
					t.Errorf("%s, %v", answered, err)
				}
				if r := w.journal.last(t); r.Verb != "apply" || r.Result != state.WriteDry || r.Object.String() != "deployments.apps shop/web" {
					t.Errorf("recorded %+v", r)
				}
			})
		}
	}
	for _, body := range []string{"", "{", "{apiVersion: apps/v1", "[a]", "word", "a: b: c"} {
		w := newWorld(t, state.ModeDryRunClient, "")
		w.populate(t)
		code, answered := w.do(t, http.MethodPatch, deploymentPath+"?fieldManager=t", http.Header{"Content-Type": {string(types.ApplyYAMLPatchType)}}, []byte(body))
		if code != http.StatusBadRequest {
			t.Errorf("%q is answered with %d %s", body, code, answered)
		}
	}
}

// So is a create whose media type is YAML's.
func TestCreateIsReadInEveryStyle(t *testing.T) {
	for _, body := range []string{
		"apiVersion: v1\nkind: Pod\nmetadata:\n  name: web-2\n",
		"{apiVersion: v1, kind: Pod, metadata: {name: web-2}}",
		`{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web-2"}}`,
	} {
		w := newWorld(t, state.ModeDryRunClient, "")
		code, answered := w.do(t, http.MethodPost, "/api/v1/namespaces/shop/pods", http.Header{"Content-Type": {"application/yaml"}}, []byte(body))
		if r := w.journal.last(t); code != http.StatusCreated || r.Object.Name != "web-2" {
			t.Errorf("%q: %d %s, recorded %+v", body, code, answered, r)
		}
	}
}

// Every client asks for a base with its own credentials; where clients act as
// others than the user, the guard does not.
func TestBaseIsReadAsTheWriter(t *testing.T) {
	for _, asUser := range []bool{false, true} {
		t.Run(fmt.Sprint(asUser), func(t *testing.T) { baseIsRead(t, asUser) })
	}
}

func baseIsRead(t *testing.T, asUser bool) {
	w := newWorld(t, state.ModeDryRunClient, "", func(o *guard.Options) { o.ReadsAsUser = asUser })
	w.populate(t)
	header := http.Header{"Authorization": {"Bearer t"}, "Impersonate-User": {"u"}, "Impersonate-Extra-Scopes": {"s"}, "Content-Type": {"application/merge-patch+json"}}
	if code, body := w.do(t, "PATCH", deploymentPath+"/status?fieldManager=x", header, []byte(`{"status":{"replicas":1}}`)); code != http.StatusOK {
		t.Fatalf("%d %s", code, body)
	}
	w.server.mu.Lock()
	defer w.server.mu.Unlock()
	if len(w.server.arrivals) != 1 {
		t.Fatalf("arrived %+v", w.server.arrivals)
	}
	got := w.server.arrivals[0]
	if got.Method != "GET" || got.Path != deploymentPath || len(got.Query) != 0 || len(got.Body) != 0 || got.Header.Get("Content-Type") != "" {
		t.Errorf("%+v", got)
	}
	for _, name := range []string{"Authorization", "Impersonate-User", "Impersonate-Extra-Scopes"} {
		want := header.Get(name)
		if asUser && name != "Authorization" {
			want = ""
		}
		if got.Header.Get(name) != want {
			t.Errorf("%s is %q, want %q", name, got.Header.Get(name), want)
		}
	}
}

// The guess from kind to resource has to hold for every type the guard patches.
func TestKindsOfOddPlurals(t *testing.T) {
	w := newWorld(t, state.ModeDryRunClient, "", func(o *guard.Options) {
		o.Lookup = func(ref state.Ref) runtime.Object {
			return &metav1.PartialObjectMetadata{ObjectMeta: metav1.ObjectMeta{Name: ref.Name, UID: "u"}}
		}
	})
	for path, kind := range map[string]string{
		"/api/v1/namespaces/a/endpoints/x":                          "Endpoints",
		"/apis/networking.k8s.io/v1/ingressclasses/x":               "IngressClass",
		"/apis/networking.k8s.io/v1/namespaces/a/networkpolicies/x": "NetworkPolicy",
		"/apis/discovery.k8s.io/v1/namespaces/a/endpointslices/x":   "EndpointSlice",
		"/apis/storage.k8s.io/v1/storageclasses/x":                  "StorageClass",
		"/apis/policy/v1/namespaces/a/poddisruptionbudgets/x":       "PodDisruptionBudget",
		"/apis/networking.k8s.io/v1/ipaddresses/x":                  "IPAddress",
		"/apis/networking.k8s.io/v1/servicecidrs/x":                 "ServiceCIDR",
		"/apis/coordination.k8s.io/v1/namespaces/a/leases/x":        "Lease",
		"/api/v1/namespaces/x":                                      "Namespace",
		"/apis/apps/v1/namespaces/a/controllerrevisions/x":          "ControllerRevision",
	} {
		code, body := w.do(t, "PATCH", path, http.Header{"Content-Type": {"application/strategic-merge-patch+json"}}, []byte(`{"metadata":{"labels":{"a":"b"}}}`))
		if code != http.StatusOK || toMap(t, body)["kind"] != kind {
			t.Errorf("%s: %d %s", path, code, body)
		}
	}
}

// Answers are JSON whatever a client asks for; a body without a kind, which a
// server takes, gets the kind of its resource.
func TestAnswersAreJSON(t *testing.T) {
	w := newWorld(t, state.ModeDryRunClient, "")
	for _, accept := range []string{"", "*/*", typeProtobuf, typeCBOR, "application/json;as=Table;g=meta.k8s.io;v=v1"} {
		code, body := w.do(t, "POST", "/api/v1/namespaces/shop/configmaps", http.Header{"Accept": {accept}}, []byte(`{"metadata":{"name":"c"}}`))
		if answer := toMap(t, body); code != http.StatusCreated || answer["kind"] != "ConfigMap" || answer["apiVersion"] != "v1" {
			t.Errorf("%s: %d %s", accept, code, body)
		}
	}
}
