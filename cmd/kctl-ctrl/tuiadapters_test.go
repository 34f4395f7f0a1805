package main

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/tuibackend"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// TestScreenReaders runs what the screen asks against a sandbox.
func TestScreenReaders(t *testing.T) {
	testbed.WithControllers(t)
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
	read := tuibackend.NewOwners(p.Config(), "sandbox", func() string { return "shop" })
	t.Cleanup(read.Close)
	roots, err := read.Roots(ctx, "shop")
	if err != nil {
		t.Fatal(err)
	}
	text := drawn(t, roots)
	hasAll(t, text, "Deployment/web", "StatefulSet/db", "Widget.shop.example/till", "└── ConfigMap/tape", "ConfigMap/gone", "owner not found", "├── ConfigMap/held", "test.example/hold", "1/1   Running", "controller,blocks")
	if strings.Contains(text, "alone") || strings.Contains(text, "far") {
		t.Errorf("what has no owners and owns nothing, or is in another namespace, is shown:\n%s", text)
	}
	if len(roots.Gaps) > 0 || roots.Cost.Requests == 0 {
		t.Errorf("gaps %v, cost %v", roots.Gaps, roots.Cost)
	}

	// A type as a user calls it, in the namespace of the session.
	for _, ref := range []state.Ref{{Resource: "deploy", Name: "web"}, {Resource: "Deployment", Namespace: "shop", Name: "web"}} {
		tree, err := read.Tree(ctx, ref)
		if err != nil {
			t.Fatal(err)
		}
		hasAll(t, drawn(t, tree), "Deployment/web", "ConfigMap/held")
	}
	if _, err := read.Tree(ctx, state.Ref{Resource: "deplyo", Name: "web"}); err == nil || !strings.Contains(err.Error(), `serves no type "deplyo"`) {
		t.Errorf("a type that is not served: %v", err)
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
		root.Walk(func(n *document.OwnerNode) {
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
	followed := read.Followed
	p.eventually("the tree has three pods", func(ctx context.Context) bool {
		if tree, err = read.Tree(ctx, pod); err != nil {
			t.Fatal(err)
		}
		return strings.Count(drawn(t, tree), "Pod/web-") == 3 && strings.Count(drawn(t, tree), "1/1   Running") == 3
	})
	if read.Followed != followed {
		t.Error("the tree was read anew")
	}
	t.Logf("%d requests for the first tree, %d for all until the third pod ran", before, tree.Cost.Requests)

	// An owner in another namespace counts as absent, and stands above.
	far, err := read.Tree(ctx, state.Ref{Version: "v1", Resource: "configmaps", Namespace: "other", Name: "far"})
	if err != nil {
		t.Fatal(err)
	}
	if len(far.Roots) != 1 || !far.Roots[0].Absent || far.Roots[0].Object.Name != "web" || len(far.Roots[0].Dependents) != 1 || far.Roots[0].Dependents[0].Edge.Verdict != document.OwnerAbsent {
		t.Errorf("the far one:\n%s", drawn(t, far))
	}
	if followed == read.Followed {
		t.Error("the watches of the tree before go on")
	}

	for name, question := range map[string]func() error{
		`get deployments.apps shop/none: deployments.apps "none" not found`: func() error {
			_, err := read.Tree(ctx, deploymentRef("shop", "none"))
			return err
		},
		"the API server serves no type": func() error {
			_, err := read.Tree(ctx, state.Ref{Group: "none.example", Resource: "nothings", Name: "x"})
			return err
		},
	} {
		if err := question(); err == nil || !strings.Contains(err.Error(), name) || strings.Contains(err.Error(), "\n") {
			t.Errorf("error %v, want %q", err, name)
		}
	}

	jane := tuibackend.NewOwners(p.as("jane"), "sandbox", func() string { return "shop" })
	t.Cleanup(jane.Close)
	part, err := jane.Tree(ctx, deploymentRef("shop", "web"))
	if err != nil {
		t.Fatal(err)
	}
	hasAll(t, drawn(t, part), "Deployment/web", "ReplicaSet/web-")
	if !slices.ContainsFunc(part.Gaps, func(g document.ReadGap) bool { return g.Type == "pods" && g.Reason == "forbidden" }) {
		t.Errorf("that pods may not be read is not said: %v", part.Gaps)
	}
}

func (p *peopled) testCascade(t *testing.T) {
	ctx := t.Context()
	read := tuibackend.NewOwners(p.Config(), "sandbox", func() string { return "" })
	t.Cleanup(read.Close)
	fates := func(policy document.CascadePolicy) (map[string]document.CascadeObject, document.Cascade) {
		t.Helper()
		c, err := read.Cascade(ctx, deploymentRef("shop", "web"), policy)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]document.CascadeObject{}
		for _, o := range c.Objects {
			out[o.Object.Kind+"/"+o.Object.Name] = o
		}
		return out, c
	}
	background, c := fates(document.CascadeBackground)
	if held := background["ConfigMap/held"]; held.Fate != document.FateHeld || len(held.HeldBy) != 1 || held.HeldBy[0].Name != "test.example/hold" {
		t.Errorf("held: %+v", held)
	}
	if background["Deployment/web"].Fate != document.FateDeleted || !c.Complete || c.Policy != document.CascadeBackground {
		t.Errorf("background: %+v", c)
	}
	read.Now = func() time.Time { return time.Now().Add(tuibackend.CascadeFor / 2) }
	shared := read.Previewed
	foreground, _ := fates(document.CascadeForeground)
	if foreground["Deployment/web"].Fate != document.FateBehind {
		t.Errorf("foreground: %+v", foreground["Deployment/web"])
	}
	orphan, _ := fates(document.CascadeOrphan)
	if orphan["ConfigMap/held"].Fate != document.FateOrphaned {
		t.Errorf("orphan: %+v", orphan["ConfigMap/held"])
	}
	if read.Previewed != shared {
		t.Error("each policy read the cluster anew")
	}
	read.Now = func() time.Time { return time.Now().Add(2 * tuibackend.CascadeFor) }
	fates(document.CascadeBackground)
	if read.Previewed == shared {
		t.Error("an old reading was used")
	}
	other := deploymentRef("shop", "web")
	other.UID = "another"
	if _, err := read.Cascade(ctx, other, document.CascadeBackground); err == nil || !strings.Contains(err.Error(), "another object now") {
		t.Errorf("another object of the name: %v", err)
	}
}

func (p *peopled) testRevisions(t *testing.T) {
	ctx := t.Context()
	for _, namespace := range []string{"shop", ""} {
		read := tuibackend.NewRevisions(p.Config(), func() string { return namespace })
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
	read := tuibackend.NewRevisions(p.Config(), func() string { return "shop" })
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
	jane := tuibackend.NewRevisions(p.as("jane"), func() string { return "shop" })
	lists, err := jane.List(ctx)
	if len(lists) != 1 || lists[0].Object.Name != "web" || lists[0].PodsKnown {
		t.Errorf("jane sees %+v", lists)
	}
	if err == nil {
		t.Fatal("jane is not told what is missing")
	}
	hasAll(t, err.Error(), "controllerrevisions.apps in namespace shop", "lacks the right")
	if _, err := tuibackend.NewRevisions(p.as("nobody"), func() string { return "shop" }).List(ctx); err == nil {
		t.Error("nobody sees something")
	}
}

func withLabel(template corev1.PodTemplateSpec, app string) corev1.PodTemplateSpec {
	template = *template.DeepCopy()
	template.Labels = map[string]string{"app": app}
	return template
}
