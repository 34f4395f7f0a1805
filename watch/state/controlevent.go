package state

import (
	"fmt"
	"strings"
	"time"
)

// The events below say what the user, or something that acts in the user's place,
// does to controllers and their writes: pauses, breakpoints, approvals, the circuit
// breaker, active mode. Fold makes Snapshot.Controls of them.
//
// A lost one would hide a write that is held. So a bounded journal keeps room for
// them (see IsControl), and where one is lost all the same its source states
// everything again: a ControlsRestated, and then each fact once more.

// IsControl reports whether an event is one that a bound should keep out last.
func IsControl(e Event) bool {
	switch e.(type) {
	case ControllerRequested, PauseChanged, BreakpointChanged, BreakpointHit, BreakpointReleased,
		KeyStepped, KeyRetried, KeyDropped, WriteHeld, WriteDecided, ApprovalGiven, ApprovalsWithdrawn,
		BreakerChanged, ActiveChanged, ControlsRestated, ElectionChanged:
		return true
	}
	return false
}

// Actor is who did something to a controller.
type Actor string

const (
	// ByUser: the user of this program.
	ByUser Actor = "user"
	// ByStop: the controller was stopped.
	ByStop Actor = "stop"
	// ByPolicy: a rule or limit of the approval policy.
	ByPolicy Actor = "policy"
)

// ControllerAction is what a user asks of a controller.
type ControllerAction string

const (
	ActionStart ControllerAction = "start"
	ActionStop  ControllerAction = "stop"
)

// ControllerRequested says that the user started or stopped a controller. What
// becomes of it is said by ControllerChanged.
type ControllerRequested struct {
	Controller string           `json:"controller"`
	Action     ControllerAction `json:"action"`
}

// PauseChanged says that the workers of a controller take no more keys, or take
// them again.
type PauseChanged struct {
	Controller string `json:"controller"`
	Paused     bool   `json:"paused"`
	// Breakpoint is the number of the one that paused it; zero for the user.
	Breakpoint int `json:"breakpoint,omitempty"`
	// Since is when the pause began or ended.
	Since time.Time `json:"since,omitzero"`
}

// BreakpointChanged says that a breakpoint was set, or removed.
type BreakpointChanged struct {
	// Number is unique in a journal.
	Number     int    `json:"number"`
	Controller string `json:"controller"`
	// Key is a pattern as of path.Match, on the queue key; empty for any.
	Key string `json:"key,omitempty"`
	// BeforeWrite: it stops the controller before a write, and not when a worker
	// asks for the key.
	BeforeWrite bool `json:"beforeWrite,omitempty"`
	// Removed: it stops nothing any more. What it holds stays held.
	Removed bool `json:"removed,omitempty"`
}

// BreakpointHit says that a key or a write is held at a breakpoint.
type BreakpointHit struct {
	// Hold is unique in a journal.
	Hold       uint64 `json:"hold"`
	Breakpoint int    `json:"breakpoint"`
	Controller string `json:"controller"`
	// Queue and Key are empty for a write that is made for no key.
	Queue string `json:"queue,omitempty"`
	Key   string `json:"key,omitempty"`
	// Sync is that of the write; zero for a key, and for a write in no sync.
	Sync uint64 `json:"sync,omitempty"`
	// Write says what is to be written: "create pods shop/web-1"; empty for a key.
	Write string    `json:"write,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// HoldOutcome is how something ceased to be held at a breakpoint.
type HoldOutcome string

const (
	HoldStepped  HoldOutcome = "stepped"
	HoldResumed  HoldOutcome = "resumed"
	HoldTaken    HoldOutcome = "taken"
	HoldDropped  HoldOutcome = "dropped"
	HoldCanceled HoldOutcome = "canceled"
	HoldStopped  HoldOutcome = "stopped"
)

// BreakpointReleased says that what a BreakpointHit told of is held no longer.
type BreakpointReleased struct {
	Hold       uint64      `json:"hold"`
	Breakpoint int         `json:"breakpoint"`
	Controller string      `json:"controller"`
	Queue      string      `json:"queue,omitempty"`
	Key        string      `json:"key,omitempty"`
	Write      string      `json:"write,omitempty"`
	Outcome    HoldOutcome `json:"outcome"`
}

// KeyStepped says that the user let one key of a paused controller through, or one
// write that a breakpoint held of it.
type KeyStepped struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue,omitempty"`
	Key        string `json:"key,omitempty"`
}

// KeyRetried says that the user made a delayed key ready at once.
type KeyRetried struct {
	Controller string `json:"controller"`
	Queue      string `json:"queue"`
	Key        string `json:"key"`
}

// WriteHeld says that a write waits for an approval, or for the circuit breaker.
// It is recorded again for the same ID when the Question changes.
type WriteHeld struct{ Question }

// WriteOutcome is what became of a write that was held for an approval.
type WriteOutcome string

