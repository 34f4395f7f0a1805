package owners

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// testKinds is a server with ConfigMaps, Deployments and Nodes, and a group that
// does not answer.
func testKinds() *Kinds {
	verbs := metav1.Verbs{"create", "delete", "get", "list", "watch"}
	return NewKinds(
		[]*metav1.APIGroup{
			{Name: "", Versions: []metav1.GroupVersionForDiscovery{{Version: "v1"}}, PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v1"}},
			{Name: "apps", Versions: []metav1.GroupVersionForDiscovery{{Version: "v1"}, {Version: "v1beta1"}}, PreferredVersion: metav1.GroupVersionForDiscovery{Version: "v1"}},
		},
		[]*metav1.APIResourceList{
			{GroupVersion: "v1", APIResources: []metav1.APIResource{
				{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: verbs},
				{Name: "nodes", Kind: "Node", Verbs: verbs},
				{Name: "nodes/status", Kind: "Node", Verbs: verbs},
				{Name: "events", Kind: "Event", Namespaced: true, Verbs: verbs},
				{Name: "componentstatuses", Kind: "ComponentStatus", Verbs: metav1.Verbs{"get", "list"}},
			}},
			{GroupVersion: "apps/v1beta1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: verbs}}},
			{GroupVersion: "apps/v1", APIResources: []metav1.APIResource{{Name: "deployments", Kind: "Deployment", Namespaced: true, Verbs: verbs}}},
		},
		map[schema.GroupVersion]error{{Group: "metrics.k8s.io", Version: "v1"}: errors.New("no endpoints")},
	)
}

// configMap is the object "ns/name", whose uid is its name.
func configMap(namespace, name string, owners ...document.OwnerRef) *Object {
	return &Object{OwnedObject: document.OwnedObject{
		Ref: state.Ref{Version: "v1", Resource: "configmaps", Namespace: namespace, Name: name, UID: name}, Kind: "ConfigMap", Owners: owners,
	}}
}

func nodeObject(name string, owners ...document.OwnerRef) *Object {
	return &Object{OwnedObject: document.OwnedObject{
		Ref: state.Ref{Version: "v1", Resource: "nodes", Name: name, UID: name}, Kind: "Node", Owners: owners,
	}}
}

// owned is a reference to a ConfigMap; blocks sets blockOwnerDeletion.
func owned(name string, blocks ...bool) document.OwnerRef {
	return document.OwnerRef{APIVersion: "v1", Kind: "ConfigMap", Name: name, UID: name, BlockOwnerDeletion: len(blocks) > 0 && blocks[0]}
}

// graphWith is a graph in which all ConfigMaps of the namespaces and all Nodes
// were read.
func graphWith(objects ...*Object) *Graph {
	g := NewGraph(testKinds())
	for _, o := range objects {
		g.Add(o)
	}
	for _, t := range g.kinds.Ownable() {
		g.MarkComplete(t, "")
	}
	return g
}

func TestKinds(t *testing.T) {
	k := testKinds()
	var names []string
	for _, typ := range k.Ownable() {
		names = append(names, typ.Version+" "+typ.String())
	}
	if want := []string{"v1 configmaps", "v1 nodes", "v1 deployments.apps"}; !slices.Equal(names, want) {
		t.Errorf("ownable %q, want %q: preferred versions, no subresources, no events, nothing that cannot be watched", names, want)
	}
	if got, err := k.Lookup("apps/v1beta1", "Deployment"); err != nil || got.Version != "v1beta1" {
		t.Errorf("a version that is served but not preferred: %v %v", got, err)
	}
	for _, c := range [][2]string{{"apps/v2", "Deployment"}, {"apps/v1", "Widget"}, {"metrics.k8s.io/v1", "PodMetrics"}, {"a/b/c", "D"}} {
		if _, err := k.Lookup(c[0], c[1]); err == nil {
			t.Errorf("%v was found", c)
		}
	}
}

func TestVerdict(t *testing.T) {
	waiting := configMap("a", "waiting")
	waiting.Deleting, waiting.Finalizers = time.Unix(1, 0), []string{metav1.FinalizerDeleteDependents}
	deleting := configMap("a", "deleting")
	deleting.Deleting, deleting.Finalizers = time.Unix(1, 0), []string{"example.com/hold"}
	g := graphWith(configMap("a", "owner"), configMap("b", "other"), nodeObject("n"), waiting, deleting)
	delete(g.complete, scope{"apps", "deployments", ""})

	renamed, wrongUID := owned("owner"), owned("owner")
	renamed.Name, wrongUID.UID = "renamed", "another"
	oldVersion := document.OwnerRef{APIVersion: "apps/v2", Kind: "Deployment", Name: "d", UID: "d"}
	unread := document.OwnerRef{APIVersion: "apps/v1", Kind: "Deployment", Name: "d", UID: "d"}
	toNode := document.OwnerRef{APIVersion: "v1", Kind: "Node", Name: "n", UID: "n"}
	inA, cluster := configMap("a", "x"), nodeObject("m")
	for _, c := range []struct {
		name string
		item *Object
		ref  document.OwnerRef
		want document.OwnerVerdict
	}{
		{"there", inA, owned("owner"), document.OwnerPresent},
		{"being deleted, otherwise than in the foreground, it still keeps its dependents", inA, owned("deleting"), document.OwnerPresent},
		{"waiting for its dependents", inA, owned("waiting"), document.OwnerWaiting},
		{"gone", inA, owned("gone"), document.OwnerAbsent},
		{"in another namespace", inA, owned("other"), document.OwnerAbsent},
		{"the uid under another name", inA, renamed, document.OwnerAbsent},
		{"the name with another uid", inA, wrongUID, document.OwnerAbsent},
		{"cluster-scoped", inA, toNode, document.OwnerPresent},
		{"cluster-scoped with a namespaced owner", cluster, owned("owner"), document.OwnerInvalid},
		{"a version that is not served", inA, oldVersion, document.OwnerUnresolvable},
		{"a type that was not read", inA, unread, document.OwnerUnknown},
	} {
		if got, why := g.Verdict(c.item, c.ref); got != c.want {
			t.Errorf("%s: %s (%s), want %s", c.name, got, why, c.want)
		} else if (why == "") != (got == document.OwnerPresent) {
			t.Errorf("%s: %s with the reason %q", c.name, got, why)
		}
	}
	d := Type{Group: "apps", Version: "v1", Resource: "deployments", Kind: "Deployment", Namespaced: true}
	g.MarkAbsent(d, "a", "d")
	if got, _ := g.Verdict(inA, unread); got != document.OwnerAbsent {
		t.Errorf("looked for and not found: %s", got)
	}
}

// anyGraph draws a graph of ConfigMaps and a few Nodes with any references:
// cycles, objects that own themselves, owners that are not there, in other
// namespaces, named twice, and of kinds that are not served.
func anyGraph(t *rapid.T) []*Object {
	n := rapid.IntRange(1, 25).Draw(t, "objects")
	objects := make([]*Object, n)
	name := func(i int) string { return fmt.Sprintf("o%02d", i) }
	for i := range objects {
		if rapid.IntRange(0, 9).Draw(t, "cluster-scoped") == 0 {
			objects[i] = nodeObject(name(i))
		} else {
			objects[i] = configMap(rapid.SampledFrom([]string{"a", "a", "a", "b"}).Draw(t, "namespace"), name(i))
		}
		for range rapid.IntRange(0, 3).Draw(t, "owners") {
			j := rapid.IntRange(0, n).Draw(t, "owner") // n is not there
			ref := owned(name(j), rapid.Bool().Draw(t, "blocks"))
			ref.Kind = rapid.SampledFrom([]string{"ConfigMap", "ConfigMap", "ConfigMap", "ConfigMap", "Node", "Gone"}).Draw(t, "kind")
			objects[i].Owners = append(objects[i].Owners, ref)
		}
		if rapid.IntRange(0, 4).Draw(t, "held") == 0 {
			objects[i].Finalizers = []string{"example.com/hold"}
		}
		if rapid.IntRange(0, 9).Draw(t, "deleting") == 0 {
			objects[i].Deleting = time.Unix(1, 0)
			objects[i].Finalizers = append(objects[i].Finalizers, rapid.SampledFrom([]string{metav1.FinalizerDeleteDependents, "example.com/hold"}).Draw(t, "how"))
		}
	}
	return objects
}

func TestTreesOfAnyGraph(t *testing.T) { rapid.Check(t, treesOfAnyGraph) }

func FuzzOwnerGraph(f *testing.F) {
	for i := range 8 { // rapid draws from the bytes: these give graphs of one object and of some
		seed := make([]byte, 64<<i)
		_, _ = rand.NewChaCha8([32]byte{byte(i)}).Read(seed)
		f.Add(seed)
	}
	f.Fuzz(rapid.MakeFuzz(func(t *rapid.T) {
		treesOfAnyGraph(t)
		cascadesOfAnyGraph(t)
	}))
}

func treesOfAnyGraph(t *rapid.T) {
	objects := anyGraph(t)
	g := graphWith(objects...)
	references := 0
	for _, o := range objects {
		references += len(o.Owners)
	}
	root := objects[0]
	tree := g.Trees([]*Object{root}, 0)[0]
	shown, nodes := map[string]bool{}, 0
	tree.Walk(func(n *document.OwnerNode) {
		nodes++
		shown[n.Object.UID] = true
		if (n.Cycle || n.Repeated) && len(n.Dependents) > 0 {
			t.Fatalf("%s is said to be shown above and is shown again", n.Object.Name)
		}
	})
	if nodes > 1+references {
		t.Fatalf("%d nodes for %d references", nodes, references)
	}
	for _, d := range g.Descendants(root.UID) {
		if !shown[d.UID] {
			t.Fatalf("%s is missing from the tree", d.Name)
		}
	}
	for _, depth := range []int{1, 2} {
		g.Trees([]*Object{root}, depth)[0].Walk(func(*document.OwnerNode) {})
	}
	target := 0
	for _, top := range g.Climb(root) {
		top.Walk(func(n *document.OwnerNode) {
			if n.Target {
				target++
			}
		})
	}
	if target == 0 {
		t.Fatal("the object asked for is not below its owners")
	}
	if len(g.Tops([]*Object{root})) == 0 {
		t.Fatal("no tree to start from")
	}
}

// TestTreeShape reads a tree with everything odd in it.
func TestTreeShape(t *testing.T) {
	g := graphWith(
		configMap("a", "root"), configMap("a", "mid", owned("root")), configMap("a", "twice", owned("root"), owned("mid")),
		configMap("a", "under", owned("twice")), configMap("a", "self", owned("self"), owned("root")), configMap("b", "far", owned("root")),
	)
	var lines []string
	var print func(n *document.OwnerNode, indent string)
	print = func(n *document.OwnerNode, indent string) {
		line := indent + n.Object.Name
		if n.Edge != nil && n.Edge.Verdict != document.OwnerPresent {
			line += " " + string(n.Edge.Verdict)
		}
		if n.Cycle {
			line += " cycle"
		}
		if n.Repeated {
			line += " repeated"
		}
		if n.Hidden > 0 {
			line += fmt.Sprintf(" +%d", n.Hidden)
		}
		lines = append(lines, line)
		for _, d := range n.Dependents {
			print(d, indent+" ")
		}
	}
	print(g.Trees([]*Object{g.Object("root")}, 0)[0], "")
	want := []string{"root", " mid", "  twice", "   under", " self", "  self cycle", " twice repeated", " far absent"}
	if !slices.Equal(lines, want) {
		t.Errorf("got  %q\nwant %q", lines, want)
	}
	lines = nil
	print(g.Trees([]*Object{g.Object("root")}, 1)[0], "")
	if want := []string{"root", " mid +1", " self +1", " twice +1", " far absent"}; !slices.Equal(lines, want) {
		t.Errorf("depth 1: got  %q\nwant %q", lines, want)
	}
	lines = nil
	for _, top := range g.Climb(g.Object("under")) {
		print(top, "")
	}
	if want := []string{"root", " mid", "  twice", "   under", " twice repeated"}; !slices.Equal(lines, want) {
		t.Errorf("up: got  %q\nwant %q", lines, want)
	}
}

// A wide and a deep graph are drawn and played in time that grows with them.
func TestLargeGraphs(t *testing.T) {
	const n = 10_000
	wide, deep := []*Object{configMap("a", "root")}, []*Object{configMap("a", "root")}
	for i := range n {
		name := fmt.Sprintf("o%05d", i)
		wide = append(wide, configMap("a", name, owned("root", true)))
		deep = append(deep, configMap("a", name, owned(deep[i].Name, true)))
	}
	started := time.Now()
	for _, objects := range [][]*Object{wide, deep} {
		g := graphWith(objects...)
		g.Trees([]*Object{g.Object("root")}, 0)
		g.Climb(objects[n])
		for _, policy := range []document.CascadePolicy{document.CascadeBackground, document.CascadeForeground, document.CascadeOrphan} {
			c := g.Cascade([]*Object{g.Object("root")}, policy)
			gone := 0
			for _, o := range c.Objects {
				if o.Fate == document.FateDeleted {
					gone++
				}
			}
			if want := n + 1; policy != document.CascadeOrphan && gone != want {
				t.Errorf("%s: %d of %d go", policy, gone, want)
			}
		}
	}
	if took := time.Since(started); took > 20*time.Second {
		t.Errorf("took %s", took)
	}
}
