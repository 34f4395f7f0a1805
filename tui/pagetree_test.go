package tui

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// fakeOwners answers with what a test put in, and remembers what was asked.
type fakeOwners struct {
	tree    document.OwnerTree
	cascade map[document.CascadePolicy]document.Cascade
	err     error
	asked   []string
}

func (f *fakeOwners) Tree(_ context.Context, object state.Ref) (document.OwnerTree, error) {
	f.asked = append(f.asked, "tree of "+object.String())
	return f.tree, f.err
}

func (f *fakeOwners) Roots(_ context.Context, namespace string) (document.OwnerTree, error) {
	f.asked = append(f.asked, "roots of "+namespace)
	return f.tree, f.err
}

func (f *fakeOwners) Cascade(_ context.Context, object state.Ref, policy document.CascadePolicy) (document.Cascade, error) {
	f.asked = append(f.asked, string(policy)+" "+object.String())
	return f.cascade[policy], f.err
}

func owned(group, resource, kind, name string, below ...*document.OwnerNode) *document.OwnerNode {
	n := &document.OwnerNode{
		Object: document.OwnedObject{
			Ref:  state.Ref{Group: group, Version: "v1", Resource: resource, Namespace: "shop", Name: name, UID: "uid-" + name},
			Kind: kind, Created: testNow.Add(-5 * time.Minute),
		},
		Dependents: below,
	}
	apiVersion := n.Object.APIVersion()
	for _, d := range below {
		d.Object.Owners = append(d.Object.Owners, document.OwnerRef{APIVersion: apiVersion, Kind: kind, Name: name, UID: n.Object.UID, Controller: true, BlockOwnerDeletion: true})
		d.Edge = &document.OwnerEdge{Controller: true, BlockOwnerDeletion: true, Verdict: document.OwnerPresent}
	}
	return n
}

func withStatus(n *document.OwnerNode, ready, word string, health document.Health) *document.OwnerNode {
	n.Status = &document.ObjectStatus{Ready: ready, State: word, Health: health}
	return n
}

// shopTree has a deployment, a claim that is held, and a map whose owner is in
// another namespace.
func shopTree() document.OwnerTree {
	pods := []*document.OwnerNode{
		withStatus(owned("", "pods", "Pod", "web-7c9-5fx"), "1/1", "Running", document.HealthReady),
		withStatus(owned("", "pods", "Pod", "web-7c9-9kd"), "0/1", "CrashLoopBackOff", document.HealthFailed),
	}
	web := withStatus(owned("apps", "deployments", "Deployment", "web",
		withStatus(owned("apps", "replicasets", "ReplicaSet", "web-7c9", pods...), "1/2", "Progressing", document.HealthProgressing),
		withStatus(owned("apps", "replicasets", "ReplicaSet", "web-5d4"), "0/0", "Ready", document.HealthReady),
	), "1/2", "Progressing", document.HealthProgressing)
	claim := owned("", "persistentvolumeclaims", "PersistentVolumeClaim", "data")
	claim.Object.Deleting, claim.Object.Finalizers = testNow.Add(-time.Minute), []string{"kubernetes.io/pvc-protection"}
	widget := owned("shop.example", "widgets", "Widget", "till", claim)
	far := owned("", "configmaps", "ConfigMap", "settings")
	gone := owned("", "configmaps", "ConfigMap", "elsewhere", far)
	gone.Absent = true
	far.Edge.Verdict, far.Edge.Why = document.OwnerAbsent, "there is no configmaps shop/elsewhere; the uid belongs to configmaps base/elsewhere, in another namespace, where an owner cannot be"
	return document.OwnerTree{Roots: []*document.OwnerNode{gone, web, widget}}
}

