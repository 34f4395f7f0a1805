package state

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Description is an event in words, in three parts, so that a reader with
// columns can align them. Every part is one line of Printable characters.
type Description struct {
	// Source is the controller, informer or component that the event is of.
	Source string
	// Subject is the queue key or the object; empty where there is none.
	Subject string
	// Text says what happened.
	Text string
}

// String joins the parts: "replicaset shop/web-7c9: taken as sync 12".
func (d Description) String() string {
	head := strings.TrimSpace(d.Source + " " + d.Subject)
	if head == "" {
		return d.Text
	}
	return head + ": " + d.Text
}

// Describe is the one text form of an event: a single line, the same in every
// language and on every machine. Logs and tests use it.
func Describe(e Event) string { return DescribeParts(e).String() }

// DescribeParts is Describe before its parts are joined.
func DescribeParts(e Event) Description {
	d := describe(e)
	return Description{OneLine(d.Source), OneLine(d.Subject), OneLine(d.Text)}
}

func describe(e Event) Description {
	switch e := e.(type) {
	case SessionStarted:
		return Description{Source: "session", Text: describeSession(e)}
	case ControllerChanged:
		return Description{Source: e.Controller, Text: describeController(e)}
	case InformerChanged:
		return Description{Source: "informer", Subject: e.Informer, Text: describeInformer(e)}
	case ObjectChanged:
		return Description{Source: "object", Subject: e.Object.String(), Text: describeObject(e)}
	case KeyAdded:
		return Description{e.Controller, KeyIn(e.Controller, e.Queue, e.Key), describeAdded(e)}
	case KeyReady:
		return Description{e.Controller, KeyIn(e.Controller, e.Queue, e.Key), "ready: its delay is over"}
	case KeyTaken:
		return Description{e.Controller, KeyIn(e.Controller, e.Queue, e.Key), describeTaken(e)}
	case KeyFinished:
		return Description{e.Controller, KeyIn(e.Controller, e.Queue, e.Key), describeFinished(e)}
	case KeyForgotten:
		return Description{e.Controller, KeyIn(e.Controller, e.Queue, e.Key), fmt.Sprintf("forgotten after %s", count(e.Retries, "retry", "retries"))}
	case KeyDropped:
		return Description{e.Controller, KeyIn(e.Controller, e.Queue, e.Key), describeDropped(e)}
	case QueueStalled:
		return Description{e.Controller, KeyIn(e.Controller, e.Queue, e.Key), describeStalled(e)}
	case WriteFinished:
		return Description{Source: e.Controller, Subject: e.Cause.Key, Text: DescribeWrite(e)}
	case LeaseChanged:
		return Description{Source: "lease", Subject: e.Lease.Key(), Text: describeLease(e)}
	case ClientRead:
		return Description{Source: e.Client, Text: describeRead(e)}
	case ElectionChanged:
		return Description{Source: "election", Subject: e.Lease.Key(), Text: describeElection(e)}
	case Gap:
		return Description{Source: "informer", Subject: e.Informer, Text: "events may be missing here: " + e.Reason}
	case Dropped:
		return Description{Source: e.Where, Text: fmt.Sprintf("%s lost here: the bound was reached", count(e.Count, "entry", "entries"))}
	case Note:
		return Description{Source: e.Source, Text: prefixIf(e.Warning, "warning: ") + e.Text}
	case Checkpoint:
		return Description{Source: "recording", Text: describeCheckpoint(e)}
	case Unknown:
		return Description{Source: "unknown", Subject: e.Type, Text: "not readable here: " + e.Problem}
	case nil:
		return Description{Text: "no event"}
	}
	if d, ok := describeControl(e); ok {
		return d
	}
	return Description{Source: "unknown", Subject: e.EventType(), Text: "not in this program's table of events"}
}

func describeDropped(e KeyDropped) string {
	switch e.By {
	case ByStop:
		return "dropped from the queue: its controller was stopped"
	case ByUser:
		return "dropped from the queue by the user"
	}
	return "dropped from the queue"
}

func describeStalled(e QueueStalled) string {
	ready, idle := count(e.Ready, "key is", "keys are"), count(e.Idle, "worker is", "workers are")
	if e.Resumed {
		return "no longer stalled"
	}
	return fmt.Sprintf("stalled: %s ready while %s idle", ready, idle)
}

// KeyIn is a key for reading. It names the queue only where it does not bear the controller's name, as
// "endpoint_slice" of endpointslice-controller does.
func KeyIn(controller, queue, key string) string {
	if queue == "" || sameLetters(queue, strings.TrimSuffix(controller, "-controller")) {
		return key
	}
	return key + " [" + queue + "]"
}

