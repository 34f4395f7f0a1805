package tui

import (
	"context"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var shopWeb = page.Subject{Kind: page.OnObject, Object: state.Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}}

func TestTimelinePage(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, on(shopOptions(snap), page.Timeline), snap, 80, 24)
	s.golden("timeline-80x24")
	newScreen(t, on(shopOptions(snap), page.Timeline), snap, 200, 60).golden("timeline-200x60")
}

func TestTimelineStory(t *testing.T) {
	snap := shop(t, 640) // before the image changes
	s := newScreen(t, on(shopOptions(snap), page.Timeline), snap, 80, 24)
	s.send(page.JumpMsg{Page: page.Timeline, To: shopWeb})
	s.golden("story-all-80x24")
	s.press("<").golden("story-syncs-80x24")
	s.press("<").golden("story-writes-80x24")
	wide := newScreen(t, on(shopOptions(snap), page.Timeline), snap, 200, 60)
	wide.send(page.JumpMsg{Page: page.Timeline, To: shopWeb})
	wide.press("<").golden("story-syncs-200x60")
}

// Groups come apart and together, and the cursor stays by them.
func TestTimelineApart(t *testing.T) {
	snap := shop(t, 640)
	s := newScreen(t, on(shopOptions(snap), page.Timeline), snap, 200, 60)
	s.send(page.JumpMsg{Page: page.Timeline, To: shopWeb})
	s.press("<", "<").has("3 × create pods by replicaset")
	for range 20 {
		if strings.Contains(s.footerText(), "apart") {
			break
		}
		s.press("j")
	}
	s.press("enter").hasNot("3 × create pods").has("create pods web-77584b5bf-7pvdn by replicaset")
	s.press("enter").has("3 × create pods by replicaset")
}

func (s *screen) footerText() string {
	lines := strings.Split(strings.TrimRight(s.text(), "\n"), "\n")
	return lines[len(lines)-1]
}

// An entry is followed to what led to it; esc goes back to the journal.
func TestTimelineFollow(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, on(shopOptions(snap), page.Timeline), snap, 200, 60)
	s.press("/", "type:binding shop/web-77584b5bf-7pvdn", "enter", "enter")
	s.has("Timeline of create pods/binding", "(this)", "(supposed)", "the user", "apply deployments web")
	s.press("o").has("Timeline of pods shop/web-77584b5bf-7pvdn")
	s.press("esc").has("Timeline: ")
	s.send(page.JumpMsg{Page: page.Timeline, To: page.Subject{Kind: page.OnController, Controller: "job-controller"}})
	s.has("of job-controller").hasNot("replicaset  ")
	s.send(page.JumpMsg{Page: page.Timeline, To: page.Subject{Kind: page.OnKey, Controller: "deployment-controller", Queue: "deployment", Key: "shop/web"}})
	s.has("Timeline of deployment shop/web")
	s.send(page.JumpMsg{Page: page.Timeline, To: page.Subject{Kind: page.OnEvent, Seq: 193}})
	if got := s.page().Under(s.env); got.Seq != 193 {
		t.Errorf("the cursor is on entry %d", got.Seq)
	}
	if got := s.press("T"); got.shown != page.Timeline {
		t.Errorf("page %d is shown", got.shown)
	}
	s.press("Q")
	if s.shown != page.Queues {
		t.Errorf("page %d is shown", s.shown)
	}
}

// A cursor at the end follows; elsewhere it stays.
func TestTimelineFollowsTheEnd(t *testing.T) {
	some, all := shop(t, 900), shop(t, 0)
	s := newScreen(t, on(shopOptions(all), page.Timeline), some, 80, 24)
	first := s.page().Under(s.env)
	s.show(all)
	if now := s.page().Under(s.env); now.Seq <= first.Seq {
		t.Errorf("the cursor at the end stayed on entry %d", now.Seq)
	}
	s.press("k", "k")
	stays := s.page().Under(s.env)
	s.show(state.Fold(all, state.Entry{Seq: all.Seq + 1, At: all.At, Event: state.Note{Source: "test", Text: "later"}}))
	if now := s.page().Under(s.env); now.Seq != stays.Seq {
		t.Errorf("the cursor went from entry %d to %d", stays.Seq, now.Seq)
	}
	s.press("G").has("later")
}

// A gap is a line across, in the journal and in a story that it falls into,
// whatever is filtered.
func TestTimelineGap(t *testing.T) {
	entries := tuitest.Recorded(t)
	snap := state.NewSnapshot(state.Limits{})
	for _, e := range entries[:640] {
		e.Seq *= 2
		snap = state.Fold(snap, e)
		if e.Seq == 2*400 {
			snap = state.Fold(snap, state.Entry{Seq: e.Seq + 1, At: e.At, Event: state.Gap{Informer: "pods", Reason: "watch closed"}})
		}
	}
	s := newScreen(t, on(shopOptions(snap), page.Timeline), snap, 120, 24)
	s.press("/", "type:nothing is like this", "enter").has("── pods ──", "events may be missing here: watch closed ──")
	s.send(page.JumpMsg{Page: page.Timeline, To: shopWeb})
	s.has("── pods ──", "events may be missing here: watch closed ──")
	s.send(page.JumpMsg{Page: page.Timeline, To: page.Subject{Kind: page.OnObject, Object: state.Ref{Resource: "configmaps", Namespace: "shop", Name: "web"}}})
	s.hasNot("missing here")
}

func TestTimelineHostile(t *testing.T) {
	for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
		s := newScreen(t, on(Options{}, page.Timeline), hostile(), size[0], size[1])
		s.text()
		s.press("g", "enter").text()
		for range 8 {
			s.press("j").text()
		}
		s.press("d").text()
	}
}

func TestTimelinePlain(t *testing.T) {
	snap := shop(t, 0)
	var out strings.Builder
	o := on(shopOptions(snap), page.Timeline)
	o.Theme, o.Journal = testTheme(t, "mono", 0), &onceJournal{snap: snap}
	if err := Plain(context.Background(), o, &out); err != nil {
		t.Fatal(err)
	}
	want := " deployment           shop/web  create replicasets.apps shop/web-77584b5bf 201 in 103ms"
	if !strings.Contains(out.String(), want) {
		t.Errorf("no line %q in\n%s", want, out.String()[:min(3000, out.Len())])
	}
}

// onceJournal brings one snapshot, and then says that it is over.
type onceJournal struct{ snap *state.Snapshot }

func (j *onceJournal) Next(ctx context.Context, last *state.Snapshot) (*state.Snapshot, error) {
	if last == j.snap {
		return nil, context.Canceled
	}
	return j.snap, nil
}