const (
	WriteApproved WriteOutcome = "approved"
	WriteRejected WriteOutcome = "rejected"
	// WriteCanceled: its request was given up before there was an answer.
	WriteCanceled WriteOutcome = "canceled"
	// WriteNotSent: it was approved, and not sent after all.
	WriteNotSent WriteOutcome = "not sent"
)

// WriteDecided says what became of a WriteHeld. A write that was approved and then
// not sent has two.
type WriteDecided struct {
	ID         int          `json:"id"`
	Controller string       `json:"controller"`
	Outcome    WriteOutcome `json:"outcome"`
	// Text says what was to be written, as of the Question.
	Text string `json:"text,omitempty"`
	// By says who approved it, in words: "the user". Reason is why it was rejected
	// or not sent.
	By     string `json:"by,omitempty"`
	Reason string `json:"reason,omitempty"`
	// NotSent counts the writes that were approved and not sent so far.
	NotSent int `json:"notSent,omitempty"`
}

// ApprovalGiven is an answer for more than one write. It holds until it is
// withdrawn, or the session ends.
type ApprovalGiven struct {
	// Number is unique in a journal; ID is that of the question answered.
	Number int    `json:"number"`
	ID     int    `json:"id,omitempty"`
	Answer Answer `json:"answer"`
	// Controller is that of the question.
	Controller string `json:"controller,omitempty"`
	// Covers says in words what it lets go.
	Covers string    `json:"covers"`
	Since  time.Time `json:"since,omitzero"`
}

// ApprovalsWithdrawn says that the user took back every ApprovalGiven.
type ApprovalsWithdrawn struct {
	Count int `json:"count"`
	// Covered says in words what they let go.
	Covered string `json:"covered,omitempty"`
}

// BreakerChanged says that the circuit breaker of writes tripped, so that no write
// leaves, or was released.
type BreakerChanged struct {
	Tripped bool   `json:"tripped"`
	Reason  string `json:"reason,omitempty"`
	// By is who tripped it, or released it, in words.
	By string `json:"by,omitempty"`
	// Means are sentences on what follows from it, and the next step.
	Means []string  `json:"means,omitempty"`
	Since time.Time `json:"since,omitzero"`
}

// ActivePhase is a step of a session on the way from a dry run to writing to a
// cluster, and back.
type ActivePhase string

const (
	ActiveOff ActivePhase = ""
	// ActiveCandidate: it waits for the lease; what controllers do is dry.
	ActiveCandidate ActivePhase = "candidate"
	// ActiveLeading: it holds the lease, and its controllers write.
	ActiveLeading ActivePhase = "leading"
	// ActiveEnding: its controllers are being stopped.
	ActiveEnding ActivePhase = "stepping down"
)

// ActiveChanged says where a session stands that may become active.
type ActiveChanged struct {
	Phase ActivePhase `json:"phase"`
	// Ended says that active mode ended unasked, "lease lost", for Reason; empty
	// where it did not.
	Ended   string    `json:"ended,omitempty"`
	Reason  string    `json:"reason,omitempty"`
	EndedAt time.Time `json:"endedAt,omitzero"`
	// Again is why the process cannot become active again; empty where it can.
	Again string `json:"again,omitempty"`
}

// ControlSource is who records a part of the controls.
type ControlSource string

const (
	// SourceBreakpoints: pauses, breakpoints and what they hold.
	SourceBreakpoints ControlSource = "breakpoints"
	// SourceApprovals: held writes, approvals and the circuit breaker.
	SourceApprovals ControlSource = "approvals"
	// SourceActive: active mode.
	SourceActive ControlSource = "active"
)

// ControlsRestated says that entries of a source were lost, and that the entries
// that follow state again all that is in force of it: what is not among them is not.
type ControlsRestated struct {
	Source ControlSource `json:"source"`
}

func (ControllerRequested) EventType() string { return "ControllerRequested" }
func (PauseChanged) EventType() string        { return "PauseChanged" }
func (BreakpointChanged) EventType() string   { return "BreakpointChanged" }
func (BreakpointHit) EventType() string       { return "BreakpointHit" }
func (BreakpointReleased) EventType() string  { return "BreakpointReleased" }
func (KeyStepped) EventType() string          { return "KeyStepped" }
func (KeyRetried) EventType() string          { return "KeyRetried" }
func (WriteHeld) EventType() string           { return "WriteHeld" }
func (WriteDecided) EventType() string        { return "WriteDecided" }
func (ApprovalGiven) EventType() string       { return "ApprovalGiven" }
func (ApprovalsWithdrawn) EventType() string  { return "ApprovalsWithdrawn" }
func (BreakerChanged) EventType() string      { return "BreakerChanged" }
func (ActiveChanged) EventType() string       { return "ActiveChanged" }
func (ControlsRestated) EventType() string    { return "ControlsRestated" }

