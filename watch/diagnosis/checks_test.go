package diagnosis

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// TestFirstCause has for each cause a situation in which it must come first.
func TestFirstCause(t *testing.T) {
	for _, c := range []struct {
		name, documents string
		want            string
		certainty       document.Certainty
		// says is part of the text or the evidence of the first finding.
		says string
	}{
		{"paused with a change", docs(replaced(deployment, "replicas: 3\n", "replicas: 3\n  paused: true\n"), replicaSet), "Paused", document.Certain, "spec.paused"},
		{"paused before the first rollout", replaced(deployment, "replicas: 3\n", "replicas: 3\n  paused: true\n"), "Paused", document.Certain, "no ReplicaSet yet"},
		{"paused, and something else", docs(replaced(deployment, "replicas: 3\n", "replicas: 3\n  paused: true\n"), replaced(replicaSet, "web:1", "web:2"), pod+container(`state: {waiting: {reason: CrashLoopBackOff}}`), node), "CrashLoop", document.Certain, "CrashLoopBackOff"},
		{"scaled to zero", docs(replaced(deployment, "replicas: 3\n", "replicas: 0\n")), "ScaledToZero", document.Certain, "spec.replicas"},
		{"quota", docs(deployment, refusedWith(`pods "web-1-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1`), `
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
status: {hard: {pods: "1"}, used: {pods: "1"}}`), "QuotaExceeded", document.Certain, "1 of 1"},
		{"quota with room by now", docs(deployment, refusedWith(`pods "web-1-x" is forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1`), `
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
status: {hard: {pods: "9"}, used: {pods: "1"}}`), "QuotaExceeded", document.Likely, "has capacity for it now"},
		{"quota wants requests", docs(deployment, refusedWith(`pods "x" is forbidden: failed quota: small: must specify requests.cpu for: web`), `
apiVersion: v1
kind: ResourceQuota
metadata: {name: small}
status: {hard: {requests.cpu: "1"}, used: {requests.cpu: "0"}}`), "QuotaExceeded", document.Certain, "requires pods to specify"},
		{"pod security", docs(deployment, refusedWith(`pods "x" is forbidden: violates PodSecurity "restricted:latest": runAsNonRoot != true`)), "PodSecurity", document.Certain, "restricted"},
		{"webhook down", docs(deployment, refusedWith(`Internal error occurred: failed calling webhook "gate.example": no endpoints`)), "WebhookFailed", document.Certain, "gate.example"},
		{"webhook says no", docs(deployment, refusedWith(`admission webhook "gate.example" denied the request: no`)), "WebhookDenied", document.Certain, "gate.example"},
		{"limit range", docs(deployment, refusedWith(`pods "x" is forbidden: maximum cpu usage per Container is 100m, but limit is 1`)), "LimitRange", document.Certain, "per Container"},
		{"service account", docs(deployment, refusedWith(`pods "x" is forbidden: error looking up service account shop/robot: serviceaccount "robot" not found`)), "MissingServiceAccount", document.Certain, "robot"},
		{"another refusal", docs(deployment, refusedWith(`pods "x" is forbidden: no reason known to anybody`)), "Rejected", document.Certain, "no reason known"},

		{"too large for every node", docs(deployment, replicaSet, replaced(pod, `"2"`, `"8"`)+replaced(unscheduled, "REASON", "1 Insufficient cpu"), node), "InsufficientResources", document.Certain, "more than any node"},
		{"the nodes are full", docs(deployment, replicaSet, pod+replaced(unscheduled, "REASON", "1 Insufficient cpu"), node), "InsufficientResources", document.Certain, "full"},
		{"node selector", docs(deployment, replicaSet, replaced(pod, "spec: {", "spec: {nodeSelector: {disk: ssd}, ")+replaced(unscheduled, "REASON", "1 node(s) didn't match"), node), "NodeSelector", document.Certain, "disk=ssd"},
		{"node affinity", docs(deployment, replaced(pod, "spec: {", "spec: {affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchExpressions: [{key: zone, operator: In, values: [b]}]}]}}}, ")+replaced(unscheduled, "REASON", "x"), node), "NodeSelector", document.Certain, "zone In b"},
		{"taints", docs(deployment, pod+replaced(unscheduled, "REASON", "x"), node+"spec: {taints: [{key: only, value: gpu, effect: NoSchedule}]}\n"), "Taints", document.Certain, "only=gpu:NoSchedule"},
		{"cordoned", docs(bare+replaced(unscheduled, "REASON", "x"), node+"spec: {unschedulable: true, taints: [{key: node.kubernetes.io/unschedulable, effect: NoSchedule}]}\n"), "Taints", document.Certain, "every node is cordoned"},
		{"no nodes", docs(bare + replaced(unscheduled, "REASON", "x")), "Unschedulable", document.Certain, "has no nodes"},
		{"no scheduler", docs(bare + "status: {phase: Pending}\n"), "NoScheduler", document.Likely, "default-scheduler"},
		{"gates", docs(replaced(bare, "spec: {", "spec: {schedulingGates: [{name: quota.example/wait}], ") + "status: {phase: Pending}\n"), "SchedulingGated", document.Certain, "quota.example/wait"},
		{"image", docs(deployment, pod+container(`state: {waiting: {reason: ImagePullBackOff, message: "Back-off pulling image"}}`), node), "ImagePull", document.Certain, "web:1"},
		{"crash", docs(deployment, pod+container(`state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled}}`), node), "OOMKilled", document.Likely, "memory"},
		{"config map", docs(replaced(bare, "spec: {", "spec: {nodeName: node-1, ", "image: \"web:1\"", "image: \"web:1\", envFrom: [{configMapRef: {name: settings}}]")+container(`state: {waiting: {reason: CreateContainerConfigError}}`), node), "MissingConfigMap", document.Certain, "settings"},
		{"secret", docs(replaced(bare, "spec: {", "spec: {nodeName: node-1, volumes: [{name: tls, secret: {secretName: cert}}], ")+"status: {phase: Pending}\n", node), "MissingSecret", document.Certain, "cert"},
		{"claim missing", docs(replaced(bare, "spec: {", "spec: {volumes: [{name: d, persistentVolumeClaim: {claimName: data}}], ") + replaced(unscheduled, "REASON", "persistentvolumeclaim data not found")), "MissingClaim", document.Certain, "data"},
		{"probe", docs(bare+"status: {phase: Running, conditions: [{type: Ready, status: \"False\", reason: ContainersNotReady}, {type: PodScheduled, status: \"True\"}]}\n", node), "NotReady", document.Certain, "ContainersNotReady"},

		{"class missing", docs(claim), "MissingStorageClass", document.Certain, "gold"},
		{"class missing behind a pod", docs(replaced(bare, "spec: {", "spec: {volumes: [{name: d, persistentVolumeClaim: {claimName: data}}], ")+replaced(unscheduled, "REASON", "pod has unbound immediate PersistentVolumeClaims"), claim, node), "MissingStorageClass", document.Certain, "gold"},
		{"no class and no default", docs(replaced(claim, "storageClassName: gold, ", ""), class), "NoStorageClass", document.Certain, "no default"},
		{"waits for a consumer", docs(claim, class+"volumeBindingMode: WaitForFirstConsumer\n"), "WaitsForConsumer", document.Certain, "WaitForFirstConsumer"},
		{"no provisioner", docs(claim, replaced(class, "disks.example", "kubernetes.io/no-provisioner")), "NoProvisioner", document.Certain, "does not provision volumes"},
		{"provisioner silent", docs(claim, class), "NoProvisioner", document.Likely, "disks.example"},

		{"daemon set", docs(`
apiVersion: apps/v1
kind: DaemonSet
metadata: {name: agent}
spec: {template: {spec: {nodeSelector: {gpu: "true"}}}}`, node), "NoNodeFits", document.Certain, "gpu=true"},
		{"partition", docs(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {replicas: 2, updateStrategy: {type: RollingUpdate, rollingUpdate: {partition: 1}}}
status: {replicas: 2, readyReplicas: 2, currentRevision: db-1, updateRevision: db-2}`), "Partition", document.Certain, "ordinal below 1"},
		{"on delete", docs(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: db}
spec: {replicas: 2, updateStrategy: {type: OnDelete}}
status: {replicas: 2, readyReplicas: 2, currentRevision: db-1, updateRevision: db-2}`), "OnDelete", document.Certain, "OnDelete"},
		{"ordinal 0", docs(`
apiVersion: apps/v1
kind: StatefulSet
metadata: {name: web-1}
spec: {replicas: 2}
status: {replicas: 1}`, replaced(pod, "web-1-a", "web-1-0", "ReplicaSet", "StatefulSet")+"status: {phase: Running, conditions: [{type: Ready, status: \"False\"}, {type: PodScheduled, status: \"True\"}]}\n", node), "NotReady", document.Certain, "web-1-0"},

		{"suspended cron job", cronJob + `spec: {schedule: "* * * * *", suspend: true}`, "Suspended", document.Certain, "spec.suspend"},
		{"impossible day", cronJob + `spec: {schedule: "0 0 30 2 *"}`, "BadSchedule", document.Certain, "no existing date"},
		{"unknown time zone", cronJob + `spec: {schedule: "0 0 * * *", timeZone: Mars/Base}`, "BadSchedule", document.Certain, "Mars/Base"},
		{"forbidden to overlap", cronJob + `spec: {schedule: "0 * * * *", concurrencyPolicy: Forbid}
status: {lastScheduleTime: "2026-03-01T10:00:00Z", active: [{name: report-1}]}`, "ConcurrencyForbidden", document.Certain, "report-1"},
		{"deadline missed", cronJob + `spec: {schedule: "30 * * * *", startingDeadlineSeconds: 60}
status: {lastScheduleTime: "2026-03-01T10:30:00Z"}`, "MissedDeadline", document.Certain, "11:30"},
		{"many missed", cronJob + `spec: {schedule: "* * * * *"}`, "TooManyMissed", document.Likely, "100"},
		{"not due yet", cronJob + `spec: {schedule: "0 0 1 4 *"}`, "NotDueYet", document.Certain, "2026-04-01"},
		{"suspended job", job + "spec: {suspend: true}", "Suspended", document.Certain, "spec.suspend"},
		{"backoff limit", job + `spec: {backoffLimit: 2}
status: {failed: 3, conditions: [{type: Failed, status: "True", reason: BackoffLimitExceeded, message: too often}]}`, "BackoffLimit", document.Certain, "3 times"},
		{"job's deadline", job + `spec: {activeDeadlineSeconds: 10}
status: {failed: 1, conditions: [{type: Failed, status: "True", reason: DeadlineExceeded}]}`, "DeadlineExceeded", document.Certain, "10 seconds"},
		{"failed before it had a node", docs(replaced(job, "{name: migrate}", "{name: migrate, uid: j}")+`status: {failed: 1, conditions: [{type: Failed, status: "True", reason: PodFailurePolicy, message: exit code 42}]}`, `
apiVersion: v1
kind: Pod
metadata: {name: migrate-a, ownerReferences: [{apiVersion: batch/v1, kind: Job, name: migrate, uid: j, controller: true}]}
spec: {nodeSelector: {disk: none}, containers: [{name: migrate, image: m}]}
status: {phase: Failed, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available"}]}`, node), "PodFailurePolicy", document.Certain, "exit code 42"},
		{"no metrics", autoscaler + `status: {conditions: [{type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: no metrics}]}`, "NoMetrics", document.Certain, "FailedGetResourceMetric"},
		{"nothing to scale", autoscaler + `status: {conditions: [{type: AbleToScale, status: "False", reason: FailedGetScale, message: not found}]}`, "TargetMissing", document.Certain, "Deployment web"},
		{"scaled off", autoscaler + `status: {conditions: [{type: ScalingActive, status: "False", reason: ScalingDisabled}]}`, "TargetAtZero", document.Certain, "autoscaling is disabled"},
		{"budget", budget + "status: {disruptionsAllowed: 0, expectedPods: 2, currentHealthy: 2, desiredHealthy: 2}", "NoDisruptionAllowed", document.Certain, "never allows"},
		{"budget of nothing", budget + "status: {expectedPods: 0}", "BudgetMatchesNothing", document.Certain, "app=web"},

		{"selector", docs(`
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: webb}, ports: [{port: 80}]}`, bare+container("ready: true")), "SelectorMismatch", document.Certain, "app=webb"},
		{"no ready pod", docs(`
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: web}, ports: [{port: 80}]}`, bare+container(`state: {waiting: {reason: CrashLoopBackOff}}`), node), "CrashLoop", document.Certain, "started 8 times"},
		{"port", docs(`
apiVersion: v1
kind: Service
metadata: {name: front}
spec: {selector: {app: web}, ports: [{port: 80, targetPort: http}]}`, bare+"status: {phase: Running, conditions: [{type: Ready, status: \"True\"}]}\n"), "PortMismatch", document.Certain, "http"},

		{"owner gone", pod + container("ready: true"), "OwnerAbsent", document.Certain, "garbage collector deletes it"},
		{"finalizer", docs(`
apiVersion: v1
kind: ConfigMap
metadata: {name: held, deletionTimestamp: "2026-03-01T11:00:00Z", finalizers: [shop.example/keep]}`), "FinalizerUnserved", document.Certain, "shop.example/keep"},
		{"claim in use", docs(replaced(claim, "{name: data}", `{name: data, deletionTimestamp: "2026-03-01T11:00:00Z", finalizers: [kubernetes.io/pvc-protection]}`),
			replaced(bare, "spec: {", "spec: {volumes: [{name: d, persistentVolumeClaim: {claimName: data}}], ")+container("ready: true")), "FinalizerWaiting", document.Certain, "web-1-a"},
		{"foreground", docs(replaced(deployment, "generation: 1", `generation: 1, deletionTimestamp: "2026-03-01T11:00:00Z", finalizers: [foregroundDeletion]`),
			replaced(replicaSet, "controller: true", "controller: true, blockOwnerDeletion: true", "generation: 1,", `generation: 1, deletionTimestamp: "2026-03-01T11:00:00Z", finalizers: [shop.example/keep],`)), "WaitsForDependents", document.Certain, "shop.example/keep"},
		{"namespace with a finalizer in it", docs(terminating, `
apiVersion: v1
kind: ConfigMap
metadata: {name: held, deletionTimestamp: "2026-03-01T11:00:00Z", finalizers: [shop.example/keep]}`), "FinalizerInNamespace", document.Certain, "shop.example/keep"},
		{"namespace, API down", docs(terminating + `status: {conditions: [{type: NamespaceDeletionDiscoveryFailure, status: "True", reason: DiscoveryFailed, message: "broken.example/v1: stale"}]}`), "APIServiceUnavailable", document.Likely, "broken.example"},
		{"not acting", docs(replaced(deployment, "generation: 1", "generation: 2"), replicaSet), "ControllerNotActing", document.Likely, "metadata.generation is 2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			found := Findings(facts(t, strings.TrimPrefix(c.documents, "\n")))
			if len(found) == 0 {
				t.Fatalf("nothing found, want %s", c.want)
			}
			first := found[0]
			var words []string
			for _, f := range found {
				words = append(words, f.Cause+": "+f.Text)
			}
			if first.Cause != c.want || first.Certainty != c.certainty {
				t.Errorf("first is %s (%s), want %s (%s)\nall: %s", first.Cause, first.Certainty, c.want, c.certainty, strings.Join(words, "\n     "))
			}
			text := first.Text
			for _, e := range first.Evidence {
				text += "\n" + e.Object.String() + " " + e.Path + ": " + e.Value
			}
			if !strings.Contains(text, c.says) {
				t.Errorf("%q is not said:\n%s", c.says, text)
			}
			if len(first.Evidence) == 0 || first.Next == "" {
				t.Errorf("no evidence, or no next step: %+v", first)
			}
			for _, f := range found {
				if !slices.Contains(Causes(), f.Cause) {
					t.Errorf("%s is not in the list of causes", f.Cause)
				}
			}
		})
	}
}

