package tui

import (
	"context"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// world is a synthetic journal of a cluster: a pod per item, ten of them to a
// ReplicaSet, thirty to a Deployment and to a node with its lease; a queue key for
// every third pod, a tenth of which fail and wait.
type world struct {
	tb   testing.TB
	hub  *hub.Hub
	pods int
	// step numbers the events of the running cluster, sync and rv what they name.
	step, sync, rv int
}

func newWorld(tb testing.TB, pods int) *world {
	tb.Helper()
	w := &world{tb: tb, hub: hub.New(hub.Options{}), pods: pods}
	tb.Cleanup(w.hub.Close)
	record := func(e state.Event) {
		w.hub.Record(e)
		if w.rv++; w.rv%10_000 == 0 {
			w.hub.Flush()
		}
	}
	record(state.SessionStarted{Version: "v0", Kubernetes: "v1.37.1", Context: "bench", Mode: state.ModeDryRunClient})
	for i := range 30 {
		record(state.ControllerChanged{Controller: loop(i), Status: state.ControllerRunning, Queues: []string{"keys"}, Workers: 5})
	}
	for _, typ := range []string{"deployments.apps", "replicasets.apps", "pods"} {
		record(state.InformerChanged{Informer: typ, Status: state.InformerSynced})
	}
	listed := func(informer string, object state.Ref, owner *state.Ref) {
		record(state.ObjectChanged{Informer: informer, Change: state.ChangeListed, Object: object, NewRV: "1", Owner: owner})
	}
	for i := range pods {
		if i%30 == 0 {
			listed("deployments.apps", w.deployment(i), nil)
			record(w.renewal(i))
		}
		if i%10 == 0 {
			owner := w.deployment(i)
			listed("replicasets.apps", w.set(i), &owner)
		}
		owner := w.set(i)
		listed("pods", w.pod(i), &owner)
	}
	for i := range pods / 3 {
		key := w.pod(i).Key()
		added := state.KeyAdded{Controller: loop(i), Queue: "keys", Key: key, How: "Add", Cause: w.cause(i)}
		if i%10 == 0 {
			added.How, added.Delay, added.Retries = "AddRateLimited", time.Hour, 7
			added.Due = time.Now().Add(time.Hour)
		}
		record(added)
	}
	for range 3 * 10_000 {
		record(w.next())
	}
	w.hub.Flush()
	return w
}

func loop(i int) string { return fmt.Sprintf("loop-%02d-controller", i%30) }

func (w *world) ref(group, resource string, i int) state.Ref {
	return state.Ref{
		Group: group, Version: "v1", Resource: resource, Namespace: fmt.Sprintf("ns-%03d", i/30%200),
		Name: fmt.Sprintf("web-%06d-7d9f8c", i), UID: resource + strconv.Itoa(i),
	}
}

func (w *world) pod(i int) state.Ref        { return w.ref("", "pods", i) }
func (w *world) set(i int) state.Ref        { return w.ref("apps", "replicasets", i-i%10) }
func (w *world) deployment(i int) state.Ref { return w.ref("apps", "deployments", i-i%30) }

func (w *world) renewal(i int) state.Event {
	node := fmt.Sprintf("node-%05d", i/30)
	return state.LeaseChanged{
		Lease:  state.Ref{Group: "coordination.k8s.io", Version: "v1", Resource: "leases", Namespace: "kube-node-lease", Name: node},
		Holder: node, RenewTime: time.Now(), Duration: 40,
	}
}

func (w *world) cause(i int) state.Cause {
	pod := w.pod(i)
	return state.Cause{Kind: state.CauseEvent, Controller: loop(i), Object: &pod, Change: state.ChangeUpdated, OldRV: strconv.Itoa(w.rv - 1), NewRV: strconv.Itoa(w.rv)}
}

// next is one event of the running cluster: of ten, three pods that change, a key
// that is added, taken, written for, finished and forgotten, a renewed lease, and a
// key that fails.
func (w *world) next() state.Event {
	w.step++
	i := w.step / 10 * 7919 % w.pods
	key := w.pod(i).Key()
	switch w.step % 10 {
	case 3:
		w.sync++
		return state.KeyAdded{Controller: loop(i), Queue: "keys", Key: key, How: "Add", Cause: w.cause(i)}
	case 4:
		return state.KeyTaken{Controller: loop(i), Queue: "keys", Key: key, Sync: uint64(w.sync), Waited: time.Millisecond, Cause: w.cause(i), Causes: 1}
	case 5:
		pod := w.pod(i)
		return state.WriteFinished{
			Write: uint64(w.sync), Controller: loop(i), Cause: state.Cause{Kind: state.CauseSync, Controller: loop(i), Queue: "keys", Key: key, Sync: uint64(w.sync)},
			Verb: "update", Object: pod, Subresource: "status", Mode: state.ModeDryRunClient, Result: state.WriteDry, Status: 200,
			ResourceVersion: strconv.Itoa(w.rv), Duration: time.Millisecond,
			Diff: []state.FieldChange{{Path: "status.phase", Old: "Pending", New: "Running"}},
		}
	case 6:
		failed := state.KeyFinished{Controller: loop(i), Queue: "keys", Key: key, Sync: uint64(w.sync), Duration: 3 * time.Millisecond, Writes: 1}
		if w.sync%10 == 0 {
			failed.Failed, failed.Error = true, "the server was not able to return a response in the time allotted"
		}
		return failed
	case 7:
		return state.KeyForgotten{Controller: loop(i), Queue: "keys", Key: key}
	case 8:
		return w.renewal(i)
	}
	w.rv++
	owner := w.set(i)
	return state.ObjectChanged{Informer: "pods", Change: state.ChangeUpdated, Object: w.pod(i), OldRV: strconv.Itoa(w.rv - 1), NewRV: strconv.Itoa(w.rv), Owner: &owner}
}

// written is a pod that was written lately.
func (w *world) written() state.Ref {
	for latest := range w.hub.Snapshot().Writes.Backward() {
		return latest.Object
	}
	w.tb.Fatal("nothing was written")
	return state.Ref{}
}

// runs records events at a rate until the context ends.
func (w *world) runs(ctx context.Context, perSecond int) {
	const tick = 20 * time.Millisecond
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	begun, sent := time.Now(), 0
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C:
			for due := int(time.Since(begun).Seconds() * float64(perSecond)); sent < due; sent++ {
				w.hub.Record(w.next())
			}
		}
	}
}

// hubJournal is a hub as the screen reads it.
type hubJournal struct{ *hub.Hub }

func (j hubJournal) Next(ctx context.Context, last *state.Snapshot) (*state.Snapshot, error) {
	var after uint64
	if last != nil {
		after = last.Seq
	}
	return j.Hub.Next(ctx, after)
}
