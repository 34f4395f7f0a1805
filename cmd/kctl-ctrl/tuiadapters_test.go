package main

import (
	"context"
	"path/filepath"
	"reflect"
	"slices"
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
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// peopled is a sandbox with a deployment and a StatefulSet that have been rolled
// out twice, and with objects that only a reader of ownerReferences finds odd.
// The garbage collector does not run, so that they stay.
type peopled struct {
	*testing.T
	*session
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
	s, err := newSession(sessionOptions{logFile: filepath.Join(t.TempDir(), "log"), horizon: 300 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.stop(context.Background()) })
	sb := sandboxFlags{nodes: 1, nodeCPU: "8", nodeMem: "8Gi", nodePods: "50", pods: "ready"}
	if err := s.startSandbox(t.Context(), sb, options, "", state.ModeActive, func(string) {}); err != nil {
		t.Fatal(err)
	}
	p := &peopled{T: t, session: s}
	if p.client, err = kubernetes.NewForConfig(s.config); err != nil {
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
	if _, err := p.settler.Wait(ctx); err != nil {
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
	objects, err := dynamic.NewForConfig(p.config)
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
	config := rest.CopyConfig(p.config)
	config.Impersonate = rest.ImpersonationConfig{UserName: user}
	return config
}

// drawn is a tree as `kctl-ctrl tree` prints it.
func drawn(t *testing.T, tree state.OwnerTree) string {
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

// TestScreenReaders runs what the screen asks against a sandbox.
func TestScreenReaders(t *testing.T) {
	p := newPeopled(t)
	t.Run("owners", func(t *testing.T) { p.testOwners(t) })
	t.Run("cascade", func(t *testing.T) { p.testCascade(t) })
	t.Run("revisions", func(t *testing.T) { p.testRevisions(t) })
}

func deploymentRef(namespace, name string) state.Ref {
	return state.Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: namespace, Name: name}
}

func (p *peopled) testOwners(t *testing.T) {
	ctx := t.Context()
	read := newTUIOwners(p.config, "sandbox", func() string { return "shop" })
	t.Cleanup(read.Close)
	roots, err := read.Roots(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	text := drawn(t, roots)
	hasAll(t, text, "Deployment/web", "StatefulSet/db", "Widget.shop.example/till", "└── ConfigMap/tape", "ConfigMap/gone", "owner not there", "├── ConfigMap/held", "test.example/hold", "1/1   Running", "controller,blocks")
	if strings.Contains(text, "alone") || strings.Contains(text, "far") {
		t.Errorf("what has no owners and owns nothing, or is in another namespace, is shown:\n%s", text)
	}
	if len(roots.Gaps) > 0 || roots.Cost.Requests == 0 {
		t.Errorf("gaps %v, cost %v", roots.Gaps, roots.Cost)
	}

	// From a pod up to its Deployment, and what hangs on that.
	pods, err := p.client.CoreV1().Pods("shop").List(ctx, metav1.ListOptions{LabelSelector: "app=web"})
	if err != nil || len(pods.Items) == 0 {
		t.Fatal(err, len(pods.Items))
	}
	pod := state.Ref{Version: "v1", Resource: "pods", Namespace: "shop", Name: pods.Items[0].Name}
	tree, err := read.Tree(ctx, pod)
	if err != nil {
		t.Fatal(err)
	}
	text = drawn(t, tree)
	hasAll(t, text, "Deployment/web", "Pod/"+pod.Name, "ConfigMap/held")
	target := 0
	for _, root := range tree.Roots {
		root.Walk(func(n *state.OwnerNode) {
			if n.Target && n.Object.Name == pod.Name {
				target++
			}
		})
	}
	if target != 1 {
		t.Errorf("%d nodes are the target", target)
	}

	// The second question is answered from watches: it costs next to nothing, and
	// sees what came.
	scale, err := p.client.AppsV1().Deployments("shop").GetScale(ctx, "web", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	scale.Spec.Replicas = 3
	if _, err := p.client.AppsV1().Deployments("shop").UpdateScale(ctx, "web", scale, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	before := tree.Cost.Requests
	followed := read.followed
	p.eventually("the tree has three pods", func(ctx context.Context) bool {
		if tree, err = read.Tree(ctx, pod); err != nil {
			t.Fatal(err)
		}
		return strings.Count(drawn(t, tree), "Pod/web-") == 3 && strings.Count(drawn(t, tree), "1/1   Running") == 3
	})
	if read.followed != followed {
		t.Error("the tree was read anew")
	}
	t.Logf("%d requests for the first tree, %d for all until the third pod ran", before, tree.Cost.Requests)

	// An owner in another namespace counts as absent, and stands above.
	far, err := read.Tree(ctx, state.Ref{Version: "v1", Resource: "configmaps", Namespace: "other", Name: "far"})
	if err != nil {
		t.Fatal(err)
	}
	if len(far.Roots) != 1 || !far.Roots[0].Absent || far.Roots[0].Object.Name != "web" || len(far.Roots[0].Dependents) != 1 || far.Roots[0].Dependents[0].Edge.Verdict != state.OwnerAbsent {
		t.Errorf("the far one:\n%s", drawn(t, far))
	}
	if followed == read.followed {
		t.Error("the watches of the tree before go on")
	}

	for name, question := range map[string]func() error{
		`get deployments.apps shop/none: deployments.apps "none" not found`: func() error {
			_, err := read.Tree(ctx, deploymentRef("shop", "none"))
			return err
		},
		"the server has no objects of this type": func() error {
			_, err := read.Tree(ctx, state.Ref{Group: "none.example", Resource: "nothings", Name: "x"})
			return err
		},
	} {
		if err := question(); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q", err, name)
		}
	}

	jane := newTUIOwners(p.as("jane"), "sandbox", func() string { return "shop" })
	t.Cleanup(jane.Close)
	part, err := jane.Tree(ctx, deploymentRef("shop", "web"))
	if err != nil {
		t.Fatal(err)
	}
	hasAll(t, drawn(t, part), "Deployment/web", "ReplicaSet/web-")
	if !slices.ContainsFunc(part.Gaps, func(g state.ReadGap) bool { return g.Type == "pods" && g.Reason == "forbidden" }) {
		t.Errorf("that pods may not be read is not said: %v", part.Gaps)
	}
}

func (p *peopled) testCascade(t *testing.T) {
	ctx := t.Context()
	read := newTUIOwners(p.config, "sandbox", func() string { return "" })
	t.Cleanup(read.Close)
	fates := func(policy state.CascadePolicy) (map[string]state.CascadeObject, state.Cascade) {
		t.Helper()
		c, err := read.Cascade(ctx, deploymentRef("shop", "web"), policy)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]state.CascadeObject{}
		for _, o := range c.Objects {
			out[o.Object.Kind+"/"+o.Object.Name] = o
		}
		return out, c
	}
	background, c := fates(state.CascadeBackground)
	if held := background["ConfigMap/held"]; held.Fate != state.FateHeld || len(held.HeldBy) != 1 || held.HeldBy[0].Name != "test.example/hold" {
		t.Errorf("held: %+v", held)
	}
	if background["Deployment/web"].Fate != state.FateDeleted || !c.Complete || c.Policy != state.CascadeBackground {
		t.Errorf("background: %+v", c)
	}
	read.now = func() time.Time { return time.Now().Add(cascadeFor / 2) }
	shared := read.previewed
	foreground, _ := fates(state.CascadeForeground)
	if foreground["Deployment/web"].Fate != state.FateBehind {
		t.Errorf("foreground: %+v", foreground["Deployment/web"])
	}
	orphan, _ := fates(state.CascadeOrphan)
	if orphan["ConfigMap/held"].Fate != state.FateOrphaned {
		t.Errorf("orphan: %+v", orphan["ConfigMap/held"])
	}
	if read.previewed != shared {
		t.Error("each policy read the cluster anew")
	}
	read.now = func() time.Time { return time.Now().Add(2 * cascadeFor) }
	fates(state.CascadeBackground)
	if read.previewed == shared {
		t.Error("an old reading was used")
	}
	other := deploymentRef("shop", "web")
	other.UID = "another"
	if _, err := read.Cascade(ctx, other, state.CascadeBackground); err == nil || !strings.Contains(err.Error(), "another object now") {
		t.Errorf("another object of the name: %v", err)
	}
}

func (p *peopled) testRevisions(t *testing.T) {
	ctx := t.Context()
	for _, namespace := range []string{"shop", ""} {
		read := newTUIRevisions(p.config, func() string { return namespace })
		lists, err := read.List(ctx)
		if err != nil || len(lists) != 2 {
			t.Fatalf("%d histories, %v", len(lists), err)
		}
		for _, list := range lists {
			of, err := read.Of(ctx, list.Object)
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(list, of) {
				t.Errorf("the list says\n%+v\nand the history alone\n%+v", list, of)
			}
		}
		web, db := lists[0], lists[1]
		if web.ObjectKind != "Deployment" || len(web.Items) != 2 || !web.Items[1].Current || !web.Items[1].Update || web.Items[1].PodCount < 2 || web.Items[1].Images[0] != "web:2" {
			t.Errorf("web: %+v", web)
		}
		if db.ObjectKind != "StatefulSet" || len(db.Items) != 2 || !db.Items[0].Current || !db.Items[1].Update || *db.Partition != 1 ||
			!slices.Equal(db.Items[0].Pods, []string{"db-0"}) || !slices.Equal(db.Items[1].Pods, []string{"db-1"}) {
			t.Errorf("db: %+v", db)
		}
	}
	read := newTUIRevisions(p.config, func() string { return "shop" })
	web := deploymentRef("shop", "web")
	diff, err := read.Diff(ctx, web, "1", "live")
	if err != nil || len(diff.Changes) != 1 || diff.Changes[0].New != `"web:2"` {
		t.Errorf("diff %+v, %v", diff, err)
	}
	undo, err := read.Undo(ctx, web, 1)
	if err != nil || !undo.HasChanges {
		t.Errorf("undo %+v, %v", undo, err)
	}
	if _, err := read.Of(ctx, state.Ref{Version: "v1", Resource: "pods", Namespace: "shop", Name: "x"}); err == nil {
		t.Error("pods have revisions")
	}

	// Jane sees Deployments and their ReplicaSets: she gets those, without pods.
	jane := newTUIRevisions(p.as("jane"), func() string { return "shop" })
	lists, err := jane.List(ctx)
	if len(lists) != 1 || lists[0].Object.Name != "web" || lists[0].PodsKnown {
		t.Errorf("jane sees %+v", lists)
	}
	if err == nil {
		t.Fatal("jane is not told what is missing")
	}
	hasAll(t, err.Error(), "controllerrevisions.apps in namespace shop", "lacks the right")
	if _, err := newTUIRevisions(p.as("nobody"), func() string { return "shop" }).List(ctx); err == nil {
		t.Error("nobody sees something")
	}
}

func withLabel(template corev1.PodTemplateSpec, app string) corev1.PodTemplateSpec {
	template = *template.DeepCopy()
	template.Labels = map[string]string{"app": app}
	return template
}