// describeControl is describe for the events above; false for others.
func describeControl(e Event) (Description, bool) {
	key := func(controller, queue, key, text string) (Description, bool) {
		return Description{controller, KeyIn(controller, queue, key), text}, true
	}
	switch e := e.(type) {
	case ControllerRequested:
		text := "started by the user"
		if e.Action == ActionStop {
			text = "stopped by the user"
		}
		return Description{Source: e.Controller, Text: text}, true
	case PauseChanged:
		return Description{Source: e.Controller, Text: describePause(e)}, true
	case BreakpointChanged:
		text := fmt.Sprintf("breakpoint %d was removed", e.Number)
		if !e.Removed {
			text = fmt.Sprintf("breakpoint %d was set: %s", e.Number, e.Where())
		}
		return Description{Source: e.Controller, Text: text}, true
	case BreakpointHit:
		text := fmt.Sprintf("BREAK %d: held before a worker takes it", e.Breakpoint)
		if e.Write != "" {
			text = fmt.Sprintf("BREAK %d: held before the write: %s", e.Breakpoint, e.Write)
		}
		return key(e.Controller, e.Queue, e.Key, text)
	case BreakpointReleased:
		text := fmt.Sprintf("no longer held at breakpoint %d: %s", e.Breakpoint, e.Outcome)
		return key(e.Controller, e.Queue, e.Key, text+prefixIf(e.Write != "", ": ")+e.Write)
	case KeyStepped:
		if e.Key == "" {
			return Description{Source: e.Controller, Text: "a write for no key was let one step through by the user"}, true
		}
		return key(e.Controller, e.Queue, e.Key, "let one step through by the user")
	case KeyRetried:
		return key(e.Controller, e.Queue, e.Key, "made ready at once by the user")
	case WriteHeld:
		text := fmt.Sprintf("approval %d: %s", e.ID, e.Text)
		if e.Braked {
			text += ", approved, waits for the circuit breaker"
		}
		return Description{Source: e.Controller, Subject: e.Cause.Key, Text: text}, true
	case WriteDecided:
		return Description{Source: e.Controller, Text: fmt.Sprintf("approval %d: %s", e.ID, describeDecision(e))}, true
	case ApprovalGiven:
		return Description{Source: e.Controller, Text: fmt.Sprintf("approval %d: approved by the user, with %s", e.ID, e.Covers)}, true
	case ApprovalsWithdrawn:
		return Description{Source: "approve", Text: fmt.Sprintf("the user has withdrawn %s: %s", count(e.Count, "approval", "approvals"), e.Covered)}, true
	case BreakerChanged:
		text := "the circuit breaker was released by " + e.By
		if e.Tripped {
			text = "CIRCUIT BREAKER: no writes until it is released: " + strings.Join(append([]string{e.Reason}, e.Means...), "; ")
		}
		return Description{Source: "approve", Text: text}, true
	case ActiveChanged:
		return Description{Source: "active mode", Text: describeActive(e)}, true
	case ControlsRestated:
		return Description{Source: string(e.Source), Text: "entries were lost: what is in force is stated again"}, true
	}
	return Description{}, false
}

// Where says what a breakpoint stops at: "before a write of any key".
func (e BreakpointChanged) Where() string {
	what, key := "before a worker takes", "any key"
	if e.Key != "" {
		key = "a key that matches " + e.Key
	}
	if e.BeforeWrite {
		what = "before a write of"
	}
	return what + " " + key
}

func describePause(e PauseChanged) string {
	switch {
	case !e.Paused:
		return "resumed by the user"
	case e.Breakpoint != 0:
		return fmt.Sprintf("paused by breakpoint %d: its workers wait, its informers go on", e.Breakpoint)
	}
	return "paused by the user: its workers wait, its informers go on"
}

func describeDecision(e WriteDecided) string {
	switch e.Outcome {
	case WriteApproved:
		return "approved by " + e.By
	case WriteCanceled:
		return "withdrawn: its request was given up"
	case WriteNotSent:
		return "it was approved, and not sent: " + e.Reason
	}
	return e.Reason
}

func describeActive(e ActiveChanged) string {
	text := string(e.Phase)
	if e.Phase == ActiveOff {
		text = "off"
	}
	return text + prefixIf(e.Ended != "", ", ") + e.Ended + prefixIf(e.Reason != "", ": ") + e.Reason + prefixIf(e.Again != "", "; ") + e.Again
}

// Alarming reports whether a control event is one that a reader must not miss.
func Alarming(e Event) bool {
	switch e := e.(type) {
	case BreakpointHit, ControlsRestated:
		return true
	case BreakerChanged:
		return e.Tripped
	case WriteDecided:
		return e.Outcome == WriteNotSent
	case ActiveChanged:
		return e.Ended != ""
	}
	return false
}
