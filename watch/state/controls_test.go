package state

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func init() { maps.Copy(genEvents, genControls) }

// genControls has a generator per type of control event.
var genControls = map[string]func(*rapid.T) Event{
	"ControllerRequested": func(t *rapid.T) Event {
		return ControllerRequested{Controller: genName.Draw(t, "controller"), Action: rapid.SampledFrom([]ControllerAction{ActionStart, ActionStop}).Draw(t, "action")}
	},
	"PauseChanged": func(t *rapid.T) Event {
		return PauseChanged{Controller: genName.Draw(t, "controller"), Paused: rapid.Bool().Draw(t, "paused"), Breakpoint: genNumber.Draw(t, "point"), Since: genTime(t, "since")}
	},
	"BreakpointChanged": func(t *rapid.T) Event {
		return BreakpointChanged{Number: genNumber.Draw(t, "number"), Controller: genName.Draw(t, "controller"), Key: genText.Draw(t, "pattern"),
			BeforeWrite: rapid.Bool().Draw(t, "write"), Removed: rapid.Bool().Draw(t, "removed")}
	},
	"BreakpointHit": func(t *rapid.T) Event {
		return BreakpointHit{Hold: uint64(genNumber.Draw(t, "hold")), Breakpoint: genNumber.Draw(t, "point"), Controller: genName.Draw(t, "controller"),
			Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key"), Sync: genSync.Draw(t, "sync"), Write: genText.Draw(t, "write"), Since: genTime(t, "since")}
	},
	"BreakpointReleased": func(t *rapid.T) Event {
		return BreakpointReleased{Hold: uint64(genNumber.Draw(t, "hold")), Breakpoint: genNumber.Draw(t, "point"), Controller: genName.Draw(t, "controller"),
			Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key"), Write: genText.Draw(t, "write"), Outcome: HoldResumed}
	},
	"KeyStepped": func(t *rapid.T) Event {
		return KeyStepped{Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key")}
	},
	"KeyRetried": func(t *rapid.T) Event {
		return KeyRetried{Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key")}
	},
	"WriteHeld": func(t *rapid.T) Event {
		q := Question{
			ID: genNumber.Draw(t, "id"), Since: genTime(t, "since"), Controller: genName.Draw(t, "controller"), Cause: genCause.Draw(t, "cause"), Client: genText.Draw(t, "client"),
			Verb: "create", Object: genRef.Draw(t, "object"), Text: genText.Draw(t, "text"), Problem: genText.Draw(t, "problem"), Braked: rapid.Bool().Draw(t, "braked"),
		}
		if rapid.Bool().Draw(t, "covers") {
			q.Covers = map[Answer]string{AnswerVerb: genText.Draw(t, "covers"), AnswerKey: "x"}
		}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			q.Diff = append(q.Diff, FieldChange{Path: "spec.replicas", Old: genText.Draw(t, "old"), New: genText.Draw(t, "new")})
		}
		return WriteHeld{q}
	},
	"WriteDecided": func(t *rapid.T) Event {
		return WriteDecided{ID: genNumber.Draw(t, "id"), Controller: genName.Draw(t, "controller"), Text: genText.Draw(t, "text"), By: genText.Draw(t, "by"), Reason: genText.Draw(t, "reason"),
			Outcome: rapid.SampledFrom([]WriteOutcome{WriteApproved, WriteRejected, WriteCanceled, WriteNotSent}).Draw(t, "outcome"), NotSent: genNumber.Draw(t, "not sent")}
	},
	"ApprovalGiven": func(t *rapid.T) Event {
		return ApprovalGiven{Number: genNumber.Draw(t, "number"), ID: genNumber.Draw(t, "id"), Answer: AnswerVerb, Controller: genName.Draw(t, "controller"), Covers: genText.Draw(t, "covers"), Since: genTime(t, "since")}
	},
	"ApprovalsWithdrawn": func(t *rapid.T) Event {
		return ApprovalsWithdrawn{Count: genNumber.Draw(t, "count"), Covered: genText.Draw(t, "covered")}
	},
	"BreakerChanged": func(t *rapid.T) Event {
		return BreakerChanged{Tripped: rapid.Bool().Draw(t, "tripped"), Reason: genText.Draw(t, "reason"), By: genText.Draw(t, "by"), Since: genTime(t, "since")}
	},
	"ActiveChanged": func(t *rapid.T) Event {
		return ActiveChanged{Phase: rapid.SampledFrom([]ActivePhase{ActiveOff, ActiveCandidate, ActiveLeading, ActiveEnding}).Draw(t, "phase"),
			Ended: genText.Draw(t, "ended"), Reason: genText.Draw(t, "reason"), EndedAt: genTime(t, "at"), Again: genText.Draw(t, "again")}
	},
	"ControlsRestated": func(t *rapid.T) Event {
		return ControlsRestated{rapid.SampledFrom([]ControlSource{SourceBreakpoints, SourceApprovals, SourceActive}).Draw(t, "source")}
	},
}

var genNumber = rapid.IntRange(0, 4)

// foldEvents folds events a second apart.
func foldEvents(s *Snapshot, events ...Event) *Snapshot {
	for _, e := range events {
		seq, at := uint64(1), base
		if s != nil {
			seq, at = s.Seq+1, s.At.Add(time.Second)
		}
		s = Fold(s, Entry{Seq: seq, At: at, Event: e})
	}
	return s
}

const ctl = "deployment-controller"

func hit(hold uint64, point int, key, write string) BreakpointHit {
	return BreakpointHit{Hold: hold, Breakpoint: point, Controller: ctl, Queue: "deployment", Key: key, Write: write}
}

func holds(s *Snapshot) string {
	var out []string
	for _, b := range s.Controls.Breakpoints.All() {
		for _, h := range s.HoldsAt(b.Number) {
			out = append(out, fmt.Sprintf("%d: %s%s", b.Number, h.Key, prefixIf(h.Write != "", " before ")+h.Write))
		}
	}
	return strings.Join(out, "; ")
}

func TestPausesAndBreakpoints(t *testing.T) {
	s := foldEvents(nil, PauseChanged{Controller: ctl, Paused: true})
	if !s.Paused(ctl) || s.Paused("deployment") || s.Paused(ctl+"2") {
		t.Error("one controller is paused")
	}
	if p, _ := s.Controls.Pauses.Get(ctl); !p.Since.Equal(base) {
		t.Errorf("paused since %v", p.Since)
	}
	s = foldEvents(s, PauseChanged{Controller: ctl}, BreakpointChanged{Number: 1, Controller: ctl, Key: "shop/*"},
		BreakpointChanged{Number: 2, Controller: ctl, BeforeWrite: true}, hit(1, 1, "shop/web", ""), hit(2, 2, "shop/db", "create pods shop/db-1"), hit(10, 2, "shop/db", "create pods shop/db-2"))
	if want := "1: shop/web; 2: shop/db before create pods shop/db-1; 2: shop/db before create pods shop/db-2"; holds(s) != want || !s.Paused(ctl) {
		t.Errorf("held: %s", holds(s))
	}
	if h := s.HoldOf(ctl, "deployment", "shop/db"); h == nil || h.Hold != 2 {
		t.Errorf("held first of shop/db: %+v", h)
	}
	if s.HoldOf(ctl, "deployment", "shop/d") != nil {
		t.Error("a key's prefix is held")
	}

	// A breakpoint that is removed stays until it holds nothing.
	removed := foldEvents(s, BreakpointChanged{Number: 2, Controller: ctl, BeforeWrite: true, Removed: true}, BreakpointReleased{Hold: 2, Breakpoint: 2, Controller: ctl, Queue: "deployment", Key: "shop/db", Outcome: HoldStepped})
	if removed.Controls.Breakpoints.Len() != 2 || holds(removed) != "1: shop/web; 2: shop/db before create pods shop/db-2" {
		t.Errorf("held after a step: %s", holds(removed))
	}
	removed = foldEvents(removed, BreakpointReleased{Hold: 10, Breakpoint: 2, Controller: ctl, Queue: "deployment", Key: "shop/db", Outcome: HoldStepped})
	if removed.Controls.Breakpoints.Len() != 1 {
		t.Error("a removed breakpoint that holds nothing is still there")
	}

	// What is known otherwise does not need the release.
	if got := holds(foldEvents(s, KeyTaken{Controller: ctl, Queue: "deployment", Key: "shop/web", Sync: 1})); strings.Contains(got, "shop/web") {
		t.Errorf("a worker has the key, and it is held: %s", got)
	}
	if got := foldEvents(s, PauseChanged{Controller: ctl}); holds(got) != "" || got.Paused(ctl) {
		t.Errorf("held after a resume: %s", holds(got))
	}
	if s.Controls.Holds.Len() != 3 {
		t.Error("an earlier snapshot has changed")
	}
}

func question(id int) WriteHeld {
	return WriteHeld{Question{ID: id, Controller: ctl, Verb: "create", Text: fmt.Sprintf("create pods shop/web-%d", id), Cause: Cause{Kind: CauseSync, Controller: ctl, Queue: "deployment", Key: "shop/web", Sync: 7}}}
}

func pending(s *Snapshot) string {
	var ids []string
	for q := range s.Questions() {
		ids = append(ids, fmt.Sprint(q.ID))
	}
	return strings.Join(ids, " ")
}

func TestHeldWrites(t *testing.T) {
	trigger := Cause{Kind: CauseTimer, Controller: ctl}
	s := foldEvents(nil, KeyTaken{Controller: ctl, Queue: "deployment", Key: "shop/web", Sync: 7, Cause: trigger}, question(2), question(10), question(1))
	if pending(s) != "1 2 10" {
		t.Errorf("pending: %s", pending(s))
	}
	for q := range s.Questions() {
		if want := "sync 7 of deployment-controller shop/web ← " + trigger.String(); q.Why != want || q.Since.IsZero() {
			t.Errorf("question %d: since %v, why %q, want %q", q.ID, q.Since, q.Why, want)
		}
	}
	s = foldEvents(s, WriteDecided{ID: 2, Controller: ctl, Outcome: WriteRejected}, WriteDecided{ID: 1, Controller: ctl, Outcome: WriteApproved},
		WriteDecided{ID: 1, Controller: ctl, Outcome: WriteNotSent, Text: "create pods shop/web-1", Reason: "the lease is lost", NotSent: 4})
	if pending(s) != "10" || s.Controls.NotSent == nil || s.Controls.NotSent.NotSent != 4 {
		t.Errorf("pending: %s, not sent %+v", pending(s), s.Controls.NotSent)
	}
	braked := question(10)
	braked.Braked = true
	s = foldEvents(s, BreakerChanged{Tripped: true, Reason: "too many", Means: []string{"nobody reconciles"}}, braked,
		ApprovalGiven{Number: 1, Covers: "all"}, ApprovalGiven{Number: 2, Covers: "more"})
	if _, q, _ := s.Controls.Questions.At(0); !q.Braked || s.Controls.Breaker == nil || s.Controls.Breaker.Reason != "too many" || s.Controls.Approvals.Len() != 2 {
		t.Errorf("braked %+v, breaker %+v", q, s.Controls.Breaker)
	}
	s = foldEvents(s, BreakerChanged{By: "the user"}, ApprovalsWithdrawn{Count: 2})
	if s.Controls.Breaker != nil || s.Controls.Approvals.Len() != 0 {
		t.Error("a released breaker, or a withdrawn approval, is in force")
	}
}

// What a source states again replaces what was known of it, and nothing else.
func TestControlsRestated(t *testing.T) {
	before := foldEvents(nil, PauseChanged{Controller: ctl, Paused: true}, BreakpointChanged{Number: 1, Controller: ctl}, hit(1, 1, "shop/web", ""),
		question(1), ApprovalGiven{Number: 1}, BreakerChanged{Tripped: true, Reason: "too many"}, ActiveChanged{Phase: ActiveLeading})
	s := foldEvents(before, ControlsRestated{SourceBreakpoints}, BreakpointChanged{Number: 2, Controller: ctl})
	if s.Paused(ctl) || s.Controls.Breakpoints.Len() != 1 || holds(s) != "" || pending(s) != "1" || s.Controls.Active == nil {
		t.Errorf("after the breakpoints were stated again: held %s, pending %s", holds(s), pending(s))
	}
	s = foldEvents(before, ControlsRestated{SourceApprovals}, question(7))
	if pending(s) != "7" || s.Controls.Breaker != nil || s.Controls.Approvals.Len() != 0 || !s.Paused(ctl) {
		t.Errorf("after the approvals were stated again: pending %s", pending(s))
	}
}

// A lost lease ends active mode before its session says so.
func TestLostLeaseEndsActiveMode(t *testing.T) {
	lease := Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: "kube-system", Name: "kube-controller-manager"}
	s := foldEvents(nil, ActiveChanged{Phase: ActiveLeading}, ElectionChanged{Lease: lease, Phase: ElectionAcquired, Identity: "me", Deadline: 10 * time.Second})
	s = foldEvents(s, LeaseChanged{Lease: lease, Holder: "me", RenewTime: base.Add(time.Second)})
	if left := s.WritesAllowedFor(base.Add(4 * time.Second)); left != 7*time.Second {
		t.Errorf("writes may leave for %s", left)
	}
	if left := s.WritesAllowedFor(base.Add(time.Minute)); left != 0 {
		t.Errorf("writes may leave for %s after the deadline", left)
	}
	s = foldEvents(s, ElectionChanged{Lease: lease, Phase: ElectionLost, Identity: "me", Reason: "it was taken"})
	if a := s.Controls.Active; a.Phase != ActiveEnding || a.Ended != "lease lost" || a.Reason != "it was taken" || a.EndedAt.IsZero() || s.WritesAllowedFor(base) != 0 {
		t.Errorf("active mode is %+v", a)
	}
}

// Everything that is held is bounded, and what found no room is counted.
func TestControlsAreBounded(t *testing.T) {
	s := NewSnapshot(Limits{Breakpoints: 2, Holds: 3, Questions: 4, Approvals: 1, Controllers: 1})
	for i := range 10 {
		s = foldEvents(s, PauseChanged{Controller: fmt.Sprint(i), Paused: true}, BreakpointChanged{Number: i, Controller: ctl},
			hit(uint64(i), i, fmt.Sprint(i), ""), question(i), ApprovalGiven{Number: i})
	}
	got := map[string][2]uint64{}
	for _, b := range s.Bounds() {
		got[b.Name] = [2]uint64{uint64(b.Used), b.Dropped}
	}
	for name, want := range map[string][2]uint64{"pauses": {1, 9}, "breakpoints": {2, 8}, "holds at breakpoints": {3, 7}, "pending approvals": {4, 6}, "approvals": {1, 9}} {
		if got[name] != want {
			t.Errorf("%s: %v used and refused, want %v", name, got[name], want)
		}
	}
}

func TestControlEventsAreKnown(t *testing.T) {
	for name := range genControls {
		e, err := eventTypes[name](([]byte)("{}"))
		if err != nil || !IsControl(e) {
			t.Errorf("%s is no control event (%v)", name, err)
		}
		if d := Describe(e); strings.Contains(d, "not in this program's table") {
			t.Errorf("%s has no text: %s", name, d)
		}
	}
	if IsControl(KeyAdded{}) || IsControl(WriteFinished{}) {
		t.Error("what controllers do is no control event")
	}
}
