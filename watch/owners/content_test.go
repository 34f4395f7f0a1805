package owners

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

func of(group, resource, kind, namespace, name string, owners ...document.OwnerRef) *Object {
	o := configMap(namespace, name, owners...)
	o.Group, o.Resource, o.Kind = group, resource, kind
	return o
}

func namespaceObject(name string) *Object { return of("", "namespaces", "Namespace", "", name) }

func crdObject(name string) *Object {
	o := of("apiextensions.k8s.io", "customresourcedefinitions", "CustomResourceDefinition", "", name)
	o.Finalizers = []string{crdFinalizer}
	return o
}

// discovered is graphWith of a server of which every type is known.
func discovered(objects ...*Object) *Graph {
	g := graphWith(objects...)
	kinds := *g.kinds
	kinds.failed = nil
	g.kinds = &kinds
	return g
}

// What a namespace holds, and what objects a type has, goes first.
func TestCascadeOfContent(t *testing.T) {
	pod := func(name string, owners ...document.OwnerRef) *Object {
		return of("", "pods", "Pod", "a", name, owners...)
	}
	backup := func(name string) *Object { return of("shop.example", "backups", "Backup", "a", name) }
	for _, c := range []struct {
		name    string
		objects []*Object
		policy  document.CascadePolicy
		want    string
	}{
		{"an empty namespace", []*Object{namespaceObject("a"), configMap("b", "other")}, document.CascadeBackground,
			"1 deleted a"},
		{"its content goes first, whoever owns it", []*Object{namespaceObject("a"), configMap("a", "x"), configMap("a", "y", owned("x")), configMap("b", "other")}, document.CascadeBackground,
			"1 deleted x, 1 deleted y, 2 deleted a"},
		{"pods go before the rest", []*Object{namespaceObject("a"), pod("p"), configMap("a", "x")}, document.CascadeBackground,
			"1 deleted p, 2 deleted x, 3 deleted a"},
		{"orphan does not spare it", []*Object{namespaceObject("a"), configMap("a", "x")}, document.CascadeOrphan,
			"1 deleted x, 2 deleted a"},
		{"a finalizer in it holds it", []*Object{namespaceObject("a"), heldObject(configMap("a", "x")), configMap("a", "y")}, document.CascadeBackground,
			"1 deleted y, 2 held x, 3 behind a"},
		{"and in the foreground", []*Object{namespaceObject("a"), heldObject(configMap("a", "x"))}, document.CascadeForeground,
			"1 held x, 2 behind a"},
		{"a held pod holds everything", []*Object{namespaceObject("a"), heldObject(pod("p")), configMap("a", "x")}, document.CascadeBackground,
			"1 held p, 2 behind x, 3 behind a"},
		{"what depends on the content from outside goes by GC", []*Object{namespaceObject("a"), configMap("a", "x"), configMap("b", "far", owned("x"))}, document.CascadeBackground,
			"1 deleted x, 2 deleted far, 2 deleted a"},
		{"a type without objects", []*Object{crdObject("backups.shop.example"), configMap("a", "x")}, document.CascadeBackground,
			"1 deleted backups.shop.example"},
		{"a type with objects", []*Object{crdObject("backups.shop.example"), backup("one"), backup("two"), configMap("a", "x")}, document.CascadeBackground,
			"1 deleted one, 1 deleted two, 2 deleted backups.shop.example"},
		{"a type with an object that is held", []*Object{crdObject("backups.shop.example"), heldObject(backup("one")), backup("two")}, document.CascadeBackground,
			"1 deleted two, 2 held one, 3 behind backups.shop.example"},
	} {
		t.Run(c.name, func(t *testing.T) {
			g := discovered(c.objects...)
			got := g.Cascade([]*Object{g.Object(c.objects[0].UID)}, c.policy)
			if outcome(got) != c.want {
				t.Errorf("got  %s\nwant %s", outcome(got), c.want)
			}
			for _, o := range got.Objects {
				if o.Fate == document.FateBehind && (len(o.Behind) != 1 || len(o.HeldBy) > 0) {
					t.Errorf("%s is behind %v, held by %v", o.Object.Name, o.Behind, o.HeldBy)
				}
				if strings.Contains(o.Why, "\x00") {
					t.Errorf("%s: %q", o.Object.Name, o.Why)
				}
			}
		})
	}
}

// What is stuck already is told as stuck.
func TestCascadeOfStuckContent(t *testing.T) {
	ns := namespaceObject("a")
	ns.Deleting = time.Unix(1, 0)
	held := heldObject(configMap("a", "x"))
	held.Deleting = time.Unix(2, 0)
	g := discovered(ns, held)
	c := g.Cascade([]*Object{g.Object("a")}, document.CascadeBackground)
	if got, want := outcome(c), "1 held x, 2 behind a"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if notes := strings.Join(c.Notes, "\n"); !strings.Contains(notes, "and is stuck: it waits for configmaps a/x, held by example.com/hold") {
		t.Errorf("notes: %s", notes)
	}

	g = graphWith(namespaceObject("a"), configMap("a", "x"))
	c = g.Cascade([]*Object{g.Object("a")}, document.CascadeBackground)
	if got, want := outcome(c), "1 deleted x, stuck a"; got != want {
		t.Errorf("without discovery: got %s, want %s", got, want)
	}
	if why := c.Objects[1].Why; !strings.Contains(why, "metrics.k8s.io/v1") {
		t.Errorf("without discovery: %s", why)
	}
}

// Who may not list everything may list what is in the namespace.
func TestScopeOfNamespace(t *testing.T) {
	s := ScopeOf(namespaceObject("a"), crdObject("backups.shop.example"), configMap("b", "x"))
	if !s.Everywhere || !slices.Equal(s.Namespaces, []string{"a", "b"}) {
		t.Errorf("got %+v", s)
	}
}
