package state

import (
	"bytes"
	"errors"
	"flag"
	"io"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func sortedTypes() []string { return slices.Sorted(maps.Keys(eventTypes)) }

// examples has one event of each type with every field set, so that the golden
// file shows the whole format.
func examples() []Event {
	deployment := Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web", UID: "d-1"}
	replicaSet := Ref{Group: "apps", Version: "v1", Resource: "replicasets", Namespace: "shop", Name: "web-7c9", UID: "r-1"}
	event := Cause{Kind: CauseEvent, Controller: "deployment-controller", Object: &deployment, Change: ChangeUpdated, OldRV: "412", NewRV: "418"}
	sync := Cause{Kind: CauseSync, Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Sync: 7}
	return []Event{
		SessionStarted{Version: "v0.1.0", Kubernetes: "v1.37.1", Server: "v1.36.2", Context: "prod", Mode: ModeDryRunClient, Sandbox: true, Namespace: "shop", Elected: true},
		ControllerChanged{Controller: "deployment-controller", Status: ControllerRunning, Reason: "asked for", Queues: []string{"deployment"}, Workers: 5,
			Keys: []QueueKeys{{Queue: "deployment", Types: []string{"deployments.apps"}, Prefixes: map[string]string{"deployments.apps": "d:"}, Any: true, Feeds: true}}},
		InformerChanged{Informer: "deployments.apps", Status: InformerSynced, Objects: 12, ResourceVersion: "410", Reason: "first list"},
		ObjectChanged{Informer: "replicasets.apps", Change: ChangeUpdated, Object: replicaSet, OldRV: "419", NewRV: "423", Owner: &deployment},
		KeyAdded{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", How: "AddRateLimited", Delay: 40 * time.Millisecond,
			Due: base.Add(40 * time.Millisecond), Retries: 3, Merged: true, Cause: event},
		KeyReady{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web"},
		KeyTaken{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Sync: 7, Waited: 1500 * time.Microsecond, Cause: event, Causes: 2},
		KeyFinished{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Sync: 7, Duration: 6*time.Millisecond + 1,
			Failed: true, Error: "Operation cannot be fulfilled on deployments.apps \"web\"", Writes: 1, Dirty: true},
		KeyForgotten{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Retries: 3},
		KeyDropped{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", By: ByStop},
		QueueStalled{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Since: base, Ready: 2, Idle: 5, Resumed: true},
		WriteFinished{Write: 4, Controller: "deployment-controller", Cause: sync, Verb: "update", Object: replicaSet, Subresource: "scale", Mode: ModeDryRunServer, Approval: "rule 2 of the policy",
			Result: WriteDry, Status: 200, Message: "looks fine", Duration: 6 * time.Millisecond, ResourceVersion: "431",
			Diff: []FieldChange{{Path: "spec.replicas", Old: "3", New: "0"}}, Approximate: true, Repeat: 2,
			Tells: &EventText{Type: "Warning", Reason: "FailedScheduling", Message: "0/3 nodes are available", Count: 4}},
		LeaseChanged{Lease: Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: "kube-system", Name: "kube-controller-manager"},
			Holder: "node-1_abc", RenewTime: base, Duration: 15, Transitions: 2, Deleted: true},
		ClientRead{Client: "operator", Verb: "watch", Object: Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop"}, InitialEvents: true,
			Status: 200, Message: "cut off", Count: 9, AtEnd: true},
		ElectionChanged{Lease: Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: "kube-system", Name: "kube-controller-manager"},
			Phase: ElectionLost, Identity: "laptop_kctl-ctrl-1", Holder: "node-1_abc", Since: base, RenewTime: base.Add(time.Minute), Expired: base.Add(time.Hour), Wait: 15 * time.Second, Gap: 3 * time.Second, Deadline: 10 * time.Second, Reason: "another leads"},
		Gap{Informer: "pods", Reason: "too old resource version"},
		Dropped{Where: "hub", Count: 12},
		Note{Source: "sandbox", Text: "the server is ready", Warning: true},
		wholeCheckpoint(),
		ControllerRequested{Controller: "deployment-controller", Action: ActionStop},
		PauseChanged{Controller: "deployment-controller", Paused: true, Breakpoint: 2, Since: base},
		BreakpointChanged{Number: 2, Controller: "deployment-controller", Key: "shop/*", BeforeWrite: true, Removed: true},
		BreakpointHit{Hold: 3, Breakpoint: 2, Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Sync: 7, Write: "create replicasets.apps shop/web-7c9", Since: base},
		BreakpointReleased{Hold: 3, Breakpoint: 2, Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Write: "create replicasets.apps shop/web-7c9", Outcome: HoldStepped},
		KeyStepped{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web"},
		KeyRetried{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web"},
		WriteHeld{Question{ID: 3, Since: base, Controller: "deployment-controller", Cause: sync, Why: "sync 7", Client: "operator/v1", Verb: "update", Object: replicaSet, Subresource: "scale",
			Text: "update replicasets.apps shop/web-7c9/scale", Diff: []FieldChange{{Path: "spec.replicas", Old: "3", New: "0"}}, Approximate: true, Problem: "unknown", Skipped: 1, Braked: true,
			Covers: map[Answer]string{AnswerKey: "every write of deployment-controller for shop/web"}}},
		WriteDecided{ID: 3, Controller: "deployment-controller", Outcome: WriteNotSent, Text: "update replicasets.apps shop/web-7c9/scale", By: "the user", Reason: "the object has changed meanwhile", NotSent: 2},
		ApprovalGiven{Number: 1, ID: 3, Answer: AnswerKey, Controller: "deployment-controller", Covers: "every write of deployment-controller for shop/web", Since: base},
		ApprovalsWithdrawn{Count: 1, Covered: "every write of deployment-controller for shop/web"},
		BreakerChanged{Tripped: true, Reason: "the limit of 3 writes per minute is reached", By: "the policy", Means: []string{"nobody reconciles"}, Since: base},
		ActiveChanged{Phase: ActiveEnding, Ended: "lease lost", Reason: "another leads", EndedAt: base, Again: "start kctl-ctrl again"},
		ControlsRestated{Source: SourceApprovals},
	}
}

func golden(t *testing.T, name string, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s differs; if the change is meant, run go test with -update\ngot:\n%swant:\n%s", file, got, want)
	}
}

// The golden file is the published format of recordings: a line that changes in
// it breaks those that users have.
func TestRecordingFormat(t *testing.T) {
	var out bytes.Buffer
	enc := NewEncoder(&out, Header{Version: "v0.1.0", Started: base, Context: "prod", Mode: ModeDryRunClient})
	for i, e := range examples() {
		if err := enc.Encode(Entry{Seq: uint64(i + 1), At: base.Add(time.Duration(i) * time.Second), Event: e}); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "recording.jsonl", out.String())

	dec, err := NewDecoder(&out)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range examples() {
		got, err := dec.Next()
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got.Event, want) || got.Seq != uint64(i+1) {
			t.Errorf("read back %#v, want %#v", got.Event, want)
		}
	}
	if _, err := dec.Next(); !errors.Is(err, io.EOF) {
		t.Errorf("after the last entry: %v, want EOF", err)
	}
}

func TestEveryTypeHasAnExampleAndAGenerator(t *testing.T) {
	seen := map[string]bool{}
	for _, e := range examples() {
		seen[e.EventType()] = true
		v := reflect.ValueOf(e)
		for i := range v.NumField() {
			if v.Field(i).IsZero() {
				t.Errorf("the example of %s leaves %s empty: the golden file does not show it", e.EventType(), v.Type().Field(i).Name)
			}
		}
		if _, ok := eventTypes[e.EventType()]; !ok {
			t.Errorf("%s is not in eventTypes", e.EventType())
		}
	}
	for name := range eventTypes {
		if !seen[name] || genEvents[name] == nil && name != "Checkpoint" {
			t.Errorf("%s: example %v, generator %v; want both", name, seen[name], genEvents[name] != nil)
		}
	}
}

func TestEncodeRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := Entry{Seq: rapid.Uint64().Draw(t, "seq"), At: genTime(t, "at"), Event: genEvent.Draw(t, "event")}
		line, err := EncodeEntry(want)
		if err != nil {
			t.Fatal(err)
		}
		checkInert(t, line)
		got, err := DecodeEntry(line)
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("read back\n%#v\nwant\n%#v\nfrom %s", got, want, line)
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(string, ...any)
}

