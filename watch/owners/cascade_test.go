package owners

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// outcome is a cascade in a line: "1 deleted root, 2 held x".
func outcome(c document.Cascade) string {
	var words []string
	for _, o := range c.Objects {
		word := string(o.Fate) + " " + o.Object.Name
		if o.Step > 0 {
			word = fmt.Sprintf("%d %s", o.Step, word)
		}
		words = append(words, word)
	}
	return strings.Join(words, ", ")
}

func heldObject(o *Object) *Object {
	o.Finalizers = append(o.Finalizers, "example.com/hold")
	return o
}

func TestCascade(t *testing.T) {
	shared := func() []*Object {
		return []*Object{
			configMap("a", "root"), configMap("a", "kid", owned("root", true)), configMap("a", "grandkid", owned("kid", true)),
			configMap("a", "keeper"), configMap("a", "kept", owned("root", true), owned("keeper")),
		}
	}
	gone := document.OwnerRef{APIVersion: "old.example/v1", Kind: "Widget", Name: "w", UID: "w"}
	for _, c := range []struct {
		name    string
		objects []*Object
		policy  document.CascadePolicy
		want    string
	}{
		{"background: top down", shared(), document.CascadeBackground,
			"1 deleted root, 2 deleted kid, 3 deleted grandkid, survives kept"},
		{"foreground: bottom up", shared(), document.CascadeForeground,
			"1 deleted grandkid, 2 deleted kid, 3 deleted root, survives kept"},
		{"orphan: the direct dependents only", shared(), document.CascadeOrphan,
			"1 deleted root, survives kept, orphaned kid"},
		{"foreground does not wait for what does not block",
			[]*Object{configMap("a", "root"), configMap("a", "kid", owned("root")), configMap("a", "grandkid", owned("kid", true))}, document.CascadeForeground,
			"1 deleted root, 2 deleted grandkid, 3 deleted kid"},
		{"a finalizer holds the root, and what it owns stays behind it",
			[]*Object{heldObject(configMap("a", "root")), configMap("a", "kid", owned("root")), configMap("a", "grandkid", owned("kid"))}, document.CascadeBackground,
			"1 held root, 2 behind kid, 3 behind grandkid"},
		{"a finalizer on a dependent does not hold a background deletion",
			[]*Object{configMap("a", "root"), heldObject(configMap("a", "kid", owned("root", true))), configMap("a", "grandkid", owned("kid", true))}, document.CascadeBackground,
			"1 deleted root, 2 held kid, 3 behind grandkid"},
		{"but holds one in the foreground",
			[]*Object{configMap("a", "root"), heldObject(configMap("a", "kid", owned("root", true))), configMap("a", "other", owned("root", true))}, document.CascadeForeground,
			"1 deleted other, 2 held kid, 3 behind root"},
		{"an owner of a kind that is not served: GC cannot decide",
			[]*Object{configMap("a", "root"), configMap("a", "kid", owned("root"), gone)}, document.CascadeBackground,
			"1 deleted root, stuck kid"},
		{"and in the foreground the root waits for it for ever",
			[]*Object{configMap("a", "root"), configMap("a", "kid", owned("root", true), gone)}, document.CascadeForeground,
			"stuck kid, stuck root"},
		{"a dependent in another namespace goes too: for GC it has no owner",
			[]*Object{configMap("a", "root"), configMap("b", "far", owned("root"))}, document.CascadeBackground,
			"1 deleted root, 2 deleted far"},
		{"two that own each other keep each other",
			[]*Object{configMap("a", "root"), configMap("a", "x", owned("root"), owned("y")), configMap("a", "y", owned("x"))}, document.CascadeBackground,
			"1 deleted root, survives x"},
		{"one that owns itself and blocks that waits for itself",
			[]*Object{configMap("a", "root", owned("root", true))}, document.CascadeForeground,
			"stuck root"},
		{"a circle with the root in it goes in the foreground",
			[]*Object{configMap("a", "root", owned("kid", true)), configMap("a", "kid", owned("root", true))}, document.CascadeForeground,
			"1 deleted root, 2 deleted kid"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := graphWith(c.objects...)
			if got := outcome(g.Cascade([]*Object{g.Object("root")}, c.policy)); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCascadeExplains(t *testing.T) {
	kid := heldObject(configMap("a", "kid", owned("root", true)))
	kid.Finalizers = append(kid.Finalizers, "kubernetes.io/pvc-protection")
	kid.setBy = map[string]string{"example.com/hold": "operator"}
	managed := owned("manager")
	managed.Controller = true
	g := graphWith(configMap("a", "manager"), configMap("a", "root", managed), kid,
		configMap("a", "kept", owned("root", true), owned("manager")), configMap("b", "far", owned("root")))
	c := g.Cascade([]*Object{g.Object("root")}, document.CascadeForeground)
	byName := map[string]document.CascadeObject{}
	for _, o := range c.Objects {
		byName[o.Object.Name] = o
	}
	if held := byName["kid"].HeldBy; len(held) != 2 || held[0].SetBy != "operator" || held[0].ServedBy != "" || held[1].ServedBy == "" {
		t.Errorf("held by %+v", held)
	}
	if behind := byName["root"].Behind; len(behind) != 1 || behind[0].Name != "kid" {
		t.Errorf("the root is behind %v", behind)
	}
	if kept := byName["kept"]; len(kept.KeptBy) != 1 || kept.KeptBy[0].Name != "manager" || len(kept.Dropped) != 1 || kept.Dropped[0].Name != "root" {
		t.Errorf("kept: %+v", kept)
	}
	if len(c.Absent) != 1 || c.Absent[0].Dependent.Name != "far" || c.Absent[0].Verdict != document.OwnerAbsent {
		t.Errorf("absent: %+v", c.Absent)
	}
	notes := strings.Join(c.Notes, "\n")
	for _, want := range []string{"controller will replace it", "metrics.k8s.io/v1"} {
		if !strings.Contains(notes, want) {
			t.Errorf("no note says %q:\n%s", want, notes)
		}
	}
}

// The claims of a StatefulSet stay unless it owns them: whoever deletes it wants to
// know, and whoever looks at another of a similar name does not.
func TestCascadeNamesClaimsThatStay(t *testing.T) {
	of := func(resource, name string, owners ...document.OwnerRef) *Object {
		o := configMap("a", name, owners...)
		o.Resource, o.Kind = resource, "PersistentVolumeClaim"
		return o
	}
	set := of("statefulsets", "db")
	set.Group, set.Kind = "apps", "StatefulSet"
	ref := document.OwnerRef{APIVersion: "apps/v1", Kind: "StatefulSet", Name: "db", UID: "db"}
	g := graphWith(set, of("persistentvolumeclaims", "data-db-0"), of("persistentvolumeclaims", "log-db-12"),
		of("persistentvolumeclaims", "data-db-1", ref), of("persistentvolumeclaims", "data-mydb-x"), of("persistentvolumeclaims", "data-db-old"))
	notes := strings.Join(g.Cascade([]*Object{set}, document.CascadeBackground).Notes, "\n")
	if !strings.Contains(notes, "persistentvolumeclaims a/data-db-0, persistentvolumeclaims a/log-db-12: by their names, claims of statefulsets.apps a/db") {
		t.Errorf("the notes do not name what stays:\n%s", notes)
	}
}

// What is being deleted before keeps its state: GC does not touch it again.
func TestCascadeOverEarlierDeletions(t *testing.T) {
	kid := heldObject(configMap("a", "kid", owned("root", true)))
	kid.Deleting = time.Unix(1, 0)
	g := graphWith(configMap("a", "root"), kid)
	if got, want := outcome(g.Cascade([]*Object{g.Object("root")}, document.CascadeForeground)), "1 held kid, 2 behind root"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestCascadesOfAnyGraph(t *testing.T) { rapid.Check(t, cascadesOfAnyGraph) }

func cascadesOfAnyGraph(t *rapid.T) {
	objects := anyGraph(t)
	policy := rapid.SampledFrom([]document.CascadePolicy{document.CascadeBackground, document.CascadeForeground, document.CascadeOrphan}).Draw(t, "policy")
	g := graphWith(objects...)
	before := len(g.byUID)
	c := g.Cascade([]*Object{objects[0]}, policy)
	if len(g.byUID) != before || !slices.Equal(g.Object(objects[0].UID).Owners, objects[0].Owners) {
		t.Fatal("the graph was changed")
	}
	fate := map[string]document.CascadeObject{}
	steps := map[int]bool{}
	for _, o := range c.Objects {
		if _, twice := fate[o.Object.UID]; twice {
			t.Fatalf("%s is reported twice", o.Object.Name)
		}
		fate[o.Object.UID] = o
		goes := slices.Contains([]document.CascadeFate{document.FateDeleted, document.FateHeld, document.FateBehind}, o.Fate)
		if goes != (o.Step > 0) {
			t.Fatalf("%s is %s in step %d", o.Object.Name, o.Fate, o.Step)
		}
		if o.Why == "" {
			t.Fatalf("%s is %s without a reason", o.Object.Name, o.Fate)
		}
		if (o.Fate == document.FateHeld) != (len(o.HeldBy) > 0) && o.Fate != document.FateStuck {
			t.Fatalf("%s is %s by %v", o.Object.Name, o.Fate, o.HeldBy)
		}
		if o.Fate == document.FateBehind && len(o.Behind) == 0 {
			t.Fatalf("%s is behind nothing", o.Object.Name)
		}
		if o.Step > 0 {
			steps[o.Step] = true
		}
	}
	if max := len(steps); max > 0 && !steps[max] {
		t.Fatalf("steps %v", slices.Collect(maps.Keys(steps)))
	}
	if _, reported := fate[objects[0].UID]; !reported {
		t.Fatal("the target is not reported")
	}
	if again := outcome(graphWith(objects...).Cascade([]*Object{objects[0]}, policy)); again != outcome(c) {
		t.Fatalf("played again it is another:\n%s\n%s", outcome(c), again)
	}
}

// Without finalizers and odd kinds, a background deletion takes exactly what has
// lost its last owner, which can be said without GC's queues: the smallest set
// with the target in it, and everything that has an owner in it and no owner
// that is present outside it.
func TestBackgroundIsTheSmallestSet(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := anyGraph(t)
		blocks := rapid.Bool().Draw(t, "references that block")
		for _, o := range objects {
			o.Finalizers, o.Deleting = nil, time.Time{}
			// Two references to one uid of which one is wrong are both removed by
			// GC, which patches by uid.
			slices.SortStableFunc(o.Owners, func(a, b document.OwnerRef) int { return strings.Compare(a.UID, b.UID) })
			o.Owners = slices.CompactFunc(o.Owners, func(a, b document.OwnerRef) bool { return a.UID == b.UID })
			for i := range o.Owners {
				o.Owners[i].BlockOwnerDeletion = o.Owners[i].BlockOwnerDeletion && blocks
			}
			o.Owners = slices.DeleteFunc(o.Owners, func(r document.OwnerRef) bool { return r.Kind == "Gone" || o.Namespace == "" && r.Kind == "ConfigMap" })
		}
		g := graphWith(objects...)
		for _, o := range objects { // what GC would have deleted already is no part of this
			if !slices.ContainsFunc(o.Owners, func(r document.OwnerRef) bool {
				v, _ := g.Verdict(o, r)
				return v == document.OwnerPresent || r.UID == objects[0].UID
			}) {
				o.Owners = nil
			}
		}
		g = graphWith(objects...)
		want := map[string]bool{objects[0].UID: true}
		for grown := true; grown; {
			grown = false
			for _, o := range objects {
				touched, kept := false, false
				for _, ref := range o.Owners {
					touched = touched || want[ref.UID]
					v, _ := g.Verdict(o, ref)
					kept = kept || v == document.OwnerPresent && !want[ref.UID]
				}
				if touched && !kept && !want[o.UID] {
					want[o.UID], grown = true, true
				}
			}
		}
		for _, policy := range []document.CascadePolicy{document.CascadeBackground, document.CascadeForeground} {
			got := map[string]bool{}
			c := g.Cascade([]*Object{objects[0]}, policy)
			for _, o := range c.Objects {
				if o.Fate == document.FateDeleted {
					got[o.Object.UID] = true
				}
			}
			// In the foreground, references that block can make a circle that GC
			// does not get out of.
			for uid := range got {
				if !want[uid] {
					t.Fatalf("%s takes %s, which another owner keeps (%s)", policy, uid, outcome(c))
				}
			}
			if (policy == document.CascadeBackground || !blocks) && !maps.Equal(got, want) {
				t.Fatalf("%s takes %v, want %v (%s)", policy, got, want, outcome(c))
			}
		}
	})
}

func TestFinalizerManagers(t *testing.T) {
	got := finalizerManagers([]metav1.ManagedFieldsEntry{
		{Manager: "broken", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":[]}`)},
		{Manager: "operator", FieldsV1: metav1.NewFieldsV1(`{"f:metadata":{"f:finalizers":{".":{},"v:\"example.com/hold\"":{}}}}`)},
		{Manager: "none"},
	})
	if want := map[string]string{"example.com/hold": "operator"}; !maps.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
