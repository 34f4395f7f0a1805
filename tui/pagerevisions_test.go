package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// fakeRevisions answers with what a test put in, and remembers what was asked.
type fakeRevisions struct {
	lists []state.RevisionList
	err   error
	asked []string
}

func (f *fakeRevisions) List(context.Context) ([]state.RevisionList, error) {
	f.asked = append(f.asked, "list")
	return append([]state.RevisionList(nil), f.lists...), f.err
}

func (f *fakeRevisions) Of(_ context.Context, object state.Ref) (state.RevisionList, error) {
	f.asked = append(f.asked, "of "+object.Key())
	for _, l := range f.lists {
		if l.Object.Same(object) {
			return l, nil
		}
	}
	return state.RevisionList{}, f.err
}

func (f *fakeRevisions) Diff(_ context.Context, object state.Ref, from, to string) (state.RevisionDiff, error) {
	f.asked = append(f.asked, "diff "+object.Key()+" "+from+".."+to)
	return state.RevisionDiff{Object: object, ObjectKind: "Deployment", From: from, To: to, HasChanges: true, Changes: []state.FieldChange{
		{Path: "spec.template.spec.containers[web].image", Old: `"web:2"`, New: `"web:3"`},
	}}, f.err
}

func (f *fakeRevisions) Undo(_ context.Context, object state.Ref, to int64) (state.RevisionUndo, error) {
	f.asked = append(f.asked, fmt.Sprintf("undo %s to %d", object.Key(), to))
	return state.RevisionUndo{Object: object, ObjectKind: "Deployment", To: to, HasChanges: true, Changes: []state.FieldChange{
		{Path: "spec.template.spec.containers[web].image", Old: `"web:3"`, New: `"web:1"`},
	}, Remarks: []string{"only the change of the object is shown"}}, f.err
}

func revision(resource, object string, number int64, image string, pods ...string) state.Revision {
	return state.Revision{
		Revision: number, Hash: "h" + fmt.Sprint(number), Created: testNow.Add(-time.Duration(10-number) * time.Hour), Images: []string{image}, ChangeCause: "to " + image,
		Object: state.Ref{Group: "apps", Version: "v1", Resource: resource, Namespace: "shop", Name: fmt.Sprintf("%s-h%d", object, number), UID: fmt.Sprintf("uid-%s-%d", object, number)},
		Pods:   pods, PodCount: len(pods),
	}
}

func history(resource, kind, name string, items ...state.Revision) state.RevisionList {
	return state.RevisionList{
		Object:     state.Ref{Group: "apps", Version: "v1", Resource: resource, Namespace: "shop", Name: name, UID: "uid-" + name},
		ObjectKind: kind, Strategy: "RollingUpdate", PodsKnown: true, Items: items,
	}
}

// shopRevisions has a deployment that is at its last revision, and a StatefulSet
// that a partition holds.
func shopRevisions() []state.RevisionList {
	web := history("deployments", "Deployment", "web",
		revision("replicasets", "web", 1, "web:1"), revision("replicasets", "web", 3, "web:2"), revision("replicasets", "web", 4, "web:3", "web-h4-a", "web-h4-b"))
	web.Items[1].Former = []int64{2}
	web.Items[2].Current, web.Items[2].Update = true, true
	db := history("statefulsets", "StatefulSet", "db",
		revision("controllerrevisions", "db", 1, "db:1", "db-0"), revision("controllerrevisions", "db", 2, "db:2", "db-1"))
	db.Items[0].Current, db.Items[1].Update = true, true
	one := int64(1)
	db.Partition = &one
	db.Remarks = []string{"partition 1: pods with an ordinal below 1 stay at the current revision"}
	return []state.RevisionList{web, db}
}

func revisionsScreen(t *testing.T, f *fakeRevisions, w, h int) *screen {
	t.Helper()
	return newScreen(t, Options{Parts: page.Parts{Revisions: f}, Start: int(page.Revisions)}, shop(t, 0), w, h)
}

func TestRevisionsPage(t *testing.T) {
	f := &fakeRevisions{lists: shopRevisions()}
	s := revisionsScreen(t, f, 80, 24)
	s.has("2 histories, 1 with two revisions at once", "+ Deployment/web", "#1 → #2, partition 1")
	s.press("enter", "j", "j").golden("revisions-80x24")
	s.press("m").has("*1 #3", "diff live").press("j", " ").has("*2 #1")
	s.press("d").has("web:3", "revision 1 → 3").press("esc", "esc").hasNot("*1")
	s.press("d").has("revision 1 → live").press("esc")
	s.press("u").has("Undo preview", "nothing is sent", "rollback to revision 1").press("esc")
	s.press("k", "enter").has("was before  2, until rollbacks to it", "none").press("esc")
	s.press("k", "enter").has("web-h4-b").press("esc")
	s.press("h").has("> + Deployment/web")
	want := "list|diff shop/web 1..3|diff shop/web 1..live|undo shop/web to 1"
	if got := strings.Join(f.asked, "|"); got != want {
		t.Errorf("asked %s, want %s", got, want)
	}

	var lines []string
	for _, row := range s.page().Plain(s.env) {
		lines = append(lines, row.Text)
	}
	if got := strings.Join(lines, "\n"); len(lines) != 7 || !strings.Contains(got, "StatefulSet/db revision #2, namespace shop, update, 1 pods, db:2, to db:2") {
		t.Errorf("as lines:\n%s", got)
	}

	wide := revisionsScreen(t, f, 200, 60)
	wide.press("E", "G", "m").golden("revisions-200x60")
}

