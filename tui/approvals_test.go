package tui

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// gate stands for the session's.
type gate struct {
	questions []state.Question
	given     []string
	approved  []string
	brake     string
	unsent    int
}

func (g *gate) facts() (out []state.Event) {
	for _, q := range g.questions {
		out = append(out, state.WriteHeld{Question: q})
	}
	for i, covers := range g.approved {
		out = append(out, state.ApprovalGiven{Number: i + 1, Covers: covers})
	}
	if g.brake != "" {
		out = append(out, state.BreakerChanged{Tripped: true, Reason: g.brake, Since: testNow})
	}
	if g.unsent > 0 {
		out = append(out, state.WriteDecided{Outcome: state.WriteNotSent, NotSent: g.unsent, Text: "delete pods shop/web-0", Reason: "the object has changed meanwhile (rv 7→8)"})
	}
	return out
}

func (g *gate) Answer(id int, a state.Answer) error {
	for i, q := range g.questions {
		if q.ID == id {
			g.questions = append(g.questions[:i:i], g.questions[i+1:]...)
			g.given = append(g.given, fmt.Sprintf("%d %s", id, a))
			if covers := q.Covers[a]; covers != "" {
				g.approved = append(g.approved, covers)
			}
			return nil
		}
	}
	return errors.New("no longer pending")
}

func (g *gate) Withdraw() error { g.approved = nil; return nil }

func (g *gate) SetBrake(on bool) error {
	g.brake = ""
	if on {
		g.brake = "the user has put it on"
	}
	return nil
}

func newGate() *gate {
	covers := map[state.Answer]string{
		state.AnswerKey: "all writes of replicaset-controller for shop/web", state.AnswerController: "all writes of replicaset-controller",
		state.AnswerVerb: "all create requests of any controller",
	}
	cause := state.Cause{Kind: state.CauseSync, Controller: "replicaset-controller", Queue: "replicaset", Key: "shop/web", Sync: 12}
	ref := func(name string) state.Ref {
		return state.Ref{Version: "v1", Resource: "pods", Namespace: "shop", Name: name}
	}
	return &gate{questions: []state.Question{
		{ID: 3, Since: testNow.Add(-9 * time.Second), Controller: "replicaset-controller", Cause: cause, Verb: "create", Object: ref("web-1"), Text: "create pods shop/web-1",
			Why:         "sync 12 of replicaset-controller shop/web ← replicasets.apps shop/web updated (rv 412→418)",
			Diff:        []state.FieldChange{{Path: "metadata.name", New: `"web-1"`}, {Path: "spec.containers[name=web].image", New: `"registry.example/web:1"`}},
			Approximate: true, Covers: covers},
		{ID: 4, Since: testNow.Add(-5 * time.Second), Controller: "replicaset-controller", Cause: cause, Verb: "delete", Object: ref("web-0"), Text: "delete pods shop/web-0",
			Why: "sync 12 of replicaset-controller shop/web", Skipped: 2, Covers: covers},
		{ID: 5, Since: testNow.Add(-time.Second), Controller: "pod-garbage-collector-controller", Cause: state.Cause{Kind: state.CauseTimer, Controller: "pod-garbage-collector-controller"},
			Verb: "patch", Object: ref("old"), Subresource: "status", Text: "patch pods shop/old/status", Why: "a timer of pod-garbage-collector-controller", Problem: "its body can be read only once",
			Covers: map[state.Answer]string{state.AnswerController: "all writes of pod-garbage-collector-controller"}},
	}}
}

func TestApprovals(t *testing.T) {
	snap, g := shop(t, 0), newGate()
	o := shopOptions(snap)
	o.Approvals, o.Now = g, func() time.Time { return testNow }
	s := newScreen(t, o, snap, 80, 24)
	s.has(" 3 PENDING: A").press("A")
	s.golden("approvals-80x24")
	s.press("enter").golden("approvals-whole-80x24")
	s.press("esc", "?").has("Approve it, and from now on all writes of replicaset-controller").press("esc")
	wider := newScreen(t, o, snap, 200, 60)
	wider.press("A").golden("approvals-200x60")

	// An answer, then the next question under the cursor.
	s.press("y").has("Approved create pods shop/web-1.", " 2 PENDING", "skipped before: 2")
	s.press("s").has("Skipped delete pods shop/web-0.", "cannot show what it changes: its body can be read only once")
	s.press("K").has("not now: this write has none")
	if got := strings.Join(g.given, ", "); got != "3 yes, 4 skip" {
		t.Errorf("given: %s", got)
	}
	s.press("C").has("From now on, approve all writes of pod-garbage-collector-controller?").press("n")
	if len(g.given) != 2 {
		t.Errorf("given without being sure: %v", g.given)
	}
	s.press("C", "y").has("No pending writes.", "1 approval for more than one write").hasNot("PENDING")
	s.press("y").has("not now: no write is pending")
	s.press("w").has("Each write needs approval again.")
	if len(g.approved) != 0 {
		t.Errorf("still approved: %v", g.approved)
	}
	s.press("esc").has("Controllers").hasNot("No pending writes.")
}

// Every page shows that something waits, and leads there.
func TestApprovalsFromEveryPage(t *testing.T) {
	snap := shop(t, 0)
	for id := page.Controllers; id <= page.Timeline; id++ {
		o := on(shopOptions(snap), id)
		o.Approvals = newGate()
		newScreen(t, o, snap, 80, 24).has(" 3 PENDING").press("A").has("3 writes pending", "create pods shop/web-1")
	}
	newScreen(t, shopOptions(snap), snap, 80, 24).hasNot("PENDING").press("A").has("not now")
}

