package render

import (
	"errors"
	"flag"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var updateTrees = flag.Bool("update-trees", false, "rewrite the texts in testdata/tree")

// compareText compares with a file, or rewrites it. Escape characters are shown
// as "^".
func compareText(t *testing.T, golden, got string) {
	t.Helper()
	got = strings.ReplaceAll(got, "\x1b", "^")
	if *updateTrees {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s:\n%s\nwant\n%s", golden, got, want)
	}
}

func readDocument(t *testing.T, path string, into any) {
	t.Helper()
	raw, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := yaml.UnmarshalStrict(raw, into); err != nil {
		t.Fatalf("%s: %v", path, err)
	}
}

var treesNow = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// TestWriteTree prints testdata/tree/tree*.yaml as the *.txt beside them;
// -update-trees rewrites those.
func TestWriteTree(t *testing.T) {
	files, err := filepath.Glob("testdata/tree/tree*.yaml")
	if err != nil || len(files) == 0 {
		t.Fatalf("no trees: %v", err)
	}
	for _, path := range files {
		var tree document.OwnerTree
		readDocument(t, path, &tree)
		base := strings.TrimSuffix(path, ".yaml")
		for suffix, opts := range map[string]TreeOptions{
			".txt":       {},
			".ages.txt":  {Times: Times{Now: treesNow, Ages: true}, Color: true, Width: 72},
			".wide.txt":  {Wide: true},
			".plain.txt": {NoHeaders: true},
		} {
			var out strings.Builder
			if err := WriteTree(&out, tree, opts); err != nil {
				t.Fatal(err)
			}
			compareText(t, base+suffix, out.String())
		}
		trees := []document.OwnerTree{tree}
		var dot, mermaid strings.Builder
		if err := errors.Join(TreeDOT(&dot, trees), TreeMermaid(&mermaid, trees)); err != nil {
			t.Fatal(err)
		}
		compareText(t, base+".dot", dot.String())
		compareText(t, base+".mmd", mermaid.String())
		compareText(t, base+".names", strings.Join(TreeNames(trees), "\n")+"\n")
	}
}

func TestWriteCascade(t *testing.T) {
	var c document.Cascade
	readDocument(t, "testdata/tree/cascade.yaml", &c)
	for suffix, opts := range map[string]CascadeOptions{".txt": {}, ".color.txt": {Color: true, Wide: true, Width: 100}} {
		var out strings.Builder
		if err := WriteCascade(&out, c, opts); err != nil {
			t.Fatal(err)
		}
		compareText(t, "testdata/tree/cascade"+suffix, out.String())
	}
	if got := strings.Join(CascadeNames(c), " "); got != "deployment.apps/web replicaset.apps/web-1 configmap/held configmap/behind" {
		t.Errorf("names: %s", got)
	}
}

// Whatever a cluster's objects are called, nothing of it acts on a terminal or
// ends a quotation.
func TestTreeIsInert(t *testing.T) {
	const evil = "a\x1b]52;c;AA\x07\"]; x -> y\\\u202e\u009b31m\nb`<script>"
	node := &document.OwnerNode{
		Object: document.OwnedObject{Kind: evil, Ref: state.Ref{Group: evil, Resource: evil, Namespace: evil, Name: evil, UID: evil}, Finalizers: []string{evil}},
		Edge:   &document.OwnerEdge{Verdict: document.OwnerAbsent, Why: evil},
		Status: &document.ObjectStatus{Ready: evil, State: evil, Message: evil},
	}
	root := &document.OwnerNode{Object: document.OwnedObject{Kind: "A", Ref: state.Ref{UID: "root", Name: "root"}}, Dependents: []*document.OwnerNode{node}}
	tree := document.OwnerTree{Context: evil, Roots: []*document.OwnerNode{root}}
	cascade := document.Cascade{
		Policy: document.CascadePolicy(evil), Targets: []state.Ref{node.Object.Ref}, Notes: []string{evil},
		Objects: []document.CascadeObject{{Object: node.Object, Fate: document.FateHeld, Step: 1, Why: evil, HeldBy: []document.CascadeFinalizer{{Name: evil, SetBy: evil}}}},
		Absent:  []document.CascadeReference{{Dependent: node.Object.Ref, Owner: document.OwnerRef{Kind: evil, Name: evil}, Why: evil}},
	}
	var text, wide, dot, mermaid, deletion strings.Builder
	err := errors.Join(
		WriteTree(&text, tree, TreeOptions{}), WriteTree(&wide, tree, TreeOptions{Wide: true}),
		TreeDOT(&dot, []document.OwnerTree{tree}), TreeMermaid(&mermaid, []document.OwnerTree{tree}),
		WriteCascade(&deletion, cascade, CascadeOptions{}),
	)
	if err != nil {
		t.Fatal(err)
	}
	lines := append(TreeNames([]document.OwnerTree{tree}), CascadeNames(cascade)...)
	lines = append(lines, TreeChanges(nil, tree.Roots, treesNow, false)...)
	lines = append(lines, GapLines([]document.ReadGap{{Type: evil, Namespace: evil, Reason: evil, Message: evil}})...)
	all := text.String() + wide.String() + dot.String() + mermaid.String() + deletion.String() + strings.Join(lines, "\n")
	for _, r := range all {
		if r != '\n' && !state.Printable(r) {
			t.Fatalf("%q came through", r)
		}
	}
	if strings.Count(dot.String(), "\n") != 7 || !strings.Contains(dot.String(), `\"]; x -> y\\`) {
		t.Errorf("dot:\n%s", dot.String())
	}
	if strings.ContainsAny(mermaid.String(), "<`") && strings.Contains(mermaid.String(), "script>") {
		t.Errorf("mermaid:\n%s", mermaid.String())
	}
	for _, l := range lines {
		if strings.Contains(l, "\n") {
			t.Errorf("a line has a line break: %q", l)
		}
	}
}

func TestTreeChanges(t *testing.T) {
	object := func(kind, name string) document.OwnedObject {
		return document.OwnedObject{Kind: kind, Ref: state.Ref{Resource: kind, Namespace: "shop", Name: name, UID: name}}
	}
	pod := func(name, ready, word string) *document.OwnerNode {
		return &document.OwnerNode{Object: object("Pod", name), Status: &document.ObjectStatus{Ready: ready, State: word}}
	}
	old := []*document.OwnerNode{{Object: object("ReplicaSet", "a"), Dependents: []*document.OwnerNode{pod("same", "1/1", "Running"), pod("changes", "0/1", "Pending"), pod("goes", "1/1", "Running")}}}
	now := []*document.OwnerNode{{Object: object("ReplicaSet", "a"), Dependents: []*document.OwnerNode{pod("same", "1/1", "Running"), pod("changes", "1/1", "Running"), pod("comes", "0/1", "Pending")}}}
	got := TreeChanges(old, now, treesNow, false)
	want := []string{
		"15:04:05 ~ Pod/changes in shop: 0/1 Pending → 1/1 Running",
		"15:04:05 + Pod/comes in shop below ReplicaSet/a: 0/1 Pending",
		"15:04:05 - Pod/goes in shop",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if SameTrees(old, now) || !SameTrees(old, old) {
		t.Error("SameTrees is wrong")
	}
}

func TestReadSummary(t *testing.T) {
	got := ReadSummary(document.ReadCost{Requests: 131, Bytes: 84_000, Types: 129, Objects: 2312, Duration: 412 * time.Millisecond}, []document.ReadGap{
		{Type: "secrets", Namespace: "shop", Reason: "forbidden", Message: "secrets is forbidden"},
		{Type: "roles.rbac.authorization.k8s.io", Namespace: "shop", Reason: "forbidden", Message: "roles is forbidden"},
		{Type: "metrics.k8s.io/v1", Reason: "unavailable", Message: "no endpoints"},
	})
	want := []string{
		"131 requests, 82 KiB read: 2312 objects of 129 types in 412ms",
		"not read (forbidden) in namespace shop: secrets, roles.rbac.authorization.k8s.io",
		"not read (unavailable): metrics.k8s.io/v1: no endpoints",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got %q", got)
	}
}

// What waits for its dependents deletes them; those being deleted already need no
// word about it.
func TestTreeOfWaitingOwner(t *testing.T) {
	edge := &document.OwnerEdge{Verdict: document.OwnerWaiting, Why: "the owner is being deleted in the foreground"}
	node := document.OwnerNode{Edge: edge}
	if got := notes(&node).text; got != "GC will delete it: the owner is being deleted in the foreground" {
		t.Errorf("got %q", got)
	}
	node.Object.Deleting = time.Unix(1, 0)
	if got := notes(&node).text; got != "" {
		t.Errorf("got %q of an object that is being deleted", got)
	}
}

func TestEmptyTree(t *testing.T) {
	var out strings.Builder
	if err := WriteTree(&out, document.OwnerTree{}, TreeOptions{}); err != nil || out.Len() > 0 {
		t.Errorf("%q, %v", out.String(), err)
	}
	if _, err := os.Stat("testdata/tree/tree.txt"); errors.Is(err, fs.ErrNotExist) && !*updateTrees {
		t.Error("the goldens are missing")
	}
}