// A third mark takes the place of the first; one on another object begins anew.
func TestRevisionMarks(t *testing.T) {
	f := &fakeRevisions{lists: shopRevisions()}
	s := revisionsScreen(t, f, 80, 24)
	s.press("E", "j", "m", "j", "m", "j", "m").has("*1 #3", "*2 #1").hasNot("*1 #4", "*2 #4")
	s.press("m").hasNot("*2").has("*1 #3")
	s.press("j", "j", "m").has("*1 #2").hasNot("*1 #3")
	s.press("esc").hasNot("*1")
}

func TestRevisionsOfARecording(t *testing.T) {
	snap := shop(t, 900)
	o := shopOptions(snap)
	o.Start, o.Missing = int(page.Revisions), "this is a recording"
	s := newScreen(t, o, snap, 80, 24)
	s.has("names and owners only", "Deployment/web")
	s.press("E").golden("revisions-recording-80x24")
	s.press("u").has("not now: this is a recording")
	newScreen(t, o, snap, 200, 60).press("E", "j").golden("revisions-recording-200x60")
}

func TestRevisionsPartial(t *testing.T) {
	f := &fakeRevisions{lists: shopRevisions(), err: errors.New("list daemonsets.apps in all namespaces: user lacks the right")}
	revisionsScreen(t, f, 120, 24).has("PARTIAL: list daemonsets.apps", "Deployment/web")
	f.lists = nil
	revisionsScreen(t, f, 120, 24).has("could not be read; r asks again. list daemonsets.apps")
}

// Other pages show an object, its ReplicaSet or its pod here.
func TestRevisionsFocus(t *testing.T) {
	f := &fakeRevisions{lists: shopRevisions()}
	s := newScreen(t, Options{Parts: page.Parts{Revisions: f}}, shop(t, 0), 80, 24)
	s.send(page.JumpMsg{Page: page.Revisions, To: page.Subject{Kind: page.OnObject, Object: f.lists[1].Object}})
	s.has("> - StatefulSet/db")
	s.send(page.JumpMsg{Page: page.Revisions, To: page.Subject{Kind: page.OnWrite, Object: f.lists[0].Items[1].Object}})
	s.has(">     #3")
	s.send(page.JumpMsg{Page: page.Revisions, To: page.Subject{Kind: page.OnKey, Object: state.Ref{Version: "v1", Resource: "pods", Namespace: "shop", Name: "db-1"}}})
	s.has(">     #2")
	s.press("O").has("Tree: statefulsets.apps shop/db")
	s.send(page.JumpMsg{Page: page.Revisions, To: page.Subject{Kind: page.OnObject, Object: state.Ref{Version: "v1", Resource: "nodes", Name: "n"}}})
	s.has("Revisions cannot show this object")
}

// Only the history that is unfolded under the cursor is asked for when something
// of it changes.
func TestRevisionsAskAgain(t *testing.T) {
	f := &fakeRevisions{lists: shopRevisions()}
	now := testNow
	snap := shop(t, 0)
	s := newScreen(t, Options{Parts: page.Parts{Revisions: f}, Start: int(page.Revisions), Now: func() time.Time { return now }}, snap, 80, 24)
	change := func() {
		snap = state.Fold(snap, state.Entry{Seq: snap.Seq + 1, At: now, Event: state.ObjectChanged{
			Informer: "deployments.apps", Change: state.ChangeUpdated, Object: f.lists[0].Object, NewRV: fmt.Sprint(snap.Seq),
		}})
	}
	pass := func(d time.Duration, want string) {
		t.Helper()
		now = now.Add(d)
		s.env.Now = now
		f.asked = nil
		s.show(snap)
		s.carryOut(s.tick())
		if got := strings.Join(f.asked, "|"); got != want {
			t.Errorf("asked %q, want %q", got, want)
		}
	}
	change()
	pass(5*time.Second, "")
	s.press("enter")
	change()
	f.lists[0].Items = slices.Clone(f.lists[0].Items)
	f.lists[0].Items[2].Pods = append(slices.Clone(f.lists[0].Items[2].Pods), "web-h4-c")
	f.lists[0].Items[2].PodCount = 3
	pass(5*time.Second, "of shop/web")
	s.has("- Deployment/web       3")
	pass(5*time.Second, "")
	pass(50*time.Second, "list|of shop/web")
}

func TestRevisionsOfHostileNames(t *testing.T) {
	bad := []string{"\x1b]0;x\x07", "\u009b2J", "\u202eabc", strings.Repeat("寿", 400), strings.Repeat("x", 1000), "a\nb\tc"}
	h := history("deployments", bad[0], bad[3])
	for i := range 12 {
		r := revision("replicasets", bad[i%6], int64(i), bad[(i+1)%6], bad...)
		r.ChangeCause, r.Hash = bad[(i+2)%6], bad[(i+4)%6]
		h.Items = append(h.Items, r)
	}
	h.Remarks, h.Strategy = bad, bad[1]
	f := &fakeRevisions{lists: []state.RevisionList{h}, err: errors.New(bad[0])}
	for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
		s := revisionsScreen(t, f, size[0], size[1])
		for _, key := range []string{"enter", "j", "m", "enter", "esc", "d", "esc", "G"} {
			s.press(key)
			if text := s.text(); strings.ContainsAny(text, "\x1b\x07\u009b\u202e\t") {
				t.Fatalf("the screen has a control in it: %q", text)
			}
		}
	}
}
