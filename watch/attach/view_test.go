package attach

import (
	"fmt"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

// journal folds events, a second apart.
func journal(events ...state.Event) *state.Snapshot {
	var entries []state.Entry
	for i, e := range events {
		entries = append(entries, state.Entry{Seq: uint64(i + 1), At: noon.Add(time.Duration(i) * time.Second), Event: e})
	}
	return state.Fold(nil, entries...)
}

func TestQueuesOf(t *testing.T) {
	s := journal(
		state.ControllerChanged{Controller: "ctl", Status: state.ControllerRunning, Queues: []string{"q", "quiet"}, Workers: 5},
		state.KeyAdded{Controller: "ctl", Queue: "q", Key: "a"},                       // 1 s
		state.KeyAdded{Controller: "ctl", Queue: "q", Key: "b"},                       // 2 s
		state.KeyAdded{Controller: "ctl", Queue: "q", Key: "c", Delay: time.Hour},     // 3 s
		state.KeyTaken{Controller: "ctl", Queue: "q", Key: "a", Sync: 1, Waited: 3e9}, // 4 s
		state.KeyAdded{Controller: "ctl", Queue: "q", Key: "a"},                       // 5 s: dirty
		state.KeyTaken{Controller: "ctl", Queue: "other", Key: "x", Sync: 2},          // 6 s
		state.KeyFinished{Controller: "ctl", Queue: "other", Key: "x", Sync: 2, Duration: time.Second, Failed: true},
		state.ControllerChanged{Controller: "off", Status: state.ControllerOff},
	)
	rows := QueuesOf(s, noon.Add(10*time.Second), 2)
	if len(rows) != 3 {
		t.Fatalf("%d rows", len(rows))
	}
	byName := map[string]state.QueueStats{}
	for _, r := range rows {
		byName[r.Name] = r
	}
	q := byName["q"]
	if *q.Depth != 1 || *q.Waiting != 1 || *q.InFlight != 1 || *q.Workers != 5 || q.Adds.Total != 4 {
		t.Errorf("q: %+v", q)
	}
	if *q.Longest != state.Duration(6*time.Second) || *q.Unfinished != *q.Longest || *q.Oldest != state.Duration(8*time.Second) {
		t.Errorf("longest %v, unfinished %v, oldest %v", *q.Longest, *q.Unfinished, *q.Oldest)
	}
	if len(q.Keys) != 2 || q.Keys[0].Key != "b" || q.Keys[1].Key != "c" || q.MoreKeys != 1 {
		t.Errorf("keys: %+v and %d more", q.Keys, q.MoreKeys)
	}
	if q.Wait == nil || q.Wait.Count != 1 || q.Work != nil {
		t.Errorf("latencies of q: %+v, %+v", q.Wait, q.Work)
	}
	if other := byName["other"]; other.Errors.Total != 1 || other.Work.Count != 1 || *other.InFlight != 0 {
		t.Errorf("other: %+v", other)
	}
	if quiet := byName["quiet"]; quiet.Depth == nil || *quiet.Depth != 0 || quiet.Adds.Total != 0 || quiet.Wait != nil {
		t.Errorf("a queue in which nothing has stood: %+v", quiet)
	}
	if bare := QueuesOf(s, noon, 0); bare[0].Keys != nil {
		t.Errorf("keys that were not asked for: %v", bare[0].Keys)
	}
}

func TestOldestKeys(t *testing.T) {
	o := &oldestKeys{limit: 3}
	for _, i := range []int{5, 3, 9, 1, 7, 2, 8} {
		o.add(&state.Key{Key: fmt.Sprint(i), Since: noon.Add(time.Duration(i) * time.Second), Attempts: []*state.Sync{{}}})
	}
	keys, more := o.keys()
	if len(keys) != 3 || keys[0].Key+keys[1].Key+keys[2].Key != "123" || more != 4 || keys[0].Attempts != nil {
		t.Errorf("%+v and %d more", keys, more)
	}
}

func TestInformersOf(t *testing.T) {
	s := journal(
		state.InformerChanged{Informer: "pods", Status: state.InformerListing},
		state.ObjectChanged{Informer: "pods", Change: state.ChangeAdded, Object: state.Ref{Resource: "pods", Name: "a"}, NewRV: "5"},
		state.Gap{Informer: "pods", Reason: "too old"},
		state.InformerChanged{Informer: "pods", Status: state.InformerRelisted, Reason: "too old"},
	)
	rows := InformersOf(s, []state.StoreStats{{Type: "nodes", Objects: 1}, {Type: "pods", Objects: 7, ResourceVersion: "9"}})
	if rows[0].Objects != 1 || rows[0].Status != "" {
		t.Errorf("one the journal does not know: %+v", rows[0])
	}
	pods := rows[1]
	if pods.Objects != 7 || pods.ResourceVersion != "9" || pods.Status != state.InformerRelisted || pods.Events != 1 || pods.Relists != 1 || pods.LastRelist != "too old" || !pods.LastEvent.Equal(noon.Add(time.Second)) {
		t.Errorf("%+v", pods)
	}
}