// checkInert fails if a line could act on a terminal that shows it.
func checkInert(t fataler, line []byte) {
	t.Helper()
	if !utf8.Valid(line) {
		t.Fatalf("not UTF-8: %q", line)
	}
	for _, r := range string(line) {
		if !Printable(r) {
			t.Fatalf("%U stands in %q", r, line)
		}
	}
}

func TestDecodeIsKindToTheFuture(t *testing.T) {
	for name, c := range map[string]struct {
		line string
		want Event
	}{
		"an unknown type": {
			`{"seq":3,"at":"2026-01-02T15:04:05Z","type":"PodSneezed","event":{"loud":true}}`,
			Unknown{Type: "PodSneezed", Body: []byte(`{"loud":true}`), Problem: "unknown event type"},
		},
		"an unknown field": {
			`{"seq":3,"at":"2026-01-02T15:04:05Z","type":"Gap","event":{"informer":"pods","reason":"r","colour":"red"},"more":1}`,
			Gap{Informer: "pods", Reason: "r"},
		},
		"no body":         {`{"seq":3,"type":"Gap"}`, Gap{}},
		"nanoseconds":     {`{"seq":3,"type":"KeyTaken","event":{"waited":1500}}`, KeyTaken{Waited: 1500}},
		"an old duration": {`{"seq":3,"type":"KeyTaken","event":{"waited":"1h2m3.000000004s"}}`, KeyTaken{Waited: time.Hour + 2*time.Minute + 3*time.Second + 4}},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := DecodeEntry([]byte(c.line))
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(e.Event, c.want) {
				t.Errorf("got %#v, want %#v", e.Event, c.want)
			}
		})
	}
	e, err := DecodeEntry([]byte(`{"seq":3,"type":"Gap","event":{"informer":7}}`))
	if u, ok := e.Event.(Unknown); err != nil || !ok || u.Type != "Gap" || u.Problem == "" {
		t.Errorf("a body of another shape: %#v, %v; want an Unknown of type Gap with a problem", e, err)
	}
	line, err := EncodeEntry(e)
	if err != nil || !strings.Contains(string(line), `"type":"Gap","event":{"informer":7}`) {
		t.Errorf("written again it is %s (%v), want what was read", line, err)
	}
}

