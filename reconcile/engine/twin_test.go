package engine

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/internal/twin"
)

// twinRules are writes that two runs of kube-controller-manager itself do not agree on:
// made of upstream against upstream by TestTwinsOfAllScenarios.
var twinRules = twin.Rules{Optional: []twin.Optional{
	{Account: "pod-garbage-collector", Verb: "delete", Resource: "pods", Reason: "it keeps the newest terminated pod of the cluster: which one that is depends on when pods end"},
	{Account: "storage-version-migrator-controller", Verb: "patch", Reason: "it writes all objects of a type that are there when it begins"},
}}

const (
	seenFirst = "its objects appear at once: a controller whose informer has the owner and not yet the pods or slices creates others, and deletes them again"
	goneNode  = "its pods are on a node that never was: the pod garbage collector deletes them too, after 40 s"
	ended     = "its pod has ended: the pod garbage collector, which keeps the newest of the cluster, may delete it first"
	notYet    = "what is written before the garbage collector deletes the owner depends on which of both is first"
	pvcFirst  = "a claim that is seen before its volume is lost for a moment, and takes the capacity of the volume when it is bound again"
	onTheHour = "a minute of its schedule may fall into one run and not into the other"
)

// unsteady are scenarios that two runs of kube-controller-manager need not agree on,
// with the reason. Where they differ, the difference is printed and counted as a miss;
// a miss of another scenario fails the test.
var unsteady = map[string]string{
	"rc-crowded": seenFirst, "rc-crowded-ready": seenFirst, "rc-to-none": seenFirst, "rc-adopts": seenFirst, "rc-releases": seenFirst, "rc-mixed": seenFirst,
	"rc-failed-pod": seenFirst, "rc-ending-pod": seenFirst, "rc-status": seenFirst, "rc-min-ready": seenFirst,
	"replicaset-crowded": seenFirst, "replicaset-crowded-ready": seenFirst, "replicaset-to-none": seenFirst, "replicaset-adopts": seenFirst,
	"replicaset-releases": seenFirst, "replicaset-mixed": seenFirst, "replicaset-failed-pod": seenFirst, "replicaset-ending-pod": seenFirst,
	"replicaset-status": seenFirst, "replicaset-min-ready": seenFirst,
	"pdb-evicting-now": "a budget that is seen before its pods forgets those that were evicted", "pdb-number": seenFirst, "pdb-share": seenFirst, "pdb-max-unavailable": seenFirst, "pdb-unhealthy": seenFirst, "pdb-evicting": seenFirst,
	"service-stale-slice": seenFirst, "service-mirror-changed": seenFirst, "service-mirror-of-none": seenFirst,
	"statefulset-on-delete": goneNode, "statefulset-partition": goneNode, "statefulset-waits-for-the-first": goneNode, "statefulset-rolling-update": goneNode,
	"statefulset-scaled-down": goneNode, "statefulset-scaled-down-parallel": goneNode,
	"claim-reserved-for-scheduled-pod": goneNode, "device-tainted": goneNode, "pdb-stale-condition": goneNode, "pdb-of-bare-pods": goneNode,
	"claim-generated-of-done-pod": ended, "daemonset-failed-pod": ended, "statefulset-done-pod": ended, "statefulset-failed-pod": ended,
	"gc-orphan-of-deployments": notYet, "deployment-rollout-without-surge": seenFirst, "daemonset-on-delete": seenFirst,
	"daemonset-two-on-a-node": seenFirst, "daemonset-adopts": seenFirst, "daemonset-rolling-update": seenFirst, "gc-orphan-policy-deployment": seenFirst,
	"pvc-expanded": pvcFirst, "pvc-bound-status": pvcFirst, "pv-half-bound": pvcFirst, "volume-attached": pvcFirst,
	"cronjob-due": onTheHour, "cronjob-time-zone": onTheHour, "cronjob-starting-deadline": onTheHour, "cronjob-missed-many": onTheHour,
	"cronjob-replaces": onTheHour, "cronjob-forbids": onTheHour,
}

// unexplained are misses of scenarios that have no reason to differ.
func unexplained(missed map[string][]string) map[string][]string {
	out := map[string][]string{}
	for name, differences := range missed {
		if unsteady[name] == "" {
			out[name] = differences
		}
	}
	return out
}

// outcome is what one controller manager made of the scenarios.
type outcome struct {
	name  string
	sets  map[string]twin.Set
	world twin.World
	total int
}

func (l *live) outcome(t *testing.T, st *staged) outcome {
	t.Helper()
	return outcome{name: l.name, sets: l.log.Sets(), world: l.world(t, st), total: l.log.Total()}
}

// agreement is how far two outcomes agree, by scenario.
type agreement struct {
	scenarios []scenario
	// ends and writes are the differences.
	ends, writes map[string][]string
}