// What is well has no findings, and what could not be read is not missing.
func TestNothingFound(t *testing.T) {
	healthy := docs(replaced(deployment, "observedGeneration: 1", "observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1, readyReplicas: 1", "replicas: 3\n", "replicas: 1\n"),
		replaced(replicaSet, "replicas: 3", "replicas: 1", "web:1", "web:2"), pod+`status: {phase: Running, conditions: [{type: Ready, status: "True"}, {type: PodScheduled, status: "True"}]}`)
	if found := Findings(facts(t, healthy)); len(found) > 0 {
		t.Errorf("found %+v", found)
	}
	unread := facts(t, docs(replaced(pod, "spec: {", "spec: {volumes: [{name: tls, secret: {secretName: cert}}, {name: d, persistentVolumeClaim: {claimName: data}}], ")+container(`ready: false`), claim))
	unread.Graph = owners.NewGraph(kinds())
	unread.Graph.Add(unread.Target)
	unread.Known = map[string]bool{}
	for _, f := range Findings(unread) {
		if strings.HasPrefix(f.Cause, "Missing") || f.Cause == "OwnerAbsent" || f.Cause == "NodeGone" {
			t.Errorf("%s is claimed though nothing was read: %s", f.Cause, f.Text)
		}
	}
}

// A pause that holds nothing back explains nothing, and is worth knowing.
func TestPauseAfterTheRollout(t *testing.T) {
	found := Findings(facts(t, strings.TrimPrefix(docs(replaced(deployment, "replicas: 3\n", "replicas: 3\n  paused: true\n"), replaced(replicaSet, "web:1", "web:2")), "\n")))
	if len(found) != 1 || found[0].Cause != "Paused" || found[0].Role != document.RoleRemark {
		t.Errorf("found %+v", found)
	}
}

