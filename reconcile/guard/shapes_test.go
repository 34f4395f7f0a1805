package guard_test

import (
	"context"
	"encoding/json"
	"testing"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	applyapps "k8s.io/client-go/applyconfigurations/apps/v1"
	"k8s.io/utils/ptr"

	appsv1 "k8s.io/api/apps/v1"
)

const (
	podPath        = "/api/v1/namespaces/shop/pods/web"
	deploymentPath = "/apis/apps/v1/namespaces/shop/deployments/web"
	scalePath      = deploymentPath + "/scale"
	namespacePath  = "/api/v1/namespaces/shop"
	csrPath        = "/apis/certificates.k8s.io/v1/certificatesigningrequests/node"
	widgetPath     = "/apis/example.com/v1/namespaces/shop/widgets/w"
)

var (
	deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}
	pods        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
	widgets     = schema.GroupVersionResource{Group: "example.com", Version: "v1", Resource: "widgets"}
)

func deployment() *appsv1.Deployment {
	return &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u-deployment", ResourceVersion: "7", Generation: 2,
			Labels: map[string]string{"app": "web"}},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](3),
			Selector: &metav1.LabelSelector{MatchLabels: map[string]string{"app": "web"}},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "web"}},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}, {Name: "log", Image: "log:1"}}},
			},
		},
		Status: appsv1.DeploymentStatus{Replicas: 3},
	}
}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", UID: "u-pod", ResourceVersion: "5"},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func widget() *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "example.com/v1", "kind": "Widget",
		"metadata": map[string]any{"name": "w", "namespace": "shop", "uid": "u-widget", "resourceVersion": "3"},
		"spec":     map[string]any{"size": int64(1)},
	}}
}

func csr() *certificatesv1.CertificateSigningRequest {
	return &certificatesv1.CertificateSigningRequest{
		ObjectMeta: metav1.ObjectMeta{Name: "node", UID: "u-csr", ResourceVersion: "11"},
		Spec:       certificatesv1.CertificateSigningRequestSpec{SignerName: "kubernetes.io/kubelet-serving"},
	}
}

