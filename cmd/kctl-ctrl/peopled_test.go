package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// peopled is a sandbox with a deployment and a StatefulSet that have been rolled
// out twice, and with objects that only a reader of ownerReferences finds odd.
// The garbage collector does not run, so that they stay.
type peopled struct {
	*testing.T
	*engine.Engine
	client kubernetes.Interface
}

func newPeopled(t *testing.T) *peopled {
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse([]string{"--controllers=deployment-controller,replicaset-controller,statefulset-controller"}); err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, engine.Spec{
		Controllers: options, Horizon: 300 * time.Millisecond,
		Sandbox: &engine.Sandbox{Nodes: 1},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Stop(context.Background()) })
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	p := &peopled{T: t, Engine: s}
	if p.client, err = kubernetes.NewForConfig(s.Config()); err != nil {
		t.Fatal(err)
	}
	p.people()
	return p
}

func (p *peopled) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
}

func (p *peopled) rest() {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	if _, err := p.WaitSettled(ctx, 0); err != nil {
		p.Fatal(err)
	}
}

func template(image string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": "x"}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}

func (p *peopled) people() {
	p.Helper()
	ctx, create, update := p.Context(), metav1.CreateOptions{}, metav1.UpdateOptions{}
	for _, name := range []string{"shop", "other"} {
		_, err := p.client.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}, create)
		p.must(err)
	}
	web := withLabel(template("web:1"), "web")
	deployment, err := p.client.AppsV1().Deployments("shop").Create(ctx, &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec:       appsv1.DeploymentSpec{Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: web.Labels}, Template: web},
	}, create)
	p.must(err)
	db := withLabel(template("db:1"), "db")
	_, err = p.client.AppsV1().StatefulSets("shop").Create(ctx, &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: "db"},
		Spec: appsv1.StatefulSetSpec{
			Replicas: ptr.To[int32](2), Selector: &metav1.LabelSelector{MatchLabels: db.Labels}, Template: db, ServiceName: "db", PodManagementPolicy: appsv1.ParallelPodManagement,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.RollingUpdateStatefulSetStrategyType, RollingUpdate: &appsv1.RollingUpdateStatefulSetStrategy{Partition: ptr.To[int32](1)}},
		},
	}, create)
	p.must(err)
	p.rest()
	current, err := p.client.AppsV1().Deployments("shop").Get(ctx, "web", metav1.GetOptions{})
	p.must(err)
	current.Spec.Template.Spec.Containers[0].Image = "web:2"
	_, err = p.client.AppsV1().Deployments("shop").Update(ctx, current, update)
	p.must(err)
	set, err := p.client.AppsV1().StatefulSets("shop").Get(ctx, "db", metav1.GetOptions{})
	p.must(err)
	set.Spec.Template.Spec.Containers[0].Image = "db:2"
	_, err = p.client.AppsV1().StatefulSets("shop").Update(ctx, set, update)
	p.must(err)
	p.rest()

	own := metav1.OwnerReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web", UID: deployment.UID, BlockOwnerDeletion: ptr.To(true)}
	gone := metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "gone", UID: "gone-uid"}
	for _, m := range []*corev1.ConfigMap{
		{ObjectMeta: metav1.ObjectMeta{Name: "held", Namespace: "shop", Finalizers: []string{"test.example/hold"}, OwnerReferences: []metav1.OwnerReference{own}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "orphan", Namespace: "shop", OwnerReferences: []metav1.OwnerReference{gone}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "far", Namespace: "other", OwnerReferences: []metav1.OwnerReference{own}}},
		{ObjectMeta: metav1.ObjectMeta{Name: "alone", Namespace: "shop"}},
	} {
		_, err := p.client.CoreV1().ConfigMaps(m.Namespace).Create(ctx, m, create)
		p.must(err)
	}
	_, err = p.client.RbacV1().Roles("shop").Create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Name: "see"}, Rules: []rbacv1.PolicyRule{
		{APIGroups: []string{"apps"}, Resources: []string{"deployments", "replicasets"}, Verbs: []string{"get", "list", "watch"}},
	}}, create)
	p.must(err)
	_, err = p.client.RbacV1().RoleBindings("shop").Create(ctx, &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "see"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "see"},
		Subjects: []rbacv1.Subject{{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: "jane"}},
	}, create)
	p.must(err)
	p.custom()
}

var widgets = schema.GroupVersionResource{Group: "shop.example", Version: "v1", Resource: "widgets"}

// custom makes a custom type, one object of it, and a ConfigMap that it owns.
func (p *peopled) custom() {
	p.Helper()
	objects, err := dynamic.NewForConfig(p.Config())
	p.must(err)
	crd := &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "widgets.shop.example"},
		"spec": map[string]any{
			"group": "shop.example", "scope": "Namespaced", "names": map[string]any{"plural": "widgets", "singular": "widget", "kind": "Widget"},
			"versions": []any{map[string]any{"name": "v1", "served": true, "storage": true, "schema": map[string]any{
				"openAPIV3Schema": map[string]any{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}}},
		},
	}}
	_, err = objects.Resource(schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}).Create(p.Context(), crd, metav1.CreateOptions{})
	p.must(err)
	var till *unstructured.Unstructured
	p.eventually("the custom type is served", func(ctx context.Context) bool {
		widget := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "shop.example/v1", "kind": "Widget", "metadata": map[string]any{"name": "till"}}}
		till, err = objects.Resource(widgets).Namespace("shop").Create(ctx, widget, metav1.CreateOptions{})
		if err != nil && !apierrors.IsNotFound(err) {
			p.Fatal(err)
		}
		return err == nil
	})
	_, err = p.client.CoreV1().ConfigMaps("shop").Create(p.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{
		Name: "tape", OwnerReferences: []metav1.OwnerReference{{APIVersion: "shop.example/v1", Kind: "Widget", Name: "till", UID: till.GetUID()}},
	}}, metav1.CreateOptions{})
	p.must(err)
}

func (p *peopled) eventually(what string, done func(context.Context) bool) {
	p.Helper()
	ctx, cancel := context.WithTimeout(p.Context(), time.Minute)
	defer cancel()
	err := wait.PollUntilContextCancel(ctx, 50*time.Millisecond, true, func(ctx context.Context) (bool, error) { return done(ctx), nil })
	if err != nil {
		p.Fatalf("never: %s", what)
	}
}

// as is the config of a user with few rights.
func (p *peopled) as(user string) *rest.Config {
	config := rest.CopyConfig(p.Config())
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return config
}

// drawn is a tree as `kctl-ctrl tree` prints it.
func drawn(t *testing.T, tree document.OwnerTree) string {
	t.Helper()
	var out strings.Builder
	if err := render.WriteTree(&out, tree, render.TreeOptions{Wide: true, NoHeaders: true}); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func hasAll(t *testing.T, text string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(text, w) {
			t.Errorf("%q is not in\n%s", w, text)
		}
	}
}