// Every cause is documented, and nothing else is.
func TestCausesAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../../docs/why.md")
	if err != nil {
		t.Fatal(err)
	}
	var documented []string
	for line := range strings.SplitSeq(string(page), "\n") {
		if cells := strings.Split(line, "|"); len(cells) > 2 && !strings.Contains(cells[1], "---") && strings.TrimSpace(cells[1]) != "cause" {
			documented = append(documented, strings.Split(strings.TrimSpace(cells[1]), ", ")...)
		}
	}
	causes := Causes()
	slices.Sort(causes)
	slices.Sort(documented)
	if !slices.Equal(causes, documented) {
		t.Errorf("looked for:\n%s\ndocumented:\n%s", causes, documented)
	}
}

// A way back is offered where there is one.
func TestUndoNeedsHistory(t *testing.T) {
	late := replaced(deployment, "observedGeneration: 1", `observedGeneration: 1, conditions: [{type: Progressing, status: "False", reason: ProgressDeadlineExceeded}]`)
	newest := replaced(replicaSet, "web:1", "web:2")
	undo := func(documents string) bool {
		found := Findings(facts(t, strings.TrimPrefix(documents, "\n")))
		i := slices.IndexFunc(found, func(f document.Finding) bool { return f.Cause == "ProgressDeadline" })
		if i < 0 {
			t.Fatalf("found %+v", found)
		}
		return strings.Contains(found[i].Next, "rollout undo")
	}
	if undo(docs(late, newest)) {
		t.Error("rollout undo is advised for the first revision")
	}
	if !undo(docs(late, newest, replaced(replicaSet, "web-1", "web-0"))) {
		t.Error("rollout undo is not advised")
	}
}