// sameLetters compares names without their dashes. It is asked for each row of a
// screen.
func sameLetters(a, b string) bool {
	const dashes = "-_"
	for {
		a, b = strings.TrimLeft(a, dashes), strings.TrimLeft(b, dashes)
		if a == "" || b == "" {
			return a == b
		}
		if a[0] != b[0] {
			return false
		}
		a, b = a[1:], b[1:]
	}
}

func describeCheckpoint(e Checkpoint) string {
	switch {
	case e.Head != nil:
		return fmt.Sprintf("begins here, in the middle of a session: with the state after %s (%s)", count(e.Head.Entries, "entry", "entries"), describeSession(e.Head.Session))
	case e.Controller != nil:
		return "as it was: controller " + e.Controller.Name
	case e.Queue != nil:
		return "as it was: queue " + e.Queue.Controller + " " + e.Queue.Name
	case e.Informer != nil:
		return "as it was: informer " + e.Informer.Name
	case e.Key != nil:
		return fmt.Sprintf("as it was: key %s of %s, %s", e.Key.Key.Key, e.Key.Controller, e.Key.Phase)
	case e.Object != nil:
		return "as it was: object " + e.Object.String()
	case e.Lease != nil:
		return "as it was: lease " + e.Lease.Lease.Key()
	case e.Sync != nil:
		return fmt.Sprintf("as it was: sync %d of %s %s", e.Sync.Number, e.Sync.Controller, e.Sync.Key)
	case e.Write != nil:
		return "as it was: " + DescribeWrite(e.Write.WriteFinished)
	case e.Note != nil:
		return "as it was: " + Describe(e.Note.Event)
	case e.Control != nil:
		return "as it was: " + Describe(e.Control.Event)
	case e.End != nil:
		return fmt.Sprintf("the state is complete: %s", count(e.End.Rows, "row", "rows"))
	}
	return "nothing"
}

func describeSession(e SessionStarted) string {
	parts := []string{string(e.Mode)}
	if e.Elected {
		parts[0] += " once elected"
	}
	if e.Sandbox {
		parts = append(parts, "sandbox")
	} else if e.Context != "" {
		parts = append(parts, "context "+e.Context)
	}
	if e.Namespace != "" {
		parts = append(parts, "namespace "+e.Namespace)
	}
	if e.Server != "" {
		parts = append(parts, "server "+e.Server)
	}
	return fmt.Sprintf("started: %s (kctl-ctrl %s, controllers of Kubernetes %s)", strings.Join(parts, ", "), e.Version, e.Kubernetes)
}

func describeController(e ControllerChanged) string {
	text := string(e.Status)
	if e.Workers > 0 {
		text += ", " + count(e.Workers, "worker", "workers")
	}
	return text + prefixIf(e.Reason != "", ": ") + e.Reason
}

func describeInformer(e InformerChanged) string {
	text := string(e.Status)
	if e.Objects > 0 || e.Status == InformerSynced {
		text += ", " + count(e.Objects, "object", "objects")
	}
	if e.ResourceVersion != "" {
		text += ", rv " + e.ResourceVersion
	}
	return text + prefixIf(e.Reason != "", ": ") + e.Reason
}

func describeObject(e ObjectChanged) string {
	text := string(e.Change) + describeRV(e.OldRV, e.NewRV)
	if e.Owner != nil {
		text += ", owned by " + e.Owner.String()
	}
	return text
}

func describeAdded(e KeyAdded) string {
	var text string
	switch {
	case e.How == "AddRateLimited":
		text = fmt.Sprintf("retry %d, due in %s", e.Retries, Short(e.Delay))
	case e.Delay > 0:
		text = "added for later, due in " + Short(e.Delay)
	default:
		text = "added"
	}
	if e.Merged {
		text += ", already waiting"
	}
	return text + because(e.Cause)
}

func because(c Cause) string {
	return prefixIf(c.Kind != "", ": "+c.String())
}

func describeTaken(e KeyTaken) string {
	text := fmt.Sprintf("dequeued after %s (sync %d)", Short(e.Waited), e.Sync)
	if e.Causes > 1 {
		text += fmt.Sprintf(", added %d times", e.Causes)
	}
	return text + because(e.Cause)
}

func describeFinished(e KeyFinished) string {
	did, ended := e.Ended()
	return fmt.Sprintf("sync %d %s%s", e.Sync, did, ended)
}

