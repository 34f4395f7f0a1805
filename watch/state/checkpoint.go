package state

import (
	"encoding/json"
	"iter"
	"maps"
	"time"
)

// Checkpoint is a piece of a Snapshot in a journal. A recording that was begun
// in the middle of a session opens with one Snapshot in such pieces: first a
// Head, then a row at a time, at last an End. Folded, they give that Snapshot
// again, whole: with what its keys do at the moment, its histograms, and what
// its bounds have cost. All of them bear the number and the time of the last
// entry that is in the Snapshot.
//
// One field is set. Rows stand in an order in which each finds what it refers to.
type Checkpoint struct {
	Head       *CheckpointHead       `json:"head,omitempty"`
	Controller *CheckpointController `json:"controller,omitempty"`
	Queue      *CheckpointQueue      `json:"queue,omitempty"`
	Informer   *Informer             `json:"informer,omitempty"`
	Key        *CheckpointKey        `json:"key,omitempty"`
	Object     *Object               `json:"object,omitempty"`
	Lease      *Lease                `json:"lease,omitempty"`
	Sync       *Sync                 `json:"sync,omitempty"`
	Write      *Write                `json:"write,omitempty"`
	Note       *Entry                `json:"note,omitempty"`
	Recent     *Entry                `json:"recent,omitempty"`
	Control    *Entry                `json:"control,omitempty"`
	End        *CheckpointEnd        `json:"end,omitempty"`
}

// EventType is the word in a recording.
func (Checkpoint) EventType() string { return "Checkpoint" }

// CheckpointHead begins a Snapshot: what was folded before it does not count.
type CheckpointHead struct {
	Seq     uint64         `json:"seq"`
	At      time.Time      `json:"at"`
	Entries uint64         `json:"entries"`
	Lost    uint64         `json:"lost,omitempty"`
	Session SessionStarted `json:"session"`
	Started time.Time      `json:"started,omitzero"`
	// Election is the Snapshot's.
	Election *Election `json:"election,omitempty"`
	// Dropped and Unknown are the Snapshot's sums.
	Dropped map[string]uint64 `json:"dropped,omitempty"`
	Unknown map[string]uint64 `json:"unknown,omitempty"`
}

// CheckpointEnd ends it. Where it is missing, the Snapshot is not complete.
type CheckpointEnd struct {
	// Rows is the number of pieces between Head and End.
	Rows int `json:"rows"`
	// Bounds has what each bound has cost, by the name in Snapshot.Bounds.
	Bounds map[string]uint64 `json:"bounds,omitempty"`
}

// CheckpointController is a Controller with its histograms. Now is left out:
// the keys tell.
type CheckpointController struct{ Controller }

// CheckpointQueue is a Queue with its histograms. Its Depths are left out.
type CheckpointQueue struct{ Queue }

// CheckpointKey is a Key, live or done, with what Fold remembers of it.
type CheckpointKey struct{ Key }

// Checkpoint gives the pieces of a Snapshot.
func (s *Snapshot) Checkpoint() iter.Seq[Checkpoint] {
	return func(yield func(Checkpoint) bool) {
		head := CheckpointHead{
			Seq: s.Seq, At: s.At.UTC(), Entries: s.Entries, Lost: s.Lost, Session: s.Session, Started: s.Started.UTC(), Election: s.Election,
			Dropped: sums(s.Dropped), Unknown: sums(s.Unknown),
		}
		if !yield(Checkpoint{Head: &head}) {
			return
		}
		rows := 0
		for row := range s.rows() {
			rows++
			if !yield(row) {
				return
			}
		}
		end := CheckpointEnd{Rows: rows}
		for _, b := range s.Bounds() {
			if b.Dropped > 0 {
				if end.Bounds == nil {
					end.Bounds = map[string]uint64{}
				}
				end.Bounds[b.Name] = b.Dropped
			}
		}
		yield(Checkpoint{End: &end})
	}
}

func sums(t Table[uint64]) map[string]uint64 {
	if t.Len() == 0 {
		return nil
	}
	return maps.Collect(t.All())
}

