package render

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var (
	noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

	web        = state.Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web", UID: "d1"}
	webSet     = state.Ref{Group: "apps", Version: "v1", Resource: "replicasets", Namespace: "shop", Name: "web-7c9", UID: "r1"}
	webUpdated = state.Cause{Kind: state.CauseEvent, Controller: "deployment-controller", Object: &web, Change: state.ChangeUpdated, OldRV: "412", NewRV: "418"}
)

func inSync(n uint64) state.Cause {
	return state.Cause{Kind: state.CauseSync, Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Sync: n}
}

// story is a short session with everything in it that has a line of its own.
func story() []state.Entry {
	const d, q, key = "deployment-controller", "deployment", "shop/web"
	events := []state.Event{
		state.SessionStarted{Version: "v0.1.0", Kubernetes: "v1.37.1", Server: "v1.37.1", Mode: state.ModeActive, Sandbox: true},
		state.ControllerChanged{Controller: d, Status: state.ControllerStarting},
		state.ControllerChanged{Controller: d, Status: state.ControllerRunning, Queues: []string{q}, Workers: 5},
		state.ControllerChanged{Controller: "cloud-node-lifecycle-controller", Status: state.ControllerOff, Reason: "there is no cloud provider"},
		state.InformerChanged{Informer: "deployments.apps", Status: state.InformerSynced, Objects: 1, ResourceVersion: "410"},
		state.ObjectChanged{Informer: "deployments.apps", Change: state.ChangeUpdated, Object: web, OldRV: "412", NewRV: "418"},
		state.KeyAdded{Controller: d, Queue: q, Key: key, How: "Add", Cause: webUpdated},
		state.KeyTaken{Controller: d, Queue: q, Key: key, Sync: 1, Waited: 90 * time.Microsecond, Cause: webUpdated, Causes: 1},
		state.WriteFinished{Write: 1, Controller: d, Cause: inSync(1), Verb: "create", Object: webSet, Mode: state.ModeActive, Result: state.WriteDone, Status: 201, Duration: 6 * time.Millisecond,
			Diff: []state.FieldChange{{Path: "spec.replicas", New: "2"}}},
		state.WriteFinished{Write: 2, Controller: d, Cause: inSync(1), Verb: "update", Object: web, Subresource: "status", Mode: state.ModeActive, Result: state.WriteDone, Status: 200, Duration: 3 * time.Millisecond,
			Diff: []state.FieldChange{{Path: "status.replicas", Old: "2", New: "3"}, {Path: "status.conditions[type=Available].message", Old: `"no \u001b[2J"`}}},
		state.KeyFinished{Controller: d, Queue: q, Key: key, Sync: 1, Duration: 13 * time.Millisecond, Writes: 2},
		state.KeyTaken{Controller: d, Queue: q, Key: key, Sync: 2, Cause: state.Cause{Kind: state.CauseUnknown}},
		state.KeyFinished{Controller: d, Queue: q, Key: key, Sync: 2, Duration: 40 * time.Microsecond},
		state.KeyTaken{Controller: d, Queue: q, Key: key, Sync: 3, Cause: state.Cause{Kind: state.CauseEvent, Object: &webSet, Change: state.ChangeAdded, NewRV: "423"}, Causes: 2},
		state.WriteFinished{Write: 3, Controller: d, Cause: inSync(3), Verb: "update", Object: web, Mode: state.ModeActive, Result: state.WriteFailed, Status: 409, Message: "the object has been modified", Duration: 2 * time.Millisecond},
		state.KeyAdded{Controller: d, Queue: q, Key: key, How: "AddRateLimited", Delay: 40 * time.Millisecond, Due: noon.Add(time.Second), Retries: 3, Cause: inSync(3)},
		state.KeyFinished{Controller: d, Queue: q, Key: key, Sync: 3, Duration: 4 * time.Millisecond, Failed: true, Error: "the object has been modified", Writes: 1, Dirty: true},
		state.KeyReady{Controller: d, Queue: q, Key: key},
		state.KeyForgotten{Controller: d, Queue: q, Key: key, Retries: 3},
		state.KeyTaken{Controller: "garbage-collector-controller", Queue: "attemptToDelete", Key: "apps/v1/ReplicaSet shop/old", Sync: 4},
		state.KeyFinished{Controller: "garbage-collector-controller", Queue: "attemptToDelete", Key: "apps/v1/ReplicaSet shop/old", Sync: 4, Duration: 5 * time.Second},
		state.WriteFinished{Write: 4, Controller: "nodelifecycle-controller", Cause: state.Cause{Kind: state.CauseTimer, Controller: "nodelifecycle-controller"}, Verb: "patch",
			Object: state.Ref{Resource: "nodes", Name: "node-1"}, Mode: state.ModeDryRunClient, Result: state.WriteDry, Status: 200, Approximate: true, Repeat: 2,
			Diff: []state.FieldChange{{Path: "spec.taints[key=node.kubernetes.io/unreachable].effect", New: `"NoSchedule"`}}},
		state.WriteFinished{Write: 5, Controller: "kube-scheduler", Cause: state.Cause{Kind: state.CauseUnknown}, Verb: "create", Subresource: "binding",
			Object: state.Ref{Resource: "pods", Namespace: "shop", Name: "web-7c9-x"}, Mode: state.ModeReadOnly, Result: state.WriteRefused, Message: "this session is read-only"},
		state.WriteFinished{Write: 6, Controller: d, Cause: state.Cause{Kind: state.CauseUnknown, Controller: d, Object: &web}, Verb: "create", Object: state.Ref{Resource: "events", Namespace: "shop", Name: "web.1"},
			Mode: state.ModeActive, Result: state.WriteDone, Status: 201, Tells: &state.EventText{Type: "Normal", Reason: "ScalingReplicaSet", Message: "Scaled up replica set web-7c9 \u001b[2Jto 3"}},
		state.LeaseChanged{Lease: state.Ref{Resource: "leases", Namespace: "kube-system", Name: "kube-controller-manager"}, Holder: "node-1"},
		state.InformerChanged{Informer: "pods", Status: state.InformerFailed, Reason: "pods is forbidden"},
		state.Gap{Informer: "pods", Reason: "too old resource version"},
		state.Dropped{Where: "hub", Count: 12},
		state.Note{Source: "apply", Text: "service/web created"},
		state.Note{Source: "sandbox", Text: "the clock was set back", Warning: true},
		state.Unknown{Type: "PodSneezed", Problem: "unknown event type"},
		state.ControllerChanged{Controller: d, Status: state.ControllerFailed, Reason: "panic: assignment to entry in nil map"},
		state.KeyDropped{Controller: d, Queue: q, Key: "shop/db", By: state.ByUser},
	}
	entries := make([]state.Entry, len(events))
	for i, e := range events {
		entries[i] = state.Entry{Seq: uint64(i + 1), At: noon.Add(time.Duration(i*i) * 7 * time.Millisecond), Event: e}
	}
	return entries
}