func compareOutcomes(scenarios []scenario, a, b outcome, rules twin.Rules) agreement {
	g := agreement{scenarios: scenarios, ends: map[string][]string{}, writes: map[string][]string{}}
	for _, sc := range scenarios {
		if d := a.world.Diff(a.name, b.world, b.name, sc.name); len(d) > 0 {
			g.ends[sc.name] = d
		}
		if d := rules.Diff(a.name, a.sets[sc.name], b.name, b.sets[sc.name]); len(d) > 0 {
			g.writes[sc.name] = d
		}
	}
	return g
}

// figures are the shares of scenarios that agree.
func (g agreement) figures() string {
	share := func(missed map[string][]string) string {
		n := len(g.scenarios)
		return fmt.Sprintf("%d of %d (%.1f %%)", n-len(missed), n, 100*float64(n-len(missed))/float64(n))
	}
	return fmt.Sprintf("end states equal: %s; writes equal: %s", share(g.ends), share(g.writes))
}

// check fails for each miss that is not explained, and prints the others.
func (g agreement) check(t *testing.T) {
	t.Helper()
	for what, missed := range map[string]map[string][]string{"end states": g.ends, "writes": g.writes} {
		if more := unexplained(missed); len(more) > 0 {
			t.Errorf("%s that differ:%s", what, list(more))
		}
		for name, differences := range missed {
			if reason := unsteady[name]; reason != "" {
				t.Logf("%s of %s differ, because %s:\n    %s", what, name, reason, strings.Join(differences, "\n    "))
			}
		}
	}
}

// list prints differences by scenario.
func list(missed map[string][]string) string {
	var out strings.Builder
	for _, name := range slices.Sorted(maps.Keys(missed)) {
		fmt.Fprintf(&out, "\n%s:\n    %s", name, strings.Join(missed[name], "\n    "))
	}
	return out.String()
}

// oneEach are scenarios, at least one for each controller that can run and for each of
// their queues.
var oneEach = []string{
	"deployment-new", "replicaset-new", "rc-new", "daemonset-new", "statefulset-claims", "job-started", "job-orphaned-pod", "cronjob-due",
	"job-ttl-of-complete", "gc-orphan-of-configmaps", "gc-orphan-policy", "namespace-empty", "quota-0", "quota-stale", "podgc-unscheduled-ending",
	"serviceaccount-default", "token-wanted", "bootstrap-token-expired", "bootstrap-signed", "clusterrole-aggregated",
	"service-new", "service-mirrored", "servicecidr-new", "node-cordoned", "node-ttl", "node-addresses", "node-evicts",
	"pv-binds", "pvc-protected-unused", "pv-protected-unused", "pvc-expanded", "pvc-ephemeral", "volume-attached", "vac-protected",
	"hpa-without-target", "pdb-evicting-now", "csr-kubelet", "csr-approved-client", "claim-from-template", "device-tainted",
	"migration-0", "trust-bundle", "admission-policy-checked",
}

// TestTwinsOfEachController plays a scenario for each controller to this program's
// controllers and to kube-controller-manager, when the workers of both wait for keys:
// every queue gets keys, what is wanted is written, by the API server's audit log, and
// both write the same and end the same. TestTwinsOfAllScenarios and
// TestActiveOfAllScenarios are the long form.
func TestTwinsOfEachController(t *testing.T) {
	testbed.WithControllers(t)
	chosen := slices.DeleteFunc(scenarios(), func(sc scenario) bool { return actsHere(sc) || !slices.Contains(oneEach, sc.name) })
	if len(chosen) != len(oneEach) {
		t.Fatalf("%d of %d scenarios exist", len(chosen), len(oneEach))
	}
	theirs := newLive(t, "upstream")
	theirs.upstream(t)
	ours := newLive(t, "ours")
	s := ours.ours(t)
	st := stage(t, chosen)
	theirs.awaitUpstream(t)
	before := additions(s)
	both := []*live{theirs, ours}
	for _, l := range both {
		l.play(t, st, chosen)
	}
	for _, l := range both {
		l.rested(t, 0, time.Second, time.Minute)
		l.playLate(t, st)
	}
	for _, l := range both {
		l.finished(t, 3*time.Minute)
	}
	for _, l := range both {
		l.rested(t, 0, 2*time.Second, 4*time.Minute)
	}
	ours.worksFor(t, s, before)
	for name, wants := range theirs.undone(t) {
		t.Errorf("scenario %s: kube-controller-manager has not written %q", name, wants)
	}
	g := compareOutcomes(chosen, theirs.outcome(t, st), ours.outcome(t, st), twinRules)
	t.Log(g.figures())
	g.check(t)
}