func TestRecordingSurvivesDamage(t *testing.T) {
	file := `{"apiVersion":"kctl-ctrl.dev/v1alpha1","kind":"Recording"}

{"seq":1,"at":"2026-01-02T15:04:05Z","type":"Gap","event":{"informer":"pods","reason":"r"}}
` + "\x00\xff garbage\n" + `{"seq":2,"type":"Later","event":{}}
{"seq":3,"type":"Note","event":{"source":"` + strings.Repeat("x", maxLine) + `"}}
{"seq":4,"type":"Note","event":{"source":"s","text":"t"}}
{"seq":5,"type":"No`
	dec, err := NewDecoder(strings.NewReader(file))
	if err != nil {
		t.Fatal(err)
	}
	var types []string
	s := NewSnapshot(Limits{})
	for {
		e, err := dec.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		types = append(types, e.Event.EventType())
		s = Fold(s, e)
	}
	if want := []string{"Gap", "Unknown", "Later", "Unknown", "Note", "Unknown"}; !slices.Equal(types, want) {
		t.Errorf("read %v, want %v", types, want)
	}
	if n, _ := s.Unknown.Get("Unknown"); n != 3 || s.Lost != 1 {
		t.Errorf("counted %d without a type and %d lost, want 3 and 1", n, s.Lost)
	}
}

// Another version with the same number is read, and what it has more is counted.
func TestLaterRecording(t *testing.T) {
	for _, version := range []string{RecordingAPIVersion, "kctl-ctrl.dev/v1beta2", "kctl-ctrl.dev/v1"} {
		file := `{"apiVersion":"` + version + `","kind":"Recording","later":1}
{"seq":1,"at":"2026-01-02T15:04:05Z","type":"Levitated","event":{"height":3}}
`
		dec, err := NewDecoder(strings.NewReader(file))
		if err != nil {
			t.Errorf("%s: %v", version, err)
			continue
		}
		e, err := dec.Next()
		if err != nil {
			t.Fatal(err)
		}
		if n, _ := Fold(nil, e).Unknown.Get("Levitated"); n != 1 {
			t.Errorf("%s: counted %d", version, n)
		}
	}
}

func TestNotARecording(t *testing.T) {
	for file, want := range map[string]string{
		"":                             "it is empty",
		"\n\n":                         "it is empty",
		"hello":                        "not a header",
		`{"seq":1,"type":"Note"}`:      "not a header",
		`{"kind":"Recording"}`:         `of version ""`,
		strings.Repeat("y", maxLine+9): "not a header",
		`{"apiVersion":"kctl-ctrl.dev/v9","kind":"Recording"}`:  `of version "kctl-ctrl.dev/v9"`,
		`{"apiVersion":"kctl-ctrl.dev/v10","kind":"Recording"}`: `of version "kctl-ctrl.dev/v10"`,
	} {
		if _, err := NewDecoder(strings.NewReader(file)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: error %v, want one with %q", file, err, want)
		}
	}
	broken := errors.New("disk on fire")
	if _, err := NewDecoder(io.MultiReader(strings.NewReader(`{"apiV`), failing{broken})); !errors.Is(err, broken) {
		t.Errorf("error %v, want the reader's own", err)
	}
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

func FuzzDecodeEntry(f *testing.F) {
	for i, e := range examples() {
		line, err := EncodeEntry(Entry{Seq: uint64(i), At: base, Event: e})
		if err != nil {
			f.Fatal(err)
		}
		f.Add(line)
	}
	f.Add([]byte(`{"seq":1,"type":"Odd","event":[1,2,{"a":"\u009b"}]}`))
	f.Fuzz(func(t *testing.T, line []byte) {
		e, err := DecodeEntry(line)
		if err != nil {
			return
		}
		Fold(nil, e)
		describeEntry(e)
		again, err := EncodeEntry(e)
		if err != nil {
			if e.At.Year() > 9999 || e.At.Year() < 0 {
				return
			}
			// A date of another field may be out of JSON's range as well.
			if strings.Contains(err.Error(), "year outside of range") {
				return
			}
			t.Fatalf("%s was read and cannot be written: %v", line, err)
		}
		checkInert(t, again)
		once, err := DecodeEntry(again)
		if err != nil {
			t.Fatal(err)
		}
		twice, err := EncodeEntry(once)
		if err != nil || !bytes.Equal(again, twice) {
			t.Fatalf("not stable: %s then %s (%v)", again, twice, err)
		}
	})
}