// The loops of this program would write what the cluster's own have not.
func TestExpectations(t *testing.T) {
	f := facts(t, docs(deployment, replaced(replicaSet, "replicas: 3}", "replicas: 1}", "web:1", "web:2")))
	if found := Findings(f); slices.ContainsFunc(found, func(f document.Finding) bool { return f.Cause == "Expectations" }) {
		t.Errorf("found without a story: %+v", found)
	}
	f.Story = &document.WhyStory{Syncs: []document.StorySync{{Controller: "replicaset-controller", Key: "shop/web-1", Writes: []document.StoryWrite{
		{Verb: "update", Object: state.Ref{Resource: "replicasets"}, Count: 1, FirstHop: true},
	}}}}
	if found := Findings(f); slices.ContainsFunc(found, func(f document.Finding) bool { return f.Cause == "Expectations" }) {
		t.Errorf("found where nothing would be made: %+v", found)
	}
	f.Story = &document.WhyStory{Syncs: []document.StorySync{{Controller: "replicaset-controller", Key: "shop/web-1", Writes: []document.StoryWrite{
		{Verb: "create", Object: state.Ref{Resource: "pods"}, Count: 2, FirstHop: true},
	}}}}
	found := Findings(f)
	if len(found) == 0 || found[0].Cause != "Expectations" || !strings.Contains(found[0].Text, "lacks 2 pods") {
		t.Errorf("found %+v", found)
	}
}

// What a run with --dry-run=server was told is evidence.
func TestRefusalInTheStory(t *testing.T) {
	f := facts(t, docs(deployment, replaced(replicaSet, "replicas: 3}", "replicas: 1}")))
	f.Story = &document.WhyStory{Syncs: []document.StorySync{{Controller: "replicaset-controller", Queue: "replicaset", Key: "shop/web-1", Writes: []document.StoryWrite{
		{Verb: "create", Object: state.Ref{Resource: "pods"}, Count: 1, Result: state.WriteFailed, Status: 403, Message: `pods "web-1-x" is forbidden: violates PodSecurity "baseline:latest": privileged`},
	}}}}
	if found := Findings(f); len(found) == 0 || found[0].Cause != "PodSecurity" {
		t.Errorf("found %+v", found)
	}
}

// A command to be pasted does what it says, whatever the name.
func TestCommandsAreQuoted(t *testing.T) {
	o := state.Ref{Group: "rbac.authorization.k8s.io", Resource: "clusterroles", Name: "a; rm -rf ~ $(x) 'y'"}
	if got, want := kubectl("edit", o), `kubectl edit 'clusterroles.rbac.authorization.k8s.io/a; rm -rf ~ $(x) '\''y'\'''`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
