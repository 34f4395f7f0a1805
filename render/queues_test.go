package render

import (
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var queueNoon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func someQueues() []state.QueueStats {
	return []state.QueueStats{
		{
			Controller: "deployment-controller", Name: "deployment",
			Depth: new(int64(16)), Waiting: new(int64(1)), InFlight: new(int64(2)), Workers: new(int64(5)),
			Adds: &state.Counter{Total: 120, PerSecond: new(12.4)}, Retries: &state.Counter{Total: 10, PerSecond: new(0.25)},
			Syncs: &state.Counter{Total: 102, PerSecond: new(0.0)}, Errors: &state.Counter{Total: 7},
			Longest: new(state.Duration(400 * time.Second)), Unfinished: new(state.Duration(500 * time.Second)), Oldest: new(state.Duration(3 * time.Microsecond)),
			Wait: &state.Latency{Count: 5, P50: state.Exact(1234 * time.Microsecond), P99: state.Exact(70 * time.Millisecond)},
			Work: &state.Latency{Count: 5, P50: state.Quantile{Above: state.Duration(100 * time.Microsecond), AtMost: state.Duration(time.Millisecond)}, P99: state.Quantile{Above: state.Duration(10 * time.Second)}},
			Keys: []state.Key{
				{Key: "shop/web", Phase: state.PhaseProcessing, Since: queueNoon.Add(-400 * time.Second), Cause: state.Cause{Kind: state.CauseTimer, Controller: "deployment-controller"}},
				{Key: "shop/db", Phase: state.PhaseWaiting, Since: queueNoon, Due: queueNoon.Add(10 * time.Second), Retries: 3, LastError: "it\x1b]0;x\x07 failed\nbadly"},
			},
			MoreKeys: 9,
		},
		{Name: "evil\x1b[31m\u202ename\nnext"},
	}
}

func TestQueues(t *testing.T) {
	for name, o := range map[string]QueueOptions{"queues": {}, "queues-wide": {Wide: true}} {
		checkGolden(t, "queues/"+name+".txt", Queues(someQueues(), o).Text(TableOptions{}))
	}
	keys := QueueKeys(someQueues(), Times{Now: queueNoon, Ages: true}).Text(TableOptions{})
	checkGolden(t, "queues/keys.txt", keys)
	if strings.ContainsAny(keys, "\x1b\x07\u202e") {
		t.Errorf("not inert: %q", keys)
	}
	// What nobody tells has no column, but for the ones that always stand there.
	bare := Queues([]state.QueueStats{{Name: "q"}}, QueueOptions{Wide: true}).Text(TableOptions{})
	if bare != "QUEUE   DEPTH   IN FLIGHT   LONGEST   ADDS   RETRIES\nq           -           -         -      -         -\n" {
		t.Errorf("%q", bare)
	}
}

func TestInformers(t *testing.T) {
	stores := []state.StoreStats{
		{
			Type: "pods", Version: "v1", Status: state.InformerSynced, Synced: true, Objects: 3, ResourceVersion: "254", Events: 15,
			LastEvent: queueNoon.Add(-time.Minute), LastMoved: queueNoon.Add(-5 * time.Second), Relists: 1, LastRelist: "too old\x1b[31m",
			Handlers: []state.HandlerStats{{Controller: "job-controller"}, {Controller: "deployment-controller"}, {Controller: "job-controller"}},
		},
		{Type: "carts.shop.example", Metadata: true, Status: state.InformerFailed, Reason: "forbidden"},
	}
	for name, o := range map[string]StoreOptions{
		"informers": {Times: Times{Now: queueNoon, Ages: true}}, "informers-wide": {Times: Times{Now: queueNoon}, Wide: true},
	} {
		checkGolden(t, "queues/"+name+".txt", Informers(stores, o).Text(TableOptions{}))
	}
}

func TestCache(t *testing.T) {
	view := state.CacheView{
		Store: state.StoreStats{Type: "pods", Synced: true, Objects: 2, ResourceVersion: "254", LastMoved: queueNoon.Add(-5 * time.Second)},
		Objects: []state.CachedObject{
			{Ref: state.Ref{Resource: "pods", Namespace: "shop", Name: "web", UID: "u-1"}, ResourceVersion: "7", Created: queueNoon.Add(-time.Hour)},
			{Ref: state.Ref{Resource: "pods", Name: "evil\x1b[31m"}, Deleting: queueNoon},
		},
	}
	o := StoreOptions{Times: Times{Now: queueNoon, Ages: true}, Wide: true}
	checkGolden(t, "queues/cache.txt", Cache(view, o).Text(TableOptions{}))
	for _, test := range []struct {
		server *state.ServerView
		ages   bool
		want   string
	}{
		{nil, true, "pods: 2 objects at resourceVersion 254, changed 5s ago"},
		{nil, false, "pods: 2 objects at resourceVersion 254, changed at 2026-01-02T11:59:55Z"},
		{&state.ServerView{Freshness: state.Current}, true, "ago; current"},
		{&state.ServerView{Freshness: state.Behind, ResourceVersion: "300", Reason: "no bookmark"}, true, "; stale: the server has 300: no bookmark"},
		{&state.ServerView{Freshness: state.Undecided, ResourceVersion: "300", Reason: "quiet"}, true, "; the server has 300: quiet"},
		{&state.ServerView{Freshness: state.Gone}, true, "; deleted on the server"},
		{&state.ServerView{Freshness: state.Missing, ResourceVersion: "9"}, true, "; missing: the server has it at 9"},
		{&state.ServerView{Freshness: state.Unasked, Reason: "forbidden\x1b[31m"}, true, "; not compared: forbidden\ufffd[31m"},
	} {
		view.Server = test.server
		if got := Freshness(view, StoreOptions{Times: Times{Now: queueNoon, Ages: test.ages}}); !strings.HasSuffix(got, test.want) {
			t.Errorf("%+v: %q, want %q at the end", test.server, got, test.want)
		}
	}
	view.Store.Synced = false
	if got := Freshness(view, o); !strings.Contains(got, "not synced yet") {
		t.Errorf("%q", got)
	}
}
