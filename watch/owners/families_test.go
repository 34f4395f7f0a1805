package owners

import (
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// shape draws trees in one line: "a(b c(d))", an absent owner with "?", what is
// repeated with "…".
func shape(nodes []*document.OwnerNode) string {
	var words []string
	for _, n := range nodes {
		word := n.Object.Name
		switch {
		case n.Absent:
			word = "?" + word
		case n.Repeated, n.Cycle:
			word += "…"
		}
		if len(n.Dependents) > 0 {
			word += "(" + shape(n.Dependents) + ")"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

func TestFamilies(t *testing.T) {
	for _, c := range []struct {
		name    string
		objects []*Object
		want    string
	}{
		{"what has no relatives is left out", []*Object{configMap("a", "alone"), configMap("a", "top"), configMap("a", "below", owned("top"))}, "top(below)"},
		{"two owners", []*Object{configMap("a", "x"), configMap("a", "y"), configMap("a", "z", owned("x"), owned("y"))}, "x(z) y(z)"},
		{"an owner that is not there", []*Object{configMap("a", "x", owned("gone")), configMap("a", "y", owned("x"))}, "?gone(x(y))"},
		{"two owners that are not there", []*Object{configMap("a", "x", owned("g1"), owned("g2")), configMap("a", "y", owned("x"))}, "?g1(x(y)) ?g2(x…)"},
		{"one absent owner of two", []*Object{configMap("a", "x", owned("gone")), configMap("a", "y", owned("gone"))}, "?gone(x y)"},
		{"an owner in another namespace", []*Object{configMap("a", "o"), configMap("b", "x", owned("o"))}, "o(x) ?o(x)"},
		{"a circle", []*Object{configMap("a", "x", owned("y")), configMap("a", "y", owned("x")), configMap("a", "z", owned("y"))}, "x(y(x… z))"},
		{"an object that owns itself", []*Object{configMap("a", "x", owned("x"))}, "x(x…)"},
		{"a circle below an absent owner is one below each", []*Object{configMap("a", "x", owned("y"), owned("gone")), configMap("a", "y", owned("x"))}, "?gone(x(y(x…)))"},
	} {
		g := graphWith(c.objects...)
		if got := shape(g.Families(g.Roots())); got != c.want {
			t.Errorf("%s: %s, want %s", c.name, got, c.want)
		}
	}
}

// Whatever the references, every object that has one, or that one names, is in
// the families, and no other.
func TestFamiliesOfAnyGraph(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		objects := anyGraph(t)
		g := graphWith(objects...)
		shown := map[string]bool{}
		roots := g.Roots()
		for _, root := range g.Families(roots) {
			root.Walk(func(n *document.OwnerNode) {
				if !n.Absent {
					shown[n.Object.UID] = true
				}
			})
		}
		for _, o := range objects {
			related := len(o.Owners) > 0 || len(g.Dependents(o.UID)) > 0
			if g.Object(o.UID) == o && related != shown[o.UID] {
				t.Fatalf("%s: related %v, shown %v", o.UID, related, shown[o.UID])
			}
		}
		if !slices.IsSortedFunc(roots, compareObjects) {
			t.Fatal("the roots have no order")
		}
	})
}
