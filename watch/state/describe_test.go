package state

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

// describeEntry is Describe with the entry's number and its time in UTC.
func describeEntry(e Entry) string {
	return fmt.Sprintf("%d %s %s", e.Seq, clock(e.At), Describe(e.Event))
}

// The lines are read by people in logs and compared by tests elsewhere: they
// change on purpose only.
func TestDescribe(t *testing.T) {
	var out strings.Builder
	write := func(e Event) { fmt.Fprintf(&out, "%s\n", describeEntry(Entry{Seq: 1, At: base, Event: e})) }
	for _, e := range examples() {
		write(e)
	}
	out.WriteString("\n")
	pod := Ref{Version: "v1", Resource: "pods", Namespace: "shop", Name: "web-1"}
	node := Ref{Version: "v1", Resource: "nodes", Name: "node-1"}
	for _, c := range []Cause{
		{},
		{Kind: CauseUnknown},
		{Kind: CauseTimer, Controller: "nodelifecycle-controller"},
		{Kind: CauseUser, Controller: "deployment-controller"},
		{Kind: CauseSync, Controller: "garbage-collector-controller", Queue: "attemptToDelete", Key: "shop/web", Sync: 9},
		{Kind: CauseEvent},
		{Kind: CauseEvent, Object: &pod, Change: ChangeListed, NewRV: "7"},
		{Kind: CauseEvent, Object: &pod, Change: ChangeResync, OldRV: "7", NewRV: "7"},
		{Kind: CauseEvent, Object: &node, Change: ChangeDeleted, OldRV: "7"},
	} {
		write(KeyAdded{Controller: "c", Queue: "q", Key: "k", How: "Add", Cause: c})
	}
	for _, e := range []Event{
		KeyFinished{Controller: "c", Queue: "c", Key: "k", Sync: 2, Duration: 90 * time.Second, Failed: true},
		KeyFinished{Controller: "c", Queue: "c", Key: "k", Sync: 2, Error: "odd, and not retried"},
		KeyFinished{Controller: "c", Queue: "c", Key: "k", Sync: 2, Failed: true, Error: "two\nlines and \x1b]52;c;aGk=\x07 an escape"},
		QueueStalled{Controller: "c-controller", Queue: "other", Since: base, Ready: 1, Idle: 1},
		WriteFinished{Controller: "c", Verb: "delete", Object: pod, Mode: ModeReadOnly, Result: WriteRefused, Message: "this session is read-only"},
		WriteFinished{Controller: "c", Verb: "deletecollection", Object: Ref{Resource: "pods", Namespace: "shop"}, Result: WriteFailed, Status: 403, Message: "forbidden"},
		WriteFinished{Controller: "c", Verb: "create", Object: Ref{Resource: "events", Namespace: "shop", Name: "a.1"}, Cause: Cause{Kind: CauseUnknown, Object: &pod},
			Mode: ModeActive, Result: WriteDone, Status: 201, Tells: &EventText{Type: "Warning", Reason: "Fail\x1b[31med", Message: "two\nlines \u202e", Count: 2}},
		WriteFinished{Controller: "c", Verb: "create", Object: Ref{Group: "events.k8s.io", Resource: "events", Namespace: "shop", Name: "a.1"}, Cause: Cause{Kind: CauseUnknown, Object: &pod}, Result: WriteDone},
		WriteFinished{Controller: "c", Verb: "delete", Object: Ref{Resource: "events", Namespace: "shop", Name: "a.1"}, Cause: Cause{Kind: CauseUnknown}, Result: WriteDone},
		LeaseChanged{Lease: Ref{Namespace: "a", Name: "b"}},
		ClientRead{Client: "operator", Verb: "get", Status: 200, Count: 1},
		ClientRead{Client: "operator", Verb: "list", Object: Ref{Version: "v1", Resource: "pods"}, Status: 403, Count: 2},
		ClientRead{Client: "operator", Verb: "list", Object: Ref{Version: "v1", Resource: "pods"}, Message: "connection refused", Count: 1},
		ElectionChanged{Lease: Ref{Namespace: "a", Name: "b"}, Phase: ElectionCandidate, Identity: "me"},
		ElectionChanged{Lease: Ref{Namespace: "a", Name: "b"}, Phase: ElectionCandidate, Identity: "me", Holder: "you", Since: base, RenewTime: base.Add(time.Second)},
		ElectionChanged{Lease: Ref{Namespace: "a", Name: "b"}, Phase: ElectionCandidate, Identity: "me", Holder: "you", Since: base, RenewTime: base.Add(time.Second), Expired: base.Add(16 * time.Second), Wait: 15 * time.Second},
		SessionStarted{Version: "v0.1.0", Kubernetes: "v1.37.1", Context: "prod", Mode: ModeActive, Elected: true},
		ElectionChanged{Lease: Ref{Namespace: "a", Name: "b"}, Phase: ElectionAcquired, Identity: "me"},
		ElectionChanged{Lease: Ref{Namespace: "a", Name: "b"}, Phase: ElectionRenewedLate, Identity: "me", Gap: 7 * time.Second},
		ElectionChanged{Lease: Ref{Namespace: "a", Name: "b"}, Phase: ElectionLost, Identity: "me", Holder: "you", Reason: "another leads"},
		ElectionChanged{Lease: Ref{Namespace: "a", Name: "b"}, Phase: ElectionReleased, Identity: "me"},
		ElectionChanged{Lease: Ref{Namespace: "a", Name: "b"}, Phase: ElectionWithdrawn, Identity: "me", Holder: "you"},
		Note{Source: "sandbox", Text: "ready"},
		Unknown{Type: "PodSneezed", Problem: "unknown event type"},
		&Gap{},
		nil,
	} {
		write(e)
	}
	golden(t, "describe.txt", out.String())
}

func TestDescribeIsOneInertLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		checkInert(t, []byte(Describe(genEvent.Draw(t, "event"))))
	})
}

func TestOneLine(t *testing.T) {
	for in, want := range map[string]string{
		"plain":                  "plain",
		"zwölf Boxkämpfer 拳闘":    "zwölf Boxkämpfer 拳闘",
		"a\nb\tc\r\nd\u2028e":    `a b c  d e`,
		"\x1b[31m\x07\x7f\u009b": `\x1b[31m\a\x7f\u009b`,
		"\u202e\u200b\ufeff":     `\u202e\u200b\ufeff`,
		"\xff\x9b":               `\xff\x9b`,
		"\ufffd":                 "\ufffd",
		"\U000e0041":             `\U000e0041`,
	} {
		if got := OneLine(in); got != want {
			t.Errorf("OneLine(%q) = %q, want %q", in, got, want)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		once := OneLine(rapid.OneOf(rapid.String(), rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })).Draw(t, "text"))
		checkInert(t, []byte(once))
		if twice := OneLine(once); twice != once {
			t.Fatalf("once %q, twice %q", once, twice)
		}
	})
}

func TestShort(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 15: "15ns", 1234: "1.234µs", 12345: "12µs", 1234567: "1.2ms", 12345678: "12ms", 1234567890: "1.23s",
		12345678901: "12.3s", 125 * time.Second: "2m5s", 2*time.Hour + 31*time.Second: "2h1m", 40 * time.Millisecond: "40ms", -1234567: "-1.2ms",
	} {
		if got := Short(d); got != want {
			t.Errorf("Short(%d) = %s, want %s", d, got, want)
		}
	}
}

func TestKeyIn(t *testing.T) {
	for _, c := range []struct{ controller, queue, want string }{
		{"deployment-controller", "deployment", "k"},
		{"endpointslice-controller", "endpoint_slice", "k"},
		{"pod-garbage-collector-controller", "podgarbage_collector", "k"},
		{"deployment-controller", "", "k"},
		{"deployment-controller", "deploymen", "k [deploymen]"},
		{"deployment-controller", "deployments", "k [deployments]"},
		{"deployment-controller", "-", "k [-]"},
	} {
		if got := KeyIn(c.controller, c.queue, "k"); got != c.want {
			t.Errorf("%s, %s: %q, want %q", c.controller, c.queue, got, c.want)
		}
	}
}
