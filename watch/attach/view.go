package attach

import (
	"iter"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// QueuesOf returns the queues of this process's controllers. Of each queue it lists at
// most keys live keys, those longest in their phase first; zero lists none.
func QueuesOf(s *state.Snapshot, now time.Time, keys int) []state.QueueStats {
	rows := []state.QueueStats{}
	for q := range queuesOf(s) {
		row := state.QueueStats{
			Controller: q.Controller, Name: q.Name,
			Depth: new(int64(q.Ready)), Waiting: new(int64(q.Waiting)), InFlight: new(int64(q.Processing)),
			Adds: counter(q.Adds), Retries: counter(q.Retries), Syncs: counter(q.Syncs), Errors: counter(q.Errors),
			Stalled: q.Stalled,
			Wait:    state.LatencyOf(q.Waits), Work: state.LatencyOf(q.Durations),
		}
		if c := s.Controller(q.Controller); c != nil && c.Workers > 0 {
			row.Workers = new(int64(c.Workers))
		}
		live(&row, s, now, keys)
		rows = append(rows, row)
	}
	return rows
}

// queuesOf returns the queues of running controllers, including queues that never had a
// key, which the journal does not contain.
func queuesOf(s *state.Snapshot) iter.Seq[*state.Queue] {
	return func(yield func(*state.Queue) bool) {
		for _, c := range s.Controllers.All() {
			for q := range s.QueuesOf(c.Name) {
				if !yield(q) {
					return
				}
			}
			for _, name := range c.Queues {
				if _, seen := s.Queues.Get(state.QueueID(c.Name, name)); !seen && !yield(&state.Queue{Controller: c.Name, Name: name}) {
					return
				}
			}
		}
	}
}

func counter(n uint64) *state.Counter { return &state.Counter{Total: n} }

// live fills in what depends on the keys currently in the queue.
func live(row *state.QueueStats, s *state.Snapshot, now time.Time, keys int) {
	var unfinished, longest, oldest time.Duration
	named := &oldestKeys{limit: keys}
	for k := range s.KeysOf(row.Controller, row.Name) {
		switch k.Phase {
		case state.PhaseProcessing, state.PhaseDirty:
			since := k.Since
			if _, taken, running := k.Running(); running {
				since = taken
			}
			age := max(0, now.Sub(since))
			unfinished += age
			longest = max(longest, age)
		case state.PhaseReady:
			oldest = max(oldest, now.Sub(k.Since))
		}
		named.add(k)
	}
	row.Unfinished, row.Longest, row.Oldest = new(state.Duration(unfinished)), new(state.Duration(longest)), new(state.Duration(oldest))
	if keys > 0 {
		row.Keys, row.MoreKeys = named.keys()
	}
}

// InformersOf adds the journal's data to the stores' statistics. Informers of one type
// share a journal row: its counts are added to each.
func InformersOf(s *state.Snapshot, stores []state.StoreStats) []state.StoreStats {
	rows := make([]state.StoreStats, len(stores))
	for i, store := range stores {
		if seen, known := s.Informers.Get(store.Type); known {
			store.Status, store.Reason = seen.Status, seen.Reason
			store.Events, store.LastEvent = seen.Events, seen.LastEvent
			store.Relists, store.LastRelist, store.LastRelistAt = seen.Gaps, seen.LastGap, seen.LastGapAt
		}
		rows[i] = store
	}
	return rows
}