func (s *Snapshot) rows() iter.Seq[Checkpoint] {
	done := func(yield func(*Key) bool) {
		for id := range s.order.All() {
			if k, ok := s.Done.Get(id); ok && !yield(k) {
				return
			}
		}
	}
	key := func(k *Key) Checkpoint {
		row := CheckpointKey{*k}
		row.place = 0
		return Checkpoint{Key: &row}
	}
	return concat(
		pieces(values(s.Controllers.All()), func(c *Controller) Checkpoint {
			row := CheckpointController{*c}
			row.Now = Depths{}
			return Checkpoint{Controller: &row}
		}),
		pieces(values(s.Queues.All()), func(q *Queue) Checkpoint {
			row := CheckpointQueue{*q}
			row.Depths = Depths{}
			return Checkpoint{Queue: &row}
		}),
		pieces(values(s.Informers.All()), func(i *Informer) Checkpoint { return Checkpoint{Informer: i} }),
		pieces(done, key),
		pieces(values(s.Keys.All()), key),
		pieces(values(s.Objects.All()), func(o *Object) Checkpoint { return Checkpoint{Object: o} }),
		pieces(values(s.Leases.All()), func(l *Lease) Checkpoint { return Checkpoint{Lease: l} }),
		pieces(s.Syncs.All(), func(s *Sync) Checkpoint { return Checkpoint{Sync: s} }),
		pieces(s.Writes.All(), func(w *Write) Checkpoint { return Checkpoint{Write: w} }),
		pieces(s.Notes.All(), func(n Entry) Checkpoint { return Checkpoint{Note: &n} }),
		pieces(s.Recent.All(), func(e Entry) Checkpoint { return Checkpoint{Recent: &e} }),
		pieces(s.Controls.events(), func(e Event) Checkpoint { return Checkpoint{Control: &Entry{Seq: s.Seq, At: s.At, Event: e}} }),
	)
}

func pieces[V any](rows iter.Seq[V], piece func(V) Checkpoint) iter.Seq[Checkpoint] {
	return func(yield func(Checkpoint) bool) {
		for v := range rows {
			if !yield(piece(v)) {
				return
			}
		}
	}
}

func concat(parts ...iter.Seq[Checkpoint]) iter.Seq[Checkpoint] {
	return func(yield func(Checkpoint) bool) {
		for _, part := range parts {
			for c := range part {
				if !yield(c) {
					return
				}
			}
		}
	}
}

type controllerCheckpoint struct {
	Controller
	Durations *Histogram `json:"durations,omitempty"`
	Waits     *Histogram `json:"waits,omitempty"`
}

// MarshalJSON writes the histograms too.
func (c CheckpointController) MarshalJSON() ([]byte, error) {
	return Marshal(controllerCheckpoint{c.Controller, c.Durations, c.Waits})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (c *CheckpointController) UnmarshalJSON(data []byte) error {
	var in controllerCheckpoint
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	c.Controller = in.Controller
	c.Controller.Durations, c.Controller.Waits = in.Durations, in.Waits
	return nil
}

type queueCheckpoint struct {
	Queue
	Durations *Histogram `json:"durations,omitempty"`
	Waits     *Histogram `json:"waits,omitempty"`
}

// MarshalJSON writes the histograms too.
func (q CheckpointQueue) MarshalJSON() ([]byte, error) {
	return Marshal(queueCheckpoint{q.Queue, q.Durations, q.Waits})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (q *CheckpointQueue) UnmarshalJSON(data []byte) error {
	var in queueCheckpoint
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	q.Queue = in.Queue
	q.Queue.Durations, q.Queue.Waits = in.Durations, in.Waits
	return nil
}

type keyCheckpoint struct {
	Key
	Ready      bool      `json:"isReady,omitempty"`
	Processing bool      `json:"isProcessing,omitempty"`
	Dirty      bool      `json:"isDirty,omitempty"`
	Running    *KeyTaken `json:"running,omitempty"`
	Taken      time.Time `json:"taken,omitzero"`
	Delayed    *Cause    `json:"delayed,omitempty"`
	DelayedAt  time.Time `json:"delayedAt,omitzero"`
	Last       uint64    `json:"lastSync,omitempty"`
}

// MarshalJSON writes all of it.
func (k CheckpointKey) MarshalJSON() ([]byte, error) {
	out := keyCheckpoint{
		Key: k.Key, Ready: k.ready, Processing: k.processing, Dirty: k.dirty,
		Taken: k.taken.UTC(), DelayedAt: k.delayed.at.UTC(), Last: k.last,
	}
	if k.running != (KeyTaken{}) {
		out.Running = &k.running
	}
	if k.delayed.cause != (Cause{}) {
		out.Delayed = &k.delayed.cause
	}
	return Marshal(out)
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (k *CheckpointKey) UnmarshalJSON(data []byte) error {
	var in keyCheckpoint
	if err := json.Unmarshal(data, &in); err != nil {
		return err
	}
	k.Key = in.Key
	k.ready, k.processing, k.dirty = in.Ready, in.Processing, in.Dirty
	k.taken, k.delayed.at, k.last = in.Taken, in.DelayedAt, in.Last
	if in.Running != nil {
		k.running = *in.Running
	}
	if in.Delayed != nil {
		k.delayed.cause = *in.Delayed
	}
	return nil
}