// Ended is a sync in words: what it did, "took 6ms, 1 write, runs again", and the
// error that it ended with, ", failed: conflict", or nothing. Journal lines, the
// timeline and hops are made of them.
func (e KeyFinished) Ended() (did, failed string) {
	did = "took " + Short(e.Duration)
	if e.Writes > 0 {
		did += ", " + count(e.Writes, "write", "writes")
	}
	if e.Dirty {
		did += ", runs again"
	}
	switch {
	case e.Failed:
		return did, ", failed" + prefixIf(e.Error != "", ": ") + e.Error
	case e.Error != "":
		return did, ", reported: " + e.Error
	}
	return did, ""
}

// DescribeWrite is the text of a write without its writer:
// "create replicasets.apps shop/web-7c9 201 in 6ms".
func DescribeWrite(e WriteFinished) string {
	object := e.Object.Type()
	if e.Subresource != "" {
		object += "/" + e.Subresource
	}
	key := e.Object.Key()
	if e.Object.Name == "" {
		key = prefixIf(e.Object.Namespace != "", "in ") + e.Object.Namespace
	}
	text := strings.TrimSpace(e.Verb + " " + object + " " + key)
	switch e.Result {
	case WriteDone:
	case WriteDry:
		text += " [" + string(e.Mode) + "]"
	case WriteRefused, WriteFailed:
		text += " " + string(e.Result)
	}
	if e.Status != 0 {
		text += " " + strconv.Itoa(e.Status)
	}
	if e.Duration > 0 {
		text += " in " + Short(e.Duration)
	}
	if e.Repeat > 0 {
		text += fmt.Sprintf(", seen %s before", count(e.Repeat, "time", "times"))
	}
	if e.Approval != "" {
		text += ", approved by " + e.Approval
	}
	return text + prefixIf(e.Message != "", ": ") + e.Message + e.told()
}

func describeLease(e LeaseChanged) string {
	switch {
	case e.Deleted:
		return "deleted"
	case e.Holder == "":
		return "not held"
	}
	text := "held by " + e.Holder
	if !e.RenewTime.IsZero() {
		text += ", renewed " + clock(e.RenewTime)
	}
	return text + ", " + count(int(e.Transitions), "transition", "transitions")
}

func describeElection(e ElectionChanged) string {
	var text string
	switch e.Phase {
	case ElectionCandidate:
		text = "candidate as " + e.Identity + ": "
		if e.Holder == "" {
			text += "nobody leads"
			break
		}
		if !e.Expired.IsZero() {
			text += "nobody leads: the lease of " + e.Holder + " expired at " + e.Expired.UTC().Format(time.RFC3339) +
				prefixIf(e.Wait > 0, ", and is taken over when it has not changed for ") + durationIf(e.Wait)
			break
		}
		text += e.Holder + " leads"
		if !e.Since.IsZero() {
			text += " since " + e.Since.UTC().Format(time.RFC3339)
		}
		if !e.RenewTime.IsZero() {
			text += ", renewed " + clock(e.RenewTime)
		}
	case ElectionAcquired:
		text = "acquired: " + e.Identity + " leads"
	case ElectionRenewedLate:
		text = "renewed late, " + Short(e.Gap) + " after the renewal before"
	case ElectionLost:
		text = "lost" + prefixIf(e.Holder != "", ": now held by ") + e.Holder
	case ElectionWithdrawn:
		text = "withdrawn before it led"
	default:
		text = string(e.Phase)
	}
	return text + prefixIf(e.Reason != "", ": ") + e.Reason
}

// String is the cause in words: "deployments.apps shop/web updated (rv 412→418)".
// It is empty for the zero Cause.
func (c Cause) String() string {
	switch c.Kind {
	case "":
		return ""
	case CauseEvent:
		object := "an object"
		if c.Object != nil {
			object = c.Object.String()
		}
		change := string(c.Change)
		switch c.Change {
		case ChangeListed:
			change = "in the first list"
		case ChangeResync:
			change = "resynced"
		}
		return strings.TrimSpace(object+" "+change) + describeRV(c.OldRV, c.NewRV)
	case CauseSync:
		text := fmt.Sprintf("sync %d of %s", c.Sync, c.Controller)
		return strings.TrimSpace(text + " " + KeyIn(c.Controller, c.Queue, c.Key))
	case CauseTimer:
		return "a timer of " + c.Controller
	case CauseUser:
		return "the user"
	}
	return "cause unknown"
}