// asJSON is an object as a server gives it out.
func asJSON(t testing.TB, apiVersion, kind string, o any) string {
	t.Helper()
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(o)
	if err != nil {
		t.Fatal(err)
	}
	m["apiVersion"], m["kind"] = apiVersion, kind
	b, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// populate serves the objects that the shapes work on.
func (w *world) populate(t testing.TB) {
	t.Helper()
	w.serve(deploymentPath, asJSON(t, "apps/v1", "Deployment", deployment()))
	w.serve(podPath, asJSON(t, "v1", "Pod", pod()))
	w.serve(csrPath, asJSON(t, "certificates.k8s.io/v1", "CertificateSigningRequest", csr()))
	w.serve(namespacePath, `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop","uid":"u-ns","resourceVersion":"2"},"spec":{"finalizers":["kubernetes"]},"status":{"phase":"Terminating"}}`)
	w.serve(scalePath, `{"apiVersion":"autoscaling/v1","kind":"Scale","metadata":{"name":"web","namespace":"shop","uid":"u-deployment","resourceVersion":"7"},"spec":{"replicas":3},"status":{"replicas":3}}`)
	b, err := widget().MarshalJSON()
	if err != nil {
		t.Fatal(err)
	}
	w.serve(widgetPath, string(b))
}

// A shape is one way in which upstream code writes.
type shape struct {
	name string
	// call makes the call, and returns the object it was answered with, if any.
	call func(ctx context.Context, w *world) (metav1.Object, error)
	// verb, object and subresource are what the record says.
	verb, object, subresource string
	// method and path are what arrives, where anything does.
	method, path string
	// token marks what no dry run may send.
	token bool
	// crd marks an API group that is not built in.
	crd bool
}

func shapes() []shape {
	ctxObj := func(o metav1.Object, err error) (metav1.Object, error) { return o, err }
	return []shape{
		{name: "create", verb: "create", object: "pods shop/new", method: "POST", path: "/api/v1/namespaces/shop/pods",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				p := pod()
				p.Name, p.UID, p.ResourceVersion = "new", "", ""
				return ctxObj(w.typed.CoreV1().Pods("shop").Create(ctx, p, metav1.CreateOptions{}))
			}},
		{name: "create, dynamic, custom resource", verb: "create", object: "widgets.example.com shop/w", method: "POST", path: "/apis/example.com/v1/namespaces/shop/widgets", crd: true,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.dynamic.Resource(widgets).Namespace("shop").Create(ctx, widget(), metav1.CreateOptions{}))
			}},
		{name: "update", verb: "update", object: "deployments.apps shop/web", method: "PUT", path: deploymentPath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				d := deployment()
				d.Spec.Replicas = ptr.To[int32](5)
				return ctxObj(w.typed.AppsV1().Deployments("shop").Update(ctx, d, metav1.UpdateOptions{}))
			}},
		{name: "update status", verb: "update", object: "deployments.apps shop/web", subresource: "status", method: "PUT", path: deploymentPath + "/status",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				d := deployment()
				d.Status.Replicas = 4
				return ctxObj(w.typed.AppsV1().Deployments("shop").UpdateStatus(ctx, d, metav1.UpdateOptions{}))
			}},
		{name: "update, dynamic", verb: "update", object: "widgets.example.com shop/w", method: "PUT", path: widgetPath, crd: true,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.dynamic.Resource(widgets).Namespace("shop").Update(ctx, widget(), metav1.UpdateOptions{}))
			}},
		{name: "strategic merge patch", verb: "patch", object: "deployments.apps shop/web", method: "PATCH", path: deploymentPath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.typed.AppsV1().Deployments("shop").Patch(ctx, "web", types.StrategicMergePatchType,
					[]byte(`{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"web:2"}]}}}}`), metav1.PatchOptions{}))
			}},
		{name: "merge patch", verb: "patch", object: "deployments.apps shop/web", method: "PATCH", path: deploymentPath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.typed.AppsV1().Deployments("shop").Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"labels":{"app":null}}}`), metav1.PatchOptions{}))
			}},
		{name: "JSON patch", verb: "patch", object: "deployments.apps shop/web", method: "PATCH", path: deploymentPath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.typed.AppsV1().Deployments("shop").Patch(ctx, "web", types.JSONPatchType, []byte(`[{"op":"replace","path":"/spec/replicas","value":9}]`), metav1.PatchOptions{}))
			}},
		{name: "patch status", verb: "patch", object: "pods shop/web", subresource: "status", method: "PATCH", path: podPath + "/status",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.typed.CoreV1().Pods("shop").Patch(ctx, "web", types.StrategicMergePatchType, []byte(`{"status":{"phase":"Failed"}}`), metav1.PatchOptions{}, "status"))
			}},
		{name: "patch, metadata client", verb: "patch", object: "pods shop/web", method: "PATCH", path: podPath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.metadata.Resource(pods).Namespace("shop").Patch(ctx, "web", types.MergePatchType, []byte(`{"metadata":{"finalizers":["x/y"]}}`), metav1.PatchOptions{}))
			}},
		{name: "apply", verb: "apply", object: "deployments.apps shop/web", method: "PATCH", path: deploymentPath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				d := applyapps.Deployment("web", "shop").WithSpec(applyapps.DeploymentSpec().WithReplicas(8))
				return ctxObj(w.typed.AppsV1().Deployments("shop").Apply(ctx, d, metav1.ApplyOptions{FieldManager: "t"}))
			}},
		{name: "apply status, dynamic", verb: "apply", object: "deployments.apps shop/web", subresource: "status", method: "PATCH", path: deploymentPath + "/status",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.dynamic.Resource(deployments).Namespace("shop").ApplyStatus(ctx, "web", &unstructured.Unstructured{Object: map[string]any{
					"apiVersion": "apps/v1", "kind": "Deployment", "metadata": map[string]any{"name": "web"}, "status": map[string]any{"replicas": int64(6)},
				}}, metav1.ApplyOptions{FieldManager: "t"}))
			}},
		{name: "delete", verb: "delete", object: "pods shop/web", method: "DELETE", path: podPath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return nil, w.typed.CoreV1().Pods("shop").Delete(ctx, "web", metav1.DeleteOptions{
					Preconditions: metav1.NewUIDPreconditions("u-pod"), PropagationPolicy: ptr.To(metav1.DeletePropagationBackground)})
			}},
		{name: "delete, dynamic", verb: "delete", object: "widgets.example.com shop/w", method: "DELETE", path: widgetPath, crd: true,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return nil, w.dynamic.Resource(widgets).Namespace("shop").Delete(ctx, "w", metav1.DeleteOptions{})
			}},
		{name: "delete, metadata client", verb: "delete", object: "pods shop/web", method: "DELETE", path: podPath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return nil, w.metadata.Resource(pods).Namespace("shop").Delete(ctx, "web", metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
			}},
		{name: "delete collection", verb: "deletecollection", object: "pods shop/", method: "DELETE", path: "/api/v1/namespaces/shop/pods",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return nil, w.typed.CoreV1().Pods("shop").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{LabelSelector: "app=web"})
			}},
		{name: "delete collection, metadata client", verb: "deletecollection", object: "pods shop/", method: "DELETE", path: "/api/v1/namespaces/shop/pods",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return nil, w.metadata.Resource(pods).Namespace("shop").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
			}},
		{name: "evict", verb: "create", object: "pods shop/web", subresource: "eviction", method: "POST", path: podPath + "/eviction",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return nil, w.typed.PolicyV1().Evictions("shop").Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"}})
			}},
		{name: "bind", verb: "create", object: "pods shop/web", subresource: "binding", method: "POST", path: podPath + "/binding",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return nil, w.typed.CoreV1().Pods("shop").Bind(ctx, &corev1.Binding{ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop"},
					Target: corev1.ObjectReference{Kind: "Node", Name: "n1"}}, metav1.CreateOptions{})
			}},
		{name: "update scale", verb: "update", object: "deployments.apps shop/web", subresource: "scale", method: "PUT", path: scalePath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.typed.AppsV1().Deployments("shop").UpdateScale(ctx, "web", &autoscalingv1.Scale{
					ObjectMeta: metav1.ObjectMeta{Name: "web", Namespace: "shop", ResourceVersion: "7"}, Spec: autoscalingv1.ScaleSpec{Replicas: 6}}, metav1.UpdateOptions{}))
			}},
		{name: "patch scale", verb: "patch", object: "deployments.apps shop/web", subresource: "scale", method: "PATCH", path: scalePath,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.dynamic.Resource(deployments).Namespace("shop").Patch(ctx, "web", types.MergePatchType, []byte(`{"spec":{"replicas":6}}`), metav1.PatchOptions{}, "scale"))
			}},
		{name: "approve", verb: "update", object: "certificatesigningrequests.certificates.k8s.io node", subresource: "approval", method: "PUT", path: csrPath + "/approval",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				c := csr()
				c.Status.Conditions = []certificatesv1.CertificateSigningRequestCondition{{Type: certificatesv1.CertificateApproved, Status: corev1.ConditionTrue}}
				return ctxObj(w.typed.CertificatesV1().CertificateSigningRequests().UpdateApproval(ctx, "node", c, metav1.UpdateOptions{}))
			}},
		{name: "finalize namespace", verb: "update", object: "namespaces shop", subresource: "finalize", method: "PUT", path: namespacePath + "/finalize",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.typed.CoreV1().Namespaces().Finalize(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "shop", UID: "u-ns", ResourceVersion: "2"}}, metav1.UpdateOptions{}))
			}},
		{name: "event", verb: "create", object: "events shop/web.1", method: "POST", path: "/api/v1/namespaces/shop/events",
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.typed.CoreV1().Events("shop").CreateWithEventNamespaceWithContext(ctx, event()))
			}},
		{name: "token", verb: "create", object: "serviceaccounts shop/default", subresource: "token", method: "POST", path: "/api/v1/namespaces/shop/serviceaccounts/default/token", token: true,
			call: func(ctx context.Context, w *world) (metav1.Object, error) {
				return ctxObj(w.typed.CoreV1().ServiceAccounts("shop").CreateToken(ctx, "default", tokenRequest(), metav1.CreateOptions{}))
			}},
	}
}

func event() *corev1.Event {
	return &corev1.Event{ObjectMeta: metav1.ObjectMeta{Name: "web.1", Namespace: "shop"}, Reason: "ScalingReplicaSet",
		Source:         corev1.EventSource{Component: "deployment-controller"},
		InvolvedObject: corev1.ObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Namespace: "shop", Name: "web", UID: "u-deployment"}}
}
