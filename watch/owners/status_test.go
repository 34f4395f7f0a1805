package owners

import (
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestStatusOf(t *testing.T) {
	for _, c := range []struct{ name, object, want string }{
		{"a pod that runs", `{kind: Pod, apiVersion: v1, spec: {containers: [{}, {}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{ready: true}, {ready: true}]}}`,
			"2/2 Running ready"},
		{"a pod that cannot start", `{kind: Pod, apiVersion: v1, spec: {containers: [{}]}, status: {phase: Running, containerStatuses: [{state: {waiting: {reason: CrashLoopBackOff, message: wait}}}]}}`,
			"0/1 CrashLoopBackOff failed"},
		{"a pod whose init container fails", `{kind: Pod, apiVersion: v1, spec: {containers: [{}]}, status: {phase: Pending, initContainerStatuses: [{state: {terminated: {reason: Error, exitCode: 1}}}]}}`,
			"0/1 Init:Error failed"},
		{"a pod after its init container", `{kind: Pod, apiVersion: v1, spec: {containers: [{}]}, status: {phase: Running, conditions: [{type: Ready, status: "True"}], containerStatuses: [{ready: true}], initContainerStatuses: [{state: {terminated: {reason: Completed, exitCode: 0}}}]}}`,
			"1/1 Running ready"},
		{"a pod without a node", `{kind: Pod, apiVersion: v1, spec: {containers: [{}]}, status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: full}]}}`,
			"0/1 Unschedulable progressing"},
		{"a pod that is done", `{kind: Pod, apiVersion: v1, spec: {containers: [{}]}, status: {phase: Succeeded}}`,
			"0/1 Completed ready"},
		{"a pod that goes", `{kind: Pod, apiVersion: v1, metadata: {deletionTimestamp: "2026-01-02T15:04:05Z"}, spec: {containers: [{}]}, status: {phase: Running}}`,
			"0/1 Terminating progressing"},
		{"a deployment", `{kind: Deployment, apiVersion: apps/v1, metadata: {generation: 2}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, readyReplicas: 2, updatedReplicas: 2}}`,
			"2/2 Available ready"},
		{"a deployment nobody has looked at", `{kind: Deployment, apiVersion: apps/v1, metadata: {generation: 3}, spec: {replicas: 2}, status: {observedGeneration: 2, replicas: 2, readyReplicas: 2, updatedReplicas: 2}}`,
			"2/2 Updating progressing"},
		{"a deployment that rolls out", `{kind: Deployment, apiVersion: apps/v1, spec: {replicas: 2}, status: {replicas: 3, readyReplicas: 2, updatedReplicas: 1}}`,
			"2/2 Rolling out progressing"},
		{"a deployment past its deadline", `{kind: Deployment, apiVersion: apps/v1, spec: {replicas: 2}, status: {readyReplicas: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]}}`,
			"1/2 ProgressDeadlineExceeded failed"},
		{"a replica set over quota", `{kind: ReplicaSet, apiVersion: apps/v1, spec: {replicas: 2}, status: {conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate}]}}`,
			"0/2 FailedCreate failed"},
		{"a replica set of a defaulted size", `{kind: ReplicaSet, apiVersion: apps/v1, status: {readyReplicas: 1}}`, "1/1 Ready ready"},
		{"a stateful set between revisions", `{kind: StatefulSet, apiVersion: apps/v1, spec: {replicas: 1}, status: {readyReplicas: 1, currentRevision: a, updateRevision: b}}`,
			"1/1 Rolling out progressing"},
		{"a daemon set that fits no node", `{kind: DaemonSet, apiVersion: apps/v1, status: {desiredNumberScheduled: 0}}`, "0/0 No matching node ready"},
		{"a daemon set", `{kind: DaemonSet, apiVersion: apps/v1, status: {desiredNumberScheduled: 3, numberReady: 3, updatedNumberScheduled: 3}}`, "3/3 Ready ready"},
		{"a job", `{kind: Job, apiVersion: batch/v1, spec: {completions: 3}, status: {succeeded: 1}}`, "1/3 Running progressing"},
		{"a job that failed", `{kind: Job, apiVersion: batch/v1, spec: {completions: 3}, status: {conditions: [{type: Failed, status: "True", message: m}]}}`, "0/3 Failed failed"},
		{"a suspended cron job", `{kind: CronJob, apiVersion: batch/v1, spec: {suspend: true}}`, " Suspended "},
		{"a claim", `{kind: PersistentVolumeClaim, apiVersion: v1, status: {phase: Bound}}`, " Bound ready"},
		{"a custom resource that is not ready", `{kind: Widget, apiVersion: x/v1, status: {conditions: [{type: Ready, status: "False", reason: NoParts}]}}`, "False NoParts progressing"},
		{"one that is ready", `{kind: Widget, apiVersion: x/v1, status: {conditions: [{type: Ready, status: "True"}]}}`, "True Ready ready"},
		{"one that stalls", `{kind: Widget, apiVersion: x/v1, status: {conditions: [{type: Ready, status: "True"}, {type: Stalled, status: "True"}]}}`, "True Stalled failed"},
		{"a Pod of another group", `{kind: Pod, apiVersion: x/v1, status: {phase: Odd}}`, " Odd "},
		{"nonsense where the status should be", `{kind: Pod, apiVersion: v1, spec: [], status: {containerStatuses: 7, conditions: [1, "x"]}}`, "0/0  progressing"},
		{"no status", `{kind: ConfigMap, apiVersion: v1}`, "none"},
	} {
		var object map[string]any
		if err := yaml.Unmarshal([]byte(c.object), &object); err != nil {
			t.Fatalf("%s: %v", c.name, err)
		}
		got := "none"
		if s := StatusOf(object); s != nil {
			got = s.Ready + " " + s.State + " " + string(s.Health)
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Secrets, and what else has no status, are not read at all.
func TestStatusless(t *testing.T) {
	for _, r := range []state.Ref{{Resource: "secrets"}, {Resource: "configmaps"}} {
		if !statusless[r.Type()] {
			t.Errorf("%s would be read whole", r.Type())
		}
	}
}