func shopCascades() map[document.CascadePolicy]document.Cascade {
	object := func(group, resource, kind, name string) document.OwnedObject {
		return owned(group, resource, kind, name).Object
	}
	web, set := object("apps", "deployments", "Deployment", "web"), object("apps", "replicasets", "ReplicaSet", "web-7c9")
	pod, shared := object("", "pods", "Pod", "web-7c9-5fx"), object("", "configmaps", "ConfigMap", "shared")
	keeper := document.OwnerRef{APIVersion: "shop.example/v1", Kind: "Widget", Name: "till", UID: "uid-till"}
	return map[document.CascadePolicy]document.Cascade{
		document.CascadeBackground: {
			Policy: document.CascadeBackground, Targets: []state.Ref{web.Ref}, Complete: true,
			Objects: []document.CascadeObject{
				{Object: web, Fate: document.FateDeleted, Step: 1, Policy: document.CascadeBackground, Why: "it is what is deleted"},
				{Object: set, Fate: document.FateDeleted, Step: 2, Policy: document.CascadeBackground, Why: "its last owner is gone"},
				{Object: pod, Fate: document.FateHeld, Step: 3, Policy: document.CascadeBackground, Why: "its last owner is gone", HeldBy: []document.CascadeFinalizer{
					{Name: "batch.kubernetes.io/job-tracking", ServedBy: "the Job controller, when it has counted the pod"}, {Name: "shop.example/till", SetBy: "till-operator"},
				}},
				{Object: shared, Fate: document.FateSurvives, Why: "it has another owner: Widget till", KeptBy: []document.OwnerRef{keeper}, Dropped: web.Owners},
			},
			Absent: []document.CascadeReference{{Dependent: shared.Ref, Owner: document.OwnerRef{Kind: "ConfigMap", Name: "elsewhere"}, Verdict: document.OwnerAbsent, Why: "there is no configmaps shop/elsewhere"}},
			Notes:  []string{"a pod that runs on a node goes when its kubelet has ended it"},
		},
		document.CascadeOrphan: {
			Policy: document.CascadeOrphan, Targets: []state.Ref{web.Ref}, Complete: false,
			Gaps: []document.ReadGap{{Type: "secrets", Namespace: "shop", Reason: "forbidden"}},
			Objects: []document.CascadeObject{
				{Object: web, Fate: document.FateDeleted, Step: 1, Policy: document.CascadeOrphan, Why: "it is what is deleted"},
				{Object: set, Fate: document.FateOrphaned, Why: "its owner is deleted with propagation policy Orphan, and it has no other owner"},
			},
		},
	}
}

func ownersScreen(t *testing.T, f *fakeOwners, w, h int) *screen {
	t.Helper()
	return newScreen(t, Options{Parts: page.Parts{Owners: f}, Start: int(page.Tree)}, shop(t, 0), w, h)
}

func TestTreePage(t *testing.T) {
	f := &fakeOwners{tree: shopTree(), cascade: shopCascades()}
	s := ownersScreen(t, f, 80, 24)
	s.golden("tree-80x24")
	s.press("j", "j").has("> Deployment/web")
	s.press("enter").has("> Deployment/web [+2]").hasNot("web-7c9-5fx")
	s.press("l", "l").has("> ├── ReplicaSet/web-7c9")
	s.press("h", "h").has("> Deployment/web ")
	s.press("x").golden("cascade-80x24")
	s.press("j", "j").has("removed by the Job controller", "no Kubernetes controller removes it")
	s.press("j").has("not followed: configmaps shop/shared → ConfigMap elsewhere: absent")
	s.press("o").has("[o Orphan]", "INCOMPLETE", "orphaned")
	s.press("enter").has("not read (forbidden) in namespace shop: secrets").press("esc")
	s.press("b").has("surviving").press("esc").has("Tree: roots")
	s.press("t").has("Tree: deployments.apps shop/web", "> Deployment/web").press("b").has("Tree: roots", "> Deployment/web")
	s.press("t").has("Tree: deployments.apps shop/web").press("esc").has("Tree: roots", "> Deployment/web")
	want := "roots of |Background deployments.apps shop/web|Orphan deployments.apps shop/web|tree of deployments.apps shop/web|roots of |tree of deployments.apps shop/web|roots of "
	if got := strings.Join(f.asked, "|"); got != want {
		t.Errorf("asked %s\nwant  %s", got, want)
	}
	wide := ownersScreen(t, f, 200, 60)
	wide.press("j").golden("tree-200x60")
	wide.press("j", "x", "j", "j").golden("cascade-200x60")
}

// A recording has no backend: the tree is what the informers told.
func TestTreeOfARecording(t *testing.T) {
	snap := shop(t, 900)
	o := shopOptions(snap)
	o.Start, o.Missing = int(page.Tree), "this is a recording"
	s := newScreen(t, o, snap, 80, 24)
	s.golden("tree-recording-80x24")
	s.press("x").has("not now: this is a recording")
	s.press("/", "type:web", "enter").has("/web", "deployments/web").hasNot("log-agent")
	s.press("esc")
	wide := newScreen(t, o, snap, 200, 60)
	wide.golden("tree-recording-200x60")
}

