package render

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func history() []state.Revision {
	replicaSet := func(name string) state.Ref {
		return state.Ref{Group: "apps", Version: "v1", Resource: "replicasets", Namespace: "shop", Name: name}
	}
	return []state.Revision{
		{Revision: 3, Object: replicaSet("web-654c"), Hash: "654c", Created: leaseTime.Add(-49 * time.Hour), Images: []string{"web:2"}},
		{Revision: 4, Former: []int64{1, 2}, Object: replicaSet("web-57d9"), Hash: "57d9", Created: leaseTime.Add(-50 * time.Hour),
			ChangeCause: "kubectl set image \x1b[31m", Images: []string{"init:1", "web:1"}, PodCount: 1, Pods: []string{"web-57d9-a"}, Current: true},
		{Revision: 5, Object: replicaSet("web-5ff5"), Hash: "5ff5", Created: leaseTime.Add(-time.Minute), PodCount: 7,
			Pods: []string{"a", "b", "c", "d", "e", "f", "g"}, Update: true},
	}
}

func TestRevisions(t *testing.T) {
	ages := Times{Now: leaseTime, Ages: true}
	for name, opts := range map[string]RevisionOptions{
		"terminal": {Times: ages},
		"wide":     {Times: ages, Wide: true},
		"pipe":     {Times: Times{Now: leaseTime}, PodsUnknown: true},
		"watch":    {Times: ages, Changes: []string{"", "1 pods, had 2", "new"}},
	} {
		checkGolden(t, "revisions/"+name+".txt", Revisions(history(), opts).Text(TableOptions{}))
	}
}

func TestRevisionChanges(t *testing.T) {
	object := state.Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}
	changes := []state.FieldChange{
		{Path: "spec.template.spec.containers[name=web].image", Old: `"web:1"`, New: `"web:2"`},
		{Path: "spec.template.spec.containers[name=web].command", New: `["sh","-c"]`},
		{Path: `metadata.annotations["note"]`, Old: `"\u001b[31mevil"`},
		{Path: "spec.template.metadata.annotations.script", Old: `"a\nb\nc\n"`, New: `"a\nB\nc\n"`},
	}
	var out strings.Builder
	diff := state.RevisionDiff{Object: object, ObjectKind: "Deployment", From: "3", To: "live", HasChanges: true, Changes: changes, Remarks: []string{"revision 1 became revision 3 in a rollback"}}
	if err := WriteRevisionDiff(&out, diff, FieldsOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := WriteRevisionDiff(&out, state.RevisionDiff{Object: object, ObjectKind: "Deployment", From: "3", To: "4"}, FieldsOptions{}); err != nil {
		t.Fatal(err)
	}
	undo := state.RevisionUndo{Object: object, ObjectKind: "Deployment", To: 3, HasChanges: true, Changes: changes[:1], Remarks: []string{"ReplicaSet web-654c becomes revision 6"}}
	if err := WriteRevisionUndo(&out, undo, FieldsOptions{Color: true}); err != nil {
		t.Fatal(err)
	}
	if err := WriteRevisionUndo(&out, state.RevisionUndo{Object: object, ObjectKind: "Deployment", To: 5}, FieldsOptions{}); err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "revisions/changes.txt", strings.ReplaceAll(out.String(), "\x1b", "^["))
}

func TestRevisionsAreInert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := state.Revision{
			Object: state.Ref{Resource: "replicasets", Name: anyText.Draw(t, "name")}, Hash: anyText.Draw(t, "hash"),
			ChangeCause: anyText.Draw(t, "cause"), Images: []string{anyText.Draw(t, "image")}, Pods: []string{anyText.Draw(t, "pod")},
		}
		text := Revisions([]state.Revision{r}, RevisionOptions{Wide: true}).Text(TableOptions{})
		checkInert(t, text, true)
		if n := strings.Count(text, "\n"); n != 2 {
			t.Errorf("%d lines: %q", n, text)
		}
		var out strings.Builder
		change := state.FieldChange{Path: anyText.Draw(t, "path"), Old: anyText.Draw(t, "old"), New: anyText.Draw(t, "new")}
		diff := state.RevisionDiff{Object: state.Ref{Name: anyText.Draw(t, "object")}, HasChanges: true, Changes: []state.FieldChange{change}, Remarks: []string{anyText.Draw(t, "remark")}}
		if err := WriteRevisionDiff(&out, diff, FieldsOptions{}); err != nil {
			t.Fatal(err)
		}
		checkInert(t, out.String(), true)
	})
}
