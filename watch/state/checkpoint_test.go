package state

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

// wholeCheckpoint has every piece, which no recording has in one: the golden
// file shows them all.
func wholeCheckpoint() Checkpoint {
	pod := Ref{Version: "v1", Resource: "pods", Namespace: "shop", Name: "web-1", UID: "p-1"}
	cause := Cause{Kind: CauseTimer, Controller: "c"}
	sync := Sync{Number: 6, Controller: "c", Queue: "q", Key: "k", Taken: base, Finished: base.Add(time.Second), Duration: time.Second, Cause: cause}
	durations := new(Histogram)
	durations.Observe(time.Second)
	waits := new(Histogram)
	waits.Observe(time.Millisecond)
	return Checkpoint{
		Head: &CheckpointHead{
			Seq: 12, At: base, Entries: 13, Lost: 1, Session: SessionStarted{Version: "v0.1.0", Kubernetes: "v1.37.1", Mode: ModeActive}, Started: base,
			Dropped: map[string]uint64{"hub": 2}, Unknown: map[string]uint64{"Later": 1},
		},
		Controller: &CheckpointController{Controller{Name: "c", Status: ControllerRunning, Queues: []string{"q"}, Durations: durations, Waits: waits}},
		Queue:      &CheckpointQueue{Queue{Controller: "c", Name: "q", Adds: 3, Durations: durations, Waits: waits}},
		Informer:   &Informer{Name: "pods", Status: InformerSynced, Objects: 1},
		Key: &CheckpointKey{Key{
			Controller: "c", Queue: "q", Key: "k", Phase: PhaseDirty, Since: base, Due: base.Add(time.Minute), Sync: 7, Retries: 2, Attempts: []*Sync{&sync},
			processing: true, dirty: true, running: KeyTaken{Controller: "c", Queue: "q", Key: "k", Sync: 7, Waited: time.Millisecond, Cause: cause},
			taken: base, delayed: addition{cause, base}, last: 6,
		}},
		Object:  &Object{Ref: pod, ResourceVersion: "7", Informer: "pods", Change: ChangeAdded, Changed: base},
		Lease:   &Lease{LeaseChanged: LeaseChanged{Lease: pod, Holder: "h", RenewTime: base}, Since: base, Seen: base},
		Sync:    &sync,
		Write:   &Write{Seq: 9, At: base, WriteFinished: WriteFinished{Write: 4, Controller: "c", Verb: "create", Object: pod, Mode: ModeActive, Result: WriteDone, Status: 201, Duration: time.Second}},
		Note:    &Entry{Seq: 3, At: base, Event: Note{Source: "sandbox", Text: "ready"}},
		Recent:  &Entry{Seq: 3, At: base, Event: KeyReady{Controller: "c", Queue: "q", Key: "k"}},
		Control: &Entry{Seq: 12, At: base, Event: PauseChanged{Controller: "c", Paused: true, Since: base}},
		End:     &CheckpointEnd{Rows: 9, Bounds: map[string]uint64{"syncs": 4}},
	}
}

// A journal may be cut anywhere: the pieces of the snapshot there, written and
// read, and the entries after it, give what the whole journal gives. Nothing that
// Fold knows is lost.
func TestCheckpointContinuesAJournal(t *testing.T) {
	for name, limits := range map[string]Limits{"default limits": {}, "tight limits": tight} {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				entries := genEntriesOf(genPlainEvent).Draw(t, "entries")
				cut := rapid.IntRange(0, len(entries)).Draw(t, "cut")
				middle := Fold(NewSnapshot(limits), entries[:cut]...)
				before := picture(t, middle)
				resumed := NewSnapshot(limits)
				for piece := range middle.Checkpoint() {
					line, err := EncodeEntry(Entry{Seq: middle.Seq, At: middle.At, Event: piece})
					if err != nil {
						t.Fatal(err)
					}
					entry, err := DecodeEntry(line)
					if err != nil {
						t.Fatal(err)
					}
					resumed = Fold(resumed, entry)
				}
				if after := picture(t, resumed); after != before {
					t.Fatalf("was:\n%s\nis restored as:\n%s", before, after)
				}
				checkSums(t, resumed)
				whole, rest := Fold(middle, entries[cut:]...), Fold(resumed, entries[cut:]...)
				if a, b := picture(t, whole), picture(t, rest); a != b {
					t.Fatalf("the whole journal gives:\n%s\nthe rest after the checkpoint:\n%s", a, b)
				}
			})
		})
	}
}

// A queue that a checkpoint does not call stalled is not: what was folded before a
// checkpoint does not count.
func TestCheckpointOfAQueueThatWasStalled(t *testing.T) {
	s := Fold(NewSnapshot(Limits{}), Entry{Seq: 1, At: base, Event: QueueStalled{Controller: "c", Queue: "q", Key: "k", Ready: 1, Idle: 1}})
	s = Fold(s, Entry{Seq: 2, At: base, Event: Checkpoint{Queue: &CheckpointQueue{Queue{Controller: "c", Name: "q", Durations: new(Histogram), Waits: new(Histogram)}}}})
	if n := s.stalled.Len(); n != 0 {
		t.Errorf("%d queues are stalled", n)
	}
}
