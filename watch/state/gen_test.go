package state

import (
	"slices"
	"time"

	"pgregory.net/rapid"
)

// Generators of events. Names come from small sets, so that histories of one
// key become long and strange.

var (
	genName  = rapid.SampledFrom([]string{"deployment-controller", "replicaset-controller", "kube-scheduler"})
	genQueue = rapid.SampledFrom([]string{"deployment", "replicaset", ""})
	genKey   = rapid.SampledFrom([]string{"shop/web", "shop/db", "node-1"})
	genText  = rapid.OneOf(rapid.SampledFrom([]string{"", "boom", "line\nbreak", "\u202egnp.exe", "\u009b31m", "<a&b>", "\U000e0041"}), rapid.String())
	genRV    = rapid.SampledFrom([]string{"", "1", "9", "10", "411", "412", "odd"})
	genUID   = rapid.SampledFrom([]string{"", "u1", "u2", "u3"})
	genSync  = rapid.Uint64Range(0, 12)
)

var genQueueKeys = rapid.Custom(func(t *rapid.T) QueueKeys {
	return QueueKeys{
		Queue: genQueue.Draw(t, "queue"), Types: rapid.SampledFrom([][]string{nil, {"pods"}, {"pods", "nodes"}}).Draw(t, "types"),
		Prefixes: rapid.SampledFrom([]map[string]string{nil, {"pods": "pod:"}}).Draw(t, "prefixes"),
		Any:      rapid.Bool().Draw(t, "any"), Feeds: rapid.Bool().Draw(t, "feeds"),
	}
})

func genDuration(t *rapid.T, label string) time.Duration {
	return time.Duration(rapid.OneOf(rapid.Int64(), rapid.Int64Range(0, int64(time.Minute))).Draw(t, label))
}

func genTime(t *rapid.T, label string) time.Time {
	if rapid.Bool().Draw(t, label+" zero") {
		return time.Time{}
	}
	return base.Add(time.Duration(rapid.Int64Range(0, int64(time.Hour)).Draw(t, label)))
}

var base = time.Date(2026, 1, 2, 15, 4, 5, 6, time.UTC)

var genRef = rapid.Custom(func(t *rapid.T) Ref {
	return Ref{
		Group:     rapid.SampledFrom([]string{"", "apps"}).Draw(t, "group"),
		Version:   "v1",
		Resource:  rapid.SampledFrom([]string{"pods", "deployments", "secrets"}).Draw(t, "resource"),
		Namespace: rapid.SampledFrom([]string{"", "shop"}).Draw(t, "namespace"),
		Name:      rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "name"),
		UID:       genUID.Draw(t, "uid"),
	}
})

func genRefPointer(t *rapid.T, label string) *Ref {
	if rapid.Bool().Draw(t, label+" nil") {
		return nil
	}
	r := genRef.Draw(t, label)
	return &r
}

var genChange = rapid.SampledFrom([]Change{ChangeAdded, ChangeUpdated, ChangeDeleted, ChangeListed, ChangeResync})

var genCause = rapid.Custom(func(t *rapid.T) Cause {
	return Cause{
		Kind:       rapid.SampledFrom([]CauseKind{"", CauseEvent, CauseSync, CauseTimer, CauseUser, CauseUnknown}).Draw(t, "kind"),
		Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key"),
		Sync: genSync.Draw(t, "sync"), Object: genRefPointer(t, "object"), Change: genChange.Draw(t, "change"),
		OldRV: genRV.Draw(t, "old"), NewRV: genRV.Draw(t, "new"),
	}
})