// The cursor stays on its object, whatever moves around it, also where it gets
// another owner.
func TestTreeKeepsItsPlace(t *testing.T) {
	f := &fakeOwners{tree: shopTree()}
	s := ownersScreen(t, f, 100, 24)
	s.press("G", "k", "k").has("ReplicaSet/web-5d4")
	s.press("k").has("> │   └── Pod/web-7c9-9kd")
	tree := shopTree()
	pod := tree.Roots[1].Dependents[0].Dependents[1]
	tree.Roots[1].Dependents[0].Dependents = tree.Roots[1].Dependents[0].Dependents[:1]
	tree.Roots[1].Dependents[1].Dependents = []*document.OwnerNode{pod}
	tree.Roots = append([]*document.OwnerNode{owned("", "configmaps", "ConfigMap", "aaa")}, tree.Roots...)
	f.tree = tree
	s.press("r").has(">     └── Pod/web-7c9-9kd")
}

// A page is asked anew when something of the tree has changed, but not more often
// than every two seconds, nor while it is not shown.
func TestTreeAsksAgain(t *testing.T) {
	f := &fakeOwners{tree: shopTree()}
	now := testNow
	snap := shop(t, 0)
	s := newScreen(t, Options{Parts: page.Parts{Owners: f}, Start: int(page.Tree), Now: func() time.Time { return now }}, snap, 80, 24)
	turn := func(after time.Duration, change bool, want int) {
		t.Helper()
		now = now.Add(after)
		s.env.Now = now
		if change {
			ref := f.tree.Roots[1].Object.Ref
			snap = state.Fold(snap, state.Entry{Seq: snap.Seq + 1, At: now, Event: state.ObjectChanged{
				Informer: "deployments.apps", Change: state.ChangeUpdated, Object: ref, NewRV: fmt.Sprint(snap.Seq),
			}})
		}
		s.show(snap)
		s.carryOut(s.tick())
		if len(f.asked) != want {
			t.Errorf("asked %d times, want %d", len(f.asked), want)
		}
	}
	turn(0, false, 1)
	turn(time.Second, true, 1)
	turn(time.Second, false, 2) // the change waited for its time
	turn(10*time.Second, false, 2)
	turn(10*time.Second, false, 3) // nothing is known to have changed
	s.press("1")
	turn(time.Minute, true, 3)
	s.press("5")
	turn(0, false, 4)
}

// While a question is under way, and after it failed, what was there stays.
func TestTreeKeepsTheOldAnswer(t *testing.T) {
	f := &fakeOwners{tree: shopTree()}
	s := ownersScreen(t, f, 120, 24)
	ask := func() tea.Cmd { _, cmd := s.Update(keyMsg("r")); return cmd }
	cmd := ask()
	s.has("Deployment/web").hasNot("asking…")
	s.env.Now = s.env.Now.Add(time.Second)
	s.has("asking…", "Deployment/web")
	f.err = errors.New("list pods in namespace shop: the server at https://x does not answer")
	s.carryOut(cmd)
	s.has("FAILED: list pods", "Deployment/web")

	// An answer to an earlier question does not count.
	f.err = nil
	old, late := ask(), ask()
	full := f.tree
	f.tree = document.OwnerTree{}
	s.carryOut(old)
	s.has("Deployment/web")
	s.carryOut(late)
	s.hasNot("Deployment/web")
	f.tree = full

	f.err = errors.New("no route")
	s = ownersScreen(t, f, 120, 24)
	s.has("It could not be read; r asks again. no route")
}

func TestTreeFocus(t *testing.T) {
	f := &fakeOwners{tree: shopTree()}
	s := newScreen(t, Options{Parts: page.Parts{Owners: f}}, shop(t, 0), 80, 24)
	pod := f.tree.Roots[1].Dependents[0].Dependents[1].Object.Ref
	pod.UID = ""
	s.send(page.JumpMsg{Page: page.Tree, To: page.Subject{Kind: page.OnWrite, Object: pod}})
	s.has("Tree: pods shop/web-7c9-9kd", "> │   └── Pod/web-7c9-9kd")
	s.press("esc").has("Controllers:")
	s.send(page.JumpMsg{Page: page.Tree, To: page.Subject{Kind: page.OnController, Controller: "job"}})
	s.has("Tree cannot show this controller")
}

func TestTreeFilter(t *testing.T) {
	f := &fakeOwners{tree: shopTree()}
	s := ownersScreen(t, f, 80, 24)
	s.press("F").hasNot("ReplicaSet")
	s.press("/", "type:crashloop", "enter").has("Deployment/web", "Pod/web-7c9-9kd").hasNot("web-5d4", "Widget")
	s.press("esc").hasNot("ReplicaSet").press("E").has("web-7c9-5fx")
	s.press("n", "ctrl+u", "type:kube-system", "enter").has("roots in namespace kube-system")
}