// An answer is for the question that was on the screen, and for no other.
func TestApprovalsAnswerWhatWasSeen(t *testing.T) {
	snap, g := shop(t, 0), newGate()
	o := shopOptions(snap)
	o.Approvals = g
	s := newScreen(t, o, snap, 80, 24)
	s.press("A").has("create pods shop/web-1")
	s.send(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("yyy")}) // before the next is drawn
	if got := strings.Join(g.given, ", "); got != "3 yes" {
		t.Errorf("given: %s", got)
	}
	s.has("has changed: check it, and answer again")
	// The cursor follows its question; one that goes away takes no answer along.
	s.press("j").has("patch pods shop/old/status")
	g.questions = g.questions[1:]
	s.press("s")
	if got := strings.Join(g.given, ", "); got != "3 yes, 5 skip" {
		t.Errorf("given: %s", got)
	}
	g.questions = newGate().questions[:2]
	s.has("create pods shop/web-1").press("j")
	s.parts = nil                 // the journal has not told it yet:
	g.questions = g.questions[:1] // the cursor was on the second
	s.press("y").has("no longer pending")
	if len(g.given) != 2 {
		t.Errorf("given: %v", g.given)
	}
	// The keys that move a cursor approve nothing.
	s.text()
	s.press("k", "j", "c", "v", "g", "G")
	if len(g.given) != 2 {
		t.Errorf("given: %v", g.given)
	}
}

func TestApprovalsBrake(t *testing.T) {
	snap, g := shop(t, 0), newGate()
	o := shopOptions(snap)
	o.Approvals, o.Now = g, func() time.Time { return testNow }
	s := newScreen(t, o, snap, 100, 30)
	s.press("A", "b").has("BREAKER TRIPPED, nothing is written; A, then b, releases it: the user has put it on", "The breaker tripped at 05:06:07.000: the user has put it on.").hasNot("the lease").press("k").has("b release")
	g.questions[0].Braked = true
	s.has("breaker ", "approved; it waits for the circuit breaker", " 2 PENDING")
	s.press("y").has("not now: it is approved, and waits for the circuit breaker")
	s.press("b").hasNot("BREAKER TRIPPED").press("k").has("b trip")
}

// An approved write that was not sent after all is complained of, wherever the user is
// by then, and once.
func TestApprovedAndNotSent(t *testing.T) {
	snap, g := shop(t, 0), newGate()
	o := shopOptions(snap)
	o.Approvals = g
	s := newScreen(t, o, snap, 110, 24)
	later := func(n uint64) *state.Snapshot {
		return state.Fold(snap, state.Entry{Seq: snap.Seq + n, At: snap.At, Event: state.Note{Source: "approve", Text: "later"}})
	}
	s.press("A").has("create pods shop/web-1").press("j").has("skipped before: 2").press("y").has("Approved delete pods shop/web-0.").press("esc", "p")
	g.unsent = 1
	s.show(later(1))
	s.has("! Not sent after all, the object has changed meanwhile (rv 7→8): delete pods shop/web-0", "VIEW PAUSED").press("j").hasNot("Not sent")
	s.show(later(2))
	s.hasNot("ot sent")
	g.unsent = 4
	s.show(later(3))
	s.has("! 3 writes were not sent after all; the last, as the object has changed meanwhile")
}

// A brake that keeps a lease says so, with the key that ends it, in 80 columns.
func TestApprovalsBrakeKeepsTheLease(t *testing.T) {
	const (
		kept  = " BREAKER TRIPPED, the lease is kept: nobody reconciles; A, then b, releases it"
		other = " BREAKER TRIPPED, nothing is written; A, then b, releases it: the limit of 100"
	)
	for name, c := range map[string]struct {
		steps []state.ElectionChanged
		want  string
	}{
		"candidate":     {[]state.ElectionChanged{waits}, other},
		"leads":         {[]state.ElectionChanged{waits, leads}, kept},
		"renewed late":  {[]state.ElectionChanged{leads, late}, kept},
		"lost":          {[]state.ElectionChanged{leads, lost}, other},
		"released":      {[]state.ElectionChanged{leads, given}, other},
		"never a lease": {nil, other},
	} {
		t.Run(name, func(t *testing.T) {
			g := newGate()
			g.brake = "the limit of 100 writes per minute is reached"
			s := newScreen(t, Options{Parts: page.Parts{Approvals: g}, Now: func() time.Time { return testNow }}, elected(state.ModeActive, c.steps...), 80, 24)
			s.has(c.want).press("A")
			s.has(c.want, "The breaker tripped at 05:06:07.000: the limit of 100 writes per minute is", "asked 9s ago")
			if c.want == kept {
				s.has("This process keeps the", "then L, steps down.").golden("approvals-brake-80x24")
				g.brake = ""
				s.has(keptLease)
			} else {
				s.hasNot("the lease")
			}
		})
	}
}

// What a cluster says stays inert, and the frame whole.
func TestApprovalsHostile(t *testing.T) {
	g := newGate()
	hostile := "\x1b]0;x\a\u009b31m\u202e世界" + strings.Repeat("x", 1000) + "\r\n"
	q := &g.questions[0]
	q.Text, q.Why, q.Controller, q.Cause.Key, q.Problem = hostile, hostile, hostile, hostile, hostile
	g.questions[1].Diff = []state.FieldChange{{Path: hostile, Old: hostile, New: hostile}}
	g.brake = hostile
	snap := shop(t, 0)
	o := shopOptions(snap)
	o.Approvals = g
	for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
		s := newScreen(t, o, snap, size[0], size[1])
		s.press("A").text()
		s.press("j").text()
		if frame := s.press("enter").View(); strings.ContainsAny(frame, "\a\u009b\u202e") {
			t.Errorf("%q", frame)
		}
	}
}