func printed(t *testing.T, opts JournalOptions) string {
	t.Helper()
	var out bytes.Buffer
	j := NewJournal(opts)
	for _, e := range story() {
		if err := j.Write(&out, e); err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

func TestJournal(t *testing.T) {
	for name, opts := range map[string]JournalOptions{
		"essential":  {},
		"everything": {Verbosity: Everything},
		"diffs":      {Diffs: true, NameWidth: 14},
		"narrow":     {Verbosity: Everything, Width: 60, Diffs: true},
		"color":      {Verbosity: Everything, Diffs: true, Color: true, Location: time.FixedZone("CET", 3600)},
	} {
		t.Run(name, func(t *testing.T) {
			got := strings.ReplaceAll(printed(t, opts), "\x1b", "^[")
			checkGolden(t, "journal/"+name+".txt", got)
		})
	}
}

// Colour adds sequences and nothing else.
func TestColorChangesNoText(t *testing.T) {
	opts := JournalOptions{Verbosity: Everything, Diffs: true, Width: 70}
	without := printed(t, opts)
	opts.Color = true
	if got := withoutColor(printed(t, opts)); got != without {
		t.Errorf("without its colours it is\n%s\nwant\n%s", got, without)
	}
}

func withoutColor(text string) string {
	for _, s := range []style{bold, dim, red, green, yellow, cyan, "0"} {
		text = strings.ReplaceAll(text, "\x1b["+string(s)+"m", "")
	}
	return text
}

// Whatever a cluster sends, a line has no control character but the colours,
// and no more cells than asked for.
func TestJournalIsInert(t *testing.T) {
	texts := []string{}
	for _, text := range hostile {
		texts = append(texts, text)
	}
	anyHostile := rapid.OneOf(rapid.SampledFrom(texts), anyText)
	rapid.Check(t, func(t *rapid.T) {
		h := func(label string) string { return anyHostile.Draw(t, label) }
		ref := state.Ref{Resource: h("resource"), Namespace: h("namespace"), Name: h("name")}
		cause := state.Cause{Kind: state.CauseEvent, Object: &ref, Change: state.Change(h("change")), NewRV: h("rv")}
		opts := JournalOptions{Verbosity: Everything, Diffs: true, Color: rapid.Bool().Draw(t, "color"), Width: rapid.IntRange(0, 120).Draw(t, "width")}
		j := NewJournal(opts)
		for _, e := range []state.Event{
			state.KeyTaken{Controller: h("c"), Queue: h("q"), Key: h("k"), Sync: 1, Cause: cause},
			state.KeyFinished{Controller: h("c"), Queue: h("q"), Key: h("k"), Sync: 1, Failed: true, Error: h("error")},
			state.KeyAdded{Controller: h("c"), Queue: h("q"), Key: h("k"), How: h("how"), Cause: cause},
			state.WriteFinished{Controller: h("c"), Verb: h("verb"), Object: ref, Subresource: h("sub"), Message: h("message"), Cause: cause,
				Diff: []state.FieldChange{{Path: h("path"), Old: h("old"), New: h("new")}}},
			state.ControllerChanged{Controller: h("c"), Reason: h("reason"), Status: state.ControllerFailed},
			state.InformerChanged{Informer: h("i"), Reason: h("reason")},
			state.ObjectChanged{Informer: h("i"), Object: ref, Owner: &ref},
			state.LeaseChanged{Lease: ref, Holder: h("holder")},
			state.ElectionChanged{Lease: ref, Phase: state.ElectionLost, Identity: h("identity"), Holder: h("holder"), Reason: h("reason")},
			state.Note{Source: h("source"), Text: h("text"), Warning: true},
			state.Gap{Informer: h("i"), Reason: h("reason")},
			state.Unknown{Type: h("type"), Problem: h("problem")},
		} {
			for _, text := range j.Lines(state.Entry{At: noon, Event: e}) {
				text = withoutColor(text)
				checkInert(t, text, false)
				if opts.Width > 0 && Width(text) > opts.Width {
					t.Errorf("%q is %d wide, over %d", text, Width(text), opts.Width)
				}
			}
		}
	})
}

func TestJournalForgetsSyncs(t *testing.T) {
	j := NewJournal(JournalOptions{})
	for i := range uint64(3 * maxOpen) {
		j.Lines(state.Entry{Event: state.KeyTaken{Sync: i + 1}})
	}
	if len(j.open) > maxOpen {
		t.Errorf("%d syncs are remembered, the bound is %d", len(j.open), maxOpen)
	}
	for i := range uint64(3 * maxOpen) {
		j.Lines(state.Entry{Event: state.KeyFinished{Sync: i + 1}})
	}
	if len(j.open) != 0 {
		t.Errorf("%d syncs are remembered after all ended", len(j.open))
	}
}

type brokenPipe struct{}

var errPipe = errors.New("broken pipe")

func (brokenPipe) Write([]byte) (int, error) { return 0, errPipe }

func TestJournalTellsOfAFailedWrite(t *testing.T) {
	err := NewJournal(JournalOptions{}).Write(brokenPipe{}, state.Entry{Event: state.Note{Text: "hello"}})
	if !errors.Is(err, errPipe) {
		t.Errorf("error %v, want the writer's", err)
	}
}

func BenchmarkJournal(b *testing.B) {
	entries := story()
	j := NewJournal(JournalOptions{Verbosity: Everything, Diffs: true, Color: true, Width: 120})
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		j.Lines(entries[i%len(entries)])
		i++
	}
}

func ExampleJournal() {
	j := NewJournal(JournalOptions{NameWidth: 12})
	for _, e := range story()[6:11] {
		for _, l := range j.Lines(e) {
			fmt.Println(l)
		}
	}
	// Output:
	// 12:00:00.448 deployment   shop/web  create replicasets.apps shop/web-7c9 201 in 6ms
	// 12:00:00.567 deployment   shop/web  update deployments.apps/status shop/web 200 in 3ms
	// 12:00:00.700 deployment   shop/web  sync took 13ms, 2 writes ← deployments.apps shop/web updated (rv 412→418)
}

// A leader that stays one is not news; what a client behind the proxy reads is,
// and what it did not get stands out.
func TestJournalOfClients(t *testing.T) {
	lease := state.Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: "ops", Name: "operator"}
	write := func(controller, verb string, result state.WriteResult) state.Event {
		return state.WriteFinished{Controller: controller, Verb: verb, Object: lease, Mode: state.ModeActive, Result: result, Status: 200}
	}
	pods := state.Ref{Version: "v1", Resource: "pods"}
	j := NewJournal(JournalOptions{Color: true})
	for i, step := range []struct {
		event state.Event
		shown bool
	}{
		{write("one", "update", state.WriteDone), true},
		{write("one", "update", state.WriteDone), false},
		{write("one", "update", state.WriteFailed), true},
		{write("two", "update", state.WriteDone), true},
		{write("one", "patch", state.WriteDry), false},
		{write("one", "delete", state.WriteDone), true},
		{write("one", "create", state.WriteDone), true},
		{write("one", "update", state.WriteDone), false},
		{state.ClientRead{Client: "one", Verb: "watch", Object: pods, Status: 200, Count: 1}, true},
	} {
		if lines := j.Lines(state.Entry{Seq: uint64(i + 1), At: noon, Event: step.event}); (len(lines) > 0) != step.shown {
			t.Errorf("step %d: printed %q", i, lines)
		}
	}
	failed := j.Lines(state.Entry{At: noon, Event: state.ClientRead{Client: "one", Verb: "watch", Object: pods, Status: 403, Count: 1}})
	if len(failed) != 1 || !strings.Contains(failed[0], "\x1b[33mwatch pods 403") {
		t.Errorf("a read that failed is %q", failed)
	}
}