// Nothing that a cluster names things breaks the frame.
func TestTreeOfHostileNames(t *testing.T) {
	hostile := []string{
		"\x1b]52;c;aGk=\x07", "\u009b31mred", "\u202eevil\u2066", strings.Repeat("長い", 500), strings.Repeat("a", 1000), "e\u0301\u0301\u0301\u0301\u0301\u0301", "\x00\n\r\t", "👩‍👩‍👧‍👦🏳️‍🌈",
	}
	chain := owned("", "pods", hostile[0], hostile[1])
	for i := range 40 {
		chain = owned("", "pods", hostile[i%len(hostile)], hostile[(i+3)%len(hostile)]+fmt.Sprint(i), chain)
	}
	chain.Object.Finalizers, chain.Object.Namespace = hostile, hostile[2]
	chain.Status = &document.ObjectStatus{Ready: hostile[3], State: hostile[4], Message: hostile[0]}
	cascade := document.Cascade{Complete: false, Gaps: []document.ReadGap{{Type: hostile[4], Message: hostile[1]}}, Notes: hostile}
	chain.Walk(func(n *document.OwnerNode) {
		cascade.Objects = append(cascade.Objects, document.CascadeObject{Object: n.Object, Fate: document.FateHeld, Step: 1, Why: hostile[3], HeldBy: []document.CascadeFinalizer{{Name: hostile[0], SetBy: hostile[4]}}})
	})
	f := &fakeOwners{tree: document.OwnerTree{Roots: []*document.OwnerNode{chain}}, cascade: map[document.CascadePolicy]document.Cascade{document.CascadeBackground: cascade}}
	for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
		s := newScreen(t, Options{Parts: page.Parts{Owners: f, Theme: testTheme(t, "default", termenv.TrueColor)}, Start: int(page.Tree)}, shop(t, 0), size[0], size[1])
		for _, keys := range [][]string{{"j"}, {"G"}, {"d"}, {"esc"}, {"g", "x"}, {"j"}, {"enter"}, {"esc"}, {"esc"}} {
			s.press(keys...)
			if text := s.text(); strings.ContainsAny(text, "\x1b\x07\u009b\u202e\u2066\x00\r") {
				t.Fatalf("%v: the screen has a control in it: %q", keys, text)
			}
		}
	}
}

// Folding comes by itself where a tree is large, and drawing costs what is on the
// screen.
func TestLargeTree(t *testing.T) {
	f := &fakeOwners{tree: largeTree(30, 100)}
	s := ownersScreen(t, f, 80, 24)
	s.has("ReplicaSet/set-0 [+100]").hasNot("Pod/")
	if rows := s.page().Plain(s.env); len(rows) != 3030 || rows[1].Text != "Pod/set-0-pod-0, below ReplicaSet/set-0, namespace shop, status 1/1 Running, ownership controller,blocks" {
		t.Errorf("%d lines, %q", len(rows), rows[1].Text)
	}
	s.press("E").has("Pod/set-0-pod-0").press("G").has("set-29-pod-99")
	s.press("F").has("> ReplicaSet/set-29 [+100]")
}

func largeTree(sets, pods int) document.OwnerTree {
	var roots []*document.OwnerNode
	for i := range sets {
		var below []*document.OwnerNode
		for j := range pods {
			below = append(below, withStatus(owned("", "pods", "Pod", fmt.Sprintf("set-%d-pod-%d", i, j)), "1/1", "Running", document.HealthReady))
		}
		roots = append(roots, owned("apps", "replicasets", "ReplicaSet", fmt.Sprintf("set-%d", i), below...))
	}
	return document.OwnerTree{Roots: roots}
}

// BenchmarkTreeView draws a frame after a key, of 150,000 pods, all unfolded.
func BenchmarkTreeView(b *testing.B) {
	theme, err := widget.NewTheme("default", termenv.ANSI256)
	if err != nil {
		b.Fatal(err)
	}
	f := &fakeOwners{tree: largeTree(1500, 100)}
	m := newModel(b.Context(), Options{Parts: page.Parts{Theme: theme, Owners: f}, Journal: noJournal{}, Start: int(page.Tree), Now: func() time.Time { return testNow }})
	m.Update(tea.WindowSizeMsg{Width: 200, Height: 60})
	m.carryOut(m.page().Update(page.ShownMsg{}, m.env))
	m.Update(keyMsg("r"))
	m.Update(keyMsg("E"))
	for b.Loop() {
		m.Update(tea.KeyMsg{Type: tea.KeyDown})
		_ = m.View()
	}
	if rows := len(m.page().Plain(m.env)); rows != 151_500 {
		b.Fatalf("%d rows", rows)
	}
}