// genEvents has a generator per type of event, by the type's word.
var genEvents = map[string]func(*rapid.T) Event{
	"SessionStarted": func(t *rapid.T) Event {
		return SessionStarted{Version: "v0", Kubernetes: "v1.37.1", Context: genText.Draw(t, "context"), Mode: ModeActive, Sandbox: rapid.Bool().Draw(t, "sandbox")}
	},
	"ControllerChanged": func(t *rapid.T) Event {
		return ControllerChanged{
			Controller: genName.Draw(t, "controller"), Reason: genText.Draw(t, "reason"), Workers: rapid.IntRange(0, 5).Draw(t, "workers"),
			Status: rapid.SampledFrom([]ControllerStatus{ControllerOff, ControllerRunning, ControllerFailed}).Draw(t, "status"),
			Keys:   rapid.OneOf(rapid.Just([]QueueKeys(nil)), rapid.SliceOfN(genQueueKeys, 1, 2)).Draw(t, "keys"),
		}
	},
	"InformerChanged": func(t *rapid.T) Event {
		return InformerChanged{
			Informer: "deployments.apps", Status: InformerSynced, Objects: rapid.Int().Draw(t, "objects"),
			ResourceVersion: genRV.Draw(t, "rv"), Reason: genText.Draw(t, "reason"),
		}
	},
	"ObjectChanged": func(t *rapid.T) Event {
		return ObjectChanged{
			Informer: rapid.SampledFrom([]string{"pods", "deployments.apps"}).Draw(t, "informer"), Change: genChange.Draw(t, "change"),
			Object: genRef.Draw(t, "object"), OldRV: genRV.Draw(t, "old"), NewRV: genRV.Draw(t, "new"), Owner: genRefPointer(t, "owner"),
		}
	},
	"KeyAdded": func(t *rapid.T) Event {
		return KeyAdded{
			Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key"),
			How:   rapid.SampledFrom([]string{"Add", "AddAfter", "AddRateLimited"}).Draw(t, "how"),
			Delay: genDuration(t, "delay"), Due: genTime(t, "due"), Retries: rapid.IntRange(0, 9).Draw(t, "retries"),
			Merged: rapid.Bool().Draw(t, "merged"), Cause: genCause.Draw(t, "cause"),
		}
	},
	"KeyReady": func(t *rapid.T) Event {
		return KeyReady{Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key")}
	},
	"KeyTaken": func(t *rapid.T) Event {
		return KeyTaken{
			Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key"), Sync: genSync.Draw(t, "sync"),
			Waited: genDuration(t, "waited"), Cause: genCause.Draw(t, "cause"), Causes: rapid.IntRange(0, 3).Draw(t, "causes"),
		}
	},
	"KeyFinished": func(t *rapid.T) Event {
		return KeyFinished{
			Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key"), Sync: genSync.Draw(t, "sync"),
			Duration: genDuration(t, "duration"), Failed: rapid.Bool().Draw(t, "failed"), Error: genText.Draw(t, "error"),
			Writes: rapid.IntRange(0, 3).Draw(t, "writes"), Dirty: rapid.Bool().Draw(t, "dirty"),
		}
	},
	"KeyForgotten": func(t *rapid.T) Event {
		return KeyForgotten{Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key"), Retries: 1}
	},
	"KeyDropped": func(t *rapid.T) Event {
		return KeyDropped{Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key"), By: rapid.SampledFrom([]Actor{"", ByUser, ByStop}).Draw(t, "by")}
	},
	"QueueStalled": func(t *rapid.T) Event {
		return QueueStalled{
			Controller: genName.Draw(t, "controller"), Queue: genQueue.Draw(t, "queue"), Key: genKey.Draw(t, "key"), Since: genTime(t, "since"),
			Ready: rapid.IntRange(1, 3).Draw(t, "ready"), Idle: rapid.IntRange(1, 3).Draw(t, "idle"), Resumed: rapid.Bool().Draw(t, "resumed"),
		}
	},
	"WriteFinished": func(t *rapid.T) Event {
		w := WriteFinished{
			Write: genSync.Draw(t, "write"), Controller: genName.Draw(t, "controller"), Cause: genCause.Draw(t, "cause"),
			Verb: "create", Object: genRef.Draw(t, "object"), Mode: ModeDryRunClient, Status: 201,
			Result:  rapid.SampledFrom([]WriteResult{WriteDone, WriteDry, WriteRefused, WriteFailed}).Draw(t, "result"),
			Message: genText.Draw(t, "message"), Duration: genDuration(t, "duration"), Approval: genText.Draw(t, "approval"),
		}
		if rapid.Bool().Draw(t, "tells") {
			w.Object.Resource = "events"
			w.Tells = &EventText{Type: "Warning", Reason: genText.Draw(t, "reason"), Message: genText.Draw(t, "told"), Count: rapid.IntRange(0, 3).Draw(t, "count")}
		}
		for range rapid.IntRange(0, 3).Draw(t, "changes") {
			w.Diff = append(w.Diff, FieldChange{Path: "spec.replicas", Old: genText.Draw(t, "old"), New: genText.Draw(t, "new")})
		}
		return w
	},
	"LeaseChanged": func(t *rapid.T) Event {
		return LeaseChanged{
			Lease: genRef.Draw(t, "lease"), Holder: rapid.SampledFrom([]string{"", "a", "b"}).Draw(t, "holder"),
			RenewTime: genTime(t, "renew"), Transitions: rapid.Int32().Draw(t, "transitions"), Deleted: rapid.Bool().Draw(t, "deleted"),
		}
	},
	"ClientRead": func(t *rapid.T) Event {
		return ClientRead{
			Client: genName.Draw(t, "client"), Verb: rapid.SampledFrom([]string{"get", "list", "watch"}).Draw(t, "verb"), Object: genRef.Draw(t, "object"),
			InitialEvents: rapid.Bool().Draw(t, "initial"), Status: rapid.SampledFrom([]int{0, 200, 403}).Draw(t, "status"),
			Message: genText.Draw(t, "message"), Count: rapid.Uint64Range(0, 99).Draw(t, "count"), AtEnd: rapid.Bool().Draw(t, "at end"),
		}
	},
	"ElectionChanged": func(t *rapid.T) Event {
		return ElectionChanged{
			Lease: genRef.Draw(t, "lease"), Phase: rapid.SampledFrom([]ElectionPhase{ElectionCandidate, ElectionAcquired, ElectionRenewedLate, ElectionLost, ElectionReleased, ElectionWithdrawn}).Draw(t, "phase"),
			Identity: genText.Draw(t, "identity"), Holder: genText.Draw(t, "holder"), Since: genTime(t, "since"), RenewTime: genTime(t, "renew"),
			Expired: genTime(t, "expired"), Wait: genDuration(t, "wait"), Gap: genDuration(t, "gap"), Deadline: genDuration(t, "deadline"), Reason: genText.Draw(t, "reason"),
		}
	},
	"Gap":     func(t *rapid.T) Event { return Gap{Informer: "pods", Reason: genText.Draw(t, "reason")} },
	"Dropped": func(t *rapid.T) Event { return Dropped{Where: "hub", Count: rapid.Uint64Range(0, 99).Draw(t, "count")} },
	"Note": func(t *rapid.T) Event {
		return Note{Source: genName.Draw(t, "source"), Text: genText.Draw(t, "text"), Warning: rapid.Bool().Draw(t, "warning")}
	},
}

// genCheckpoint draws a piece of the snapshot of some entries.
func genCheckpoint(t *rapid.T) Event {
	pieces := slices.Collect(Fold(NewSnapshot(tight), genEntriesOf(genPlainEvent).Draw(t, "entries")...).Checkpoint())
	return rapid.SampledFrom(pieces).Draw(t, "piece")
}

var genEvent = rapid.OneOf(genPlainEvent, genPlainEvent, genPlainEvent, genPlainEvent, genPlainEvent, genPlainEvent, rapid.Custom(genCheckpoint))

var genPlainEvent = rapid.Custom(func(t *rapid.T) Event {
	names := make([]string, 0, len(eventTypes))
	for _, name := range sortedTypes() {
		if name == "Checkpoint" { // see genEvent
			continue
		}
		names = append(names, name)
		if len(name) > 3 && name[:3] == "Key" { // queue histories are the hard part
			names = append(names, name, name)
		}
	}
	return genEvents[rapid.SampledFrom(names).Draw(t, "type")](t)
})

var genEntries = genEntriesOf(genEvent)

func genEntriesOf(event *rapid.Generator[Event]) *rapid.Generator[[]Entry] {
	return rapid.Custom(func(t *rapid.T) []Entry { return drawEntries(t, event) })
}

func drawEntries(t *rapid.T, event *rapid.Generator[Event]) []Entry {
	events := rapid.SliceOfN(event, 0, 60).Draw(t, "events")
	var seq uint64
	at := base
	entries := make([]Entry, len(events))
	for i, e := range events {
		seq += uint64(rapid.SampledFrom([]int{1, 1, 1, 1, 1, 1, 1, 3, 0}).Draw(t, "step"))
		at = at.Add(time.Duration(rapid.Int64Range(0, int64(time.Minute)).Draw(t, "passed")))
		entries[i] = Entry{Seq: seq, At: at, Event: e}
	}
	return entries
}
