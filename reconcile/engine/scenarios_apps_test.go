package engine

import (
	"fmt"
	"strings"
)

// documents joins YAML documents.
func documents(all ...string) string { return strings.Join(all, "\n---\n") }

// object is a YAML document in flow style; meta and rest are what follows the name
// and the metadata.
func yamlObject(apiVersion, kind, name, meta, rest string) string {
	return fmt.Sprintf("{apiVersion: %s, kind: %s, metadata: {name: %s, %s}, %s}", apiVersion, kind, name, meta, rest)
}

const (
	webContainer = "{name: c, image: 'registry.example/c:1'}"
	webTemplate  = "template: {metadata: {labels: {app: web}}, spec: {containers: [" + webContainer + "]}}"
	webSelector  = "selector: {matchLabels: {app: web}}"
	webLabels    = "labels: {app: web}"
	podReady     = "conditions: [{type: Ready, status: 'True', lastTransitionTime: $AGO(1h)}]"
	podRunning   = "status: {phase: Running, podIP: 10.0.0.9, podIPs: [{ip: 10.0.0.9}], startTime: $AGO(1h), " + podReady + "}"
	jobTracked   = "finalizers: [batch.kubernetes.io/job-tracking]"
)

// owned is an ownerReference to a controller of the scenario.
func owned(apiVersion, kind, name string) string {
	return fmt.Sprintf("ownerReferences: [{apiVersion: %s, kind: %s, name: %s, uid: $UID(%s/%s), controller: true, blockOwnerDeletion: true}]", apiVersion, kind, name, kind, name)
}

// pod has one container and the label app=web, unless meta says otherwise.
func yamlPod(name, meta, spec, rest string) string {
	if !strings.Contains(meta, "labels:") {
		meta = webLabels + ", " + meta
	}
	return yamlObject("v1", "Pod", name, meta, "spec: {containers: ["+webContainer+"], "+spec+"}, "+rest)
}

// pods are several alike, named name-0 and so on.
func yamlPods(n int, name, meta, spec, rest string) string {
	var all []string
	for i := range n {
		all = append(all, yamlPod(fmt.Sprintf("%s-%d", name, i), meta, spec, rest))
	}
	return documents(all...)
}

func deployment(meta, spec, rest string) string {
	return yamlObject("apps/v1", "Deployment", "web", meta, "spec: {"+webSelector+", "+webTemplate+", "+spec+"}, "+rest)
}

// setOf is a ReplicaSet of the Deployment web: of the template of now, or of one
// with another image.
func setOf(name string, current bool, replicas, available int, annotations string) string {
	image := "old:1"
	if current {
		image = "c:1"
	}
	return yamlObject("apps/v1", "ReplicaSet", name,
		fmt.Sprintf("labels: {app: web, pod-template-hash: %s}, annotations: {%s}, %s", name, annotations, owned("apps/v1", "Deployment", "web")),
		fmt.Sprintf(`spec: {replicas: %d, selector: {matchLabels: {app: web, pod-template-hash: %s}}, template: {metadata: {labels: {app: web, pod-template-hash: %s}}, spec: {containers: [{name: c, image: 'registry.example/%s'}]}}}, status: {replicas: %d, availableReplicas: %d, readyReplicas: %d, fullyLabeledReplicas: %d, observedGeneration: 1}`,
			replicas, name, name, image, replicas, available, available, replicas))
}

func deploymentScenarios() []scenario {
	const (
		create   = "deployment-controller create replicasets"
		update   = "deployment-controller update replicasets"
		status   = "deployment-controller update deployments/status"
		revision = "deployment.kubernetes.io/revision: '1'"
		complete = "{patch: Deployment/web, status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, readyReplicas: 1, availableReplicas: 1}}"
	)
	return []scenario{
		{name: "deployment-new", quick: true, objects: deployment("", "replicas: 2", ""), wants: []string{create, status}},
		{name: "deployment-new-recreate", objects: deployment("", "replicas: 2, strategy: {type: Recreate}", ""), wants: []string{create}},
		{name: "deployment-of-none", objects: deployment("", "replicas: 0", ""), wants: []string{create}},
		{name: "deployment-paused-new", objects: deployment("", "paused: true", ""), wants: []string{status}},
		{name: "deployment-paused-scaled", objects: documents(deployment("", "paused: true, replicas: 3", ""), setOf("now", true, 1, 1, revision)), wants: []string{update}},
		{name: "deployment-scaled-up", objects: documents(deployment("", "replicas: 3", ""), setOf("now", true, 1, 1, revision)), wants: []string{update}},
		{name: "deployment-scaled-down", objects: documents(deployment("", "replicas: 1", ""), setOf("now", true, 3, 3, revision)), wants: []string{update}},
		{name: "deployment-scaled-to-none", objects: documents(deployment("", "replicas: 0", ""), setOf("now", true, 3, 3, revision)), wants: []string{update}},
		{name: "deployment-rollout-begins", objects: documents(deployment("", "replicas: 3", ""), setOf("old", false, 3, 3, revision)), wants: []string{create}},
		{name: "deployment-rollout-without-surge", objects: documents(deployment("", "replicas: 3, strategy: {rollingUpdate: {maxSurge: 0, maxUnavailable: 1}}", ""), setOf("old", false, 3, 3, revision), setOf("now", true, 0, 0, "")), wants: []string{update}},
		{name: "deployment-rollout-goes-on", objects: documents(deployment("", "replicas: 3", ""), setOf("old", false, 2, 2, revision), setOf("now", true, 2, 2, "")), wants: []string{update}},
		{name: "deployment-rollout-scaled", objects: documents(deployment("", "replicas: 8", ""),
			setOf("old", false, 3, 3, revision+", deployment.kubernetes.io/desired-replicas: '4', deployment.kubernetes.io/max-replicas: '5'"),
			setOf("now", true, 2, 1, "deployment.kubernetes.io/desired-replicas: '4', deployment.kubernetes.io/max-replicas: '5'")), wants: []string{update}},
		{name: "deployment-rollout-of-unhealthy", objects: documents(deployment("", "replicas: 3", ""), setOf("old", false, 3, 0, revision), setOf("now", true, 1, 1, "")), wants: []string{update}},
		{name: "deployment-rollout-recreates", objects: documents(deployment("", "replicas: 3, strategy: {type: Recreate}", ""), setOf("old", false, 3, 3, revision)), wants: []string{update}},
		{name: "deployment-bad-image", objects: documents(
			deployment("", "replicas: 1, progressDeadlineSeconds: 10", "status: {observedGeneration: 1, replicas: 1, updatedReplicas: 1, unavailableReplicas: 1, conditions: [{type: Progressing, status: 'True', reason: ReplicaSetUpdated, lastUpdateTime: $AGO(1h), lastTransitionTime: $AGO(1h)}]}"),
			setOf("now", true, 1, 0, revision)), wants: []string{status}},
		{name: "deployment-history", objects: documents(deployment("", "replicas: 1, revisionHistoryLimit: 0", ""), setOf("old", false, 0, 0, revision), setOf("now", true, 1, 1, "deployment.kubernetes.io/revision: '2'"), complete),
			wants: []string{"deployment-controller delete replicasets"}, quick: true},
		{name: "deployment-history-of-two", objects: documents(deployment("", "replicas: 1, revisionHistoryLimit: 1", ""), setOf("old", false, 0, 0, revision), setOf("older", false, 0, 0, "deployment.kubernetes.io/revision: '0'"), setOf("now", true, 1, 1, "deployment.kubernetes.io/revision: '2'"), complete),
			wants: []string{"deployment-controller delete replicasets"}},
		{name: "deployment-adopts", objects: documents(deployment("", "replicas: 1", ""), yamlObject("apps/v1", "ReplicaSet", "stray", webLabels, "spec: {"+webSelector+", "+webTemplate+"}")),
			wants: []string{"deployment-controller patch replicasets"}},
		{name: "deployment-releases", objects: documents(deployment("", "replicas: 1", ""), yamlObject("apps/v1", "ReplicaSet", "left", "labels: {app: other}, "+owned("apps/v1", "Deployment", "web"), "spec: {selector: {matchLabels: {app: other}}, template: {metadata: {labels: {app: other}}, spec: {containers: ["+webContainer+"]}}}")),
			wants: []string{"deployment-controller patch replicasets"}},
		{name: "deployment-collision", objects: documents(deployment("", "replicas: 1", ""), yamlObject("apps/v1", "ReplicaSet", "web-$HASH(Deployment/web)", "labels: {app: other}", "spec: {replicas: 0, selector: {matchLabels: {app: other}}, template: {metadata: {labels: {app: other}}, spec: {containers: ["+webContainer+"]}}}")),
			wants: []string{create}},
		{name: "deployment-rolled-back", objects: documents(deployment("annotations: {deprecated.deployment.rollback.to: '1'}", "replicas: 1", ""), setOf("old", false, 0, 0, revision), setOf("now", true, 1, 1, "deployment.kubernetes.io/revision: '2'")),
			wants: []string{"deployment-controller update deployments"}},
		{name: "deployment-min-ready", objects: documents(deployment("", "replicas: 1, minReadySeconds: 500", ""), setOf("now", true, 1, 0, revision)), wants: []string{status}},
		{name: "deployment-revision", objects: documents(deployment("", "replicas: 1", ""), setOf("now", true, 1, 1, "")), wants: []string{update}},
	}
}

// groupScenarios are those of ReplicaSets, and of ReplicationControllers, whose loop
// is the same behind another API.
func groupScenarios() []scenario {
	var all []scenario
	for _, kind := range []struct{ short, apiVersion, kind, loop, resource, webSelector string }{
		{"replicaset", "apps/v1", "ReplicaSet", "replicaset-controller", "replicasets", webSelector},
		{"rc", "v1", "ReplicationController", "replicationcontroller-controller", "replicationcontrollers", "selector: {app: web}"},
	} {
		set := func(spec, rest string) string {
			return yamlObject(kind.apiVersion, kind.kind, "web", webLabels, "spec: {"+kind.webSelector+", "+webTemplate+", "+spec+"}, "+rest)
		}
		mine := owned(kind.apiVersion, kind.kind, "web")
		create, remove, patch, status := kind.loop+" create pods", kind.loop+" delete pods", kind.loop+" patch pods", kind.loop+" update "+kind.resource+"/status"
		quick := kind.short == "replicaset"
		all = append(all,
			scenario{name: kind.short + "-new", quick: quick, objects: set("replicas: 2", ""), wants: []string{create}},
			scenario{name: kind.short + "-large", objects: set("replicas: 30", ""), wants: []string{create}},
			scenario{name: kind.short + "-crowded", quick: quick, objects: documents(set("replicas: 1", ""), yamlPods(3, "p", mine, "", "")), wants: []string{remove, status}},
			scenario{name: kind.short + "-crowded-ready", objects: documents(set("replicas: 1", ""), yamlPods(2, "p", mine, "nodeName: gone-$NS", podRunning), yamlPod("cheap", "annotations: {controller.kubernetes.io/pod-deletion-cost: '-10'}, "+mine, "", "")), wants: []string{remove}},
			scenario{name: kind.short + "-to-none", objects: documents(set("replicas: 0", ""), yamlPods(2, "p", mine, "", "")), wants: []string{remove}},
			scenario{name: kind.short + "-adopts", quick: quick, objects: documents(set("replicas: 1", ""), yamlPod("stray", "", "", "")), wants: []string{patch}},
			scenario{name: kind.short + "-releases", objects: documents(set("replicas: 1", ""), yamlPod("left", "labels: {app: other}, "+mine, "", "")), wants: []string{patch, create}},
			scenario{name: kind.short + "-failed-pod", objects: documents(set("replicas: 1", ""), yamlPod("p", mine, "", "status: {phase: Failed}")), wants: []string{create}},
			scenario{name: kind.short + "-ending-pod", objects: documents(set("replicas: 1", ""), yamlPod("p", "finalizers: [example.com/stay], "+mine, "", "then: delete")), wants: []string{create}},
			scenario{name: kind.short + "-status", objects: documents(set("replicas: 1", ""), yamlPod("p", mine, "nodeName: gone-$NS", podRunning)), wants: []string{status}},
			scenario{name: kind.short + "-min-ready", objects: documents(set("replicas: 1, minReadySeconds: 3600", ""), yamlPod("p", mine, "nodeName: gone-$NS", "status: {phase: Running, conditions: [{type: Ready, status: 'True', lastTransitionTime: $AGO(1s)}]}")), wants: []string{status}},
			scenario{name: kind.short + "-mixed", objects: documents(set("replicas: 2", ""), yamlPod("mine", mine, "", ""), yamlPod("stray", "", "", ""), yamlPod("left", "labels: {app: other}, "+mine, "", "")), wants: []string{patch}},
		)
	}
	return all
}

// node is one of the scenario, found by the label scenario=$NS. Nobody plays its
// kubelet, and it has no room for pods that a scheduler could place.
func yamlNode(name, meta, spec, conditions string) string {
	if conditions == "" {
		conditions = "{type: Ready, status: 'True', lastHeartbeatTime: $AGO(1s), lastTransitionTime: $AGO(1h)}"
	}
	return yamlObject("v1", "Node", "$NS-x-"+name, "labels: {scenario: $NS, topology.kubernetes.io/zone: $NS, kubernetes.io/hostname: $NS-x-"+name+"}, "+meta,
		"spec: {"+spec+"}, status: {capacity: {cpu: '8', memory: 8Gi, pods: '110'}, allocatable: {cpu: '8', memory: 8Gi, pods: '0'}, conditions: ["+conditions+"]}")
}

func daemonScenarios() []scenario {
	const (
		create, remove, patch = "daemonset-controller create pods", "daemonset-controller delete pods", "daemonset-controller patch pods"
		status                = "daemonset-controller update daemonsets/status"
		revision              = "daemonset-controller create controllerrevisions"
	)
	daemons := func(spec, podSpec string) string {
		return yamlObject("apps/v1", "DaemonSet", "web", webLabels, "spec: {"+webSelector+", template: {metadata: {labels: {app: web}}, spec: {nodeSelector: {scenario: $NS}, containers: ["+webContainer+"], "+podSpec+"}}, "+spec+"}")
	}
	mine := owned("apps/v1", "DaemonSet", "web")
	on := func(yamlNode string) string {
		return "nodeName: $NS-x-" + yamlNode + ", affinity: {nodeAffinity: {requiredDuringSchedulingIgnoredDuringExecution: {nodeSelectorTerms: [{matchFields: [{key: metadata.name, operator: In, values: [$NS-x-" + yamlNode + "]}]}]}}}"
	}
	a, b := yamlNode("a", "", "", ""), yamlNode("b", "", "", "")
	return []scenario{
		{name: "daemonset-new", quick: true, objects: documents(a, daemons("", "")), wants: []string{create, status, revision}},
		{name: "daemonset-nodes", objects: documents(a, b, yamlNode("c", "", "", ""), daemons("", "")), wants: []string{create}},
		{name: "daemonset-node-added", objects: documents(a, b, daemons("", ""), yamlPod("p", mine, on("a"), podRunning)), wants: []string{create}},
		{name: "daemonset-node-cordoned", objects: documents(yamlNode("a", "", "unschedulable: true", ""), daemons("", "")), wants: []string{create}},
		{name: "daemonset-node-not-for-it", objects: documents(a, daemons("", "nodeSelector: {scenario: none}"), yamlPod("p", mine, on("a"), podRunning)), wants: []string{remove}},
		{name: "daemonset-node-tainted", objects: documents(yamlNode("a", "", "taints: [{key: k, value: v, effect: NoExecute}]", ""), daemons("", ""), yamlPod("p", mine, on("a"), podRunning)), wants: []string{remove}},
		{name: "daemonset-failed-pod", objects: documents(a, daemons("", ""), yamlPod("p", mine, on("a"), "status: {phase: Failed}")), wants: []string{remove}},
		{name: "daemonset-two-on-a-node", objects: documents(a, daemons("", ""), yamlPods(2, "p", mine, on("a"), podRunning)), wants: []string{remove}},
		{name: "daemonset-rolling-update", objects: documents(a, daemons("", ""), yamlPod("p", "labels: {app: web, controller-revision-hash: old}, "+mine, on("a"), podRunning)), wants: []string{remove}},
		{name: "daemonset-surge", objects: documents(a, daemons("updateStrategy: {rollingUpdate: {maxSurge: 1, maxUnavailable: 0}}", ""), yamlPod("p", "labels: {app: web, controller-revision-hash: old}, "+mine, on("a"), podRunning)), wants: []string{create}},
		{name: "daemonset-on-delete", objects: documents(a, daemons("updateStrategy: {type: OnDelete}", ""), yamlPod("p", "labels: {app: web, controller-revision-hash: old}, "+mine, on("a"), podRunning)), wants: []string{revision, status}},
		{name: "daemonset-adopts", objects: documents(a, daemons("", ""), yamlPod("p", "", on("a"), podRunning)), wants: []string{patch}},
		{name: "daemonset-releases", objects: documents(a, daemons("", ""), yamlPod("p", "labels: {app: other}, "+mine, on("a"), podRunning)), wants: []string{patch}},
		{name: "daemonset-history", objects: documents(daemons("revisionHistoryLimit: 0", ""), yamlObject("apps/v1", "ControllerRevision", "web-old", webLabels+", "+mine, "revision: 1, data: {spec: {template: {}}}")), wants: []string{"daemonset-controller delete controllerrevisions"}},
	}
}

func statefulScenarios() []scenario {
	const (
		loop                  = "statefulset-controller"
		create, remove, patch = loop + " create pods", loop + " delete pods", loop + " patch pods"
		claims                = "volumeClaimTemplates: [{metadata: {name: data}, spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}}]"
		withClaim             = "volumes: [{name: data, persistentVolumeClaim: {claimName: data-web-%d}}], hostname: web-%d, subdomain: web"
	)
	set := func(spec string) string {
		return yamlObject("apps/v1", "StatefulSet", "web", webLabels, "spec: {serviceName: web, "+webSelector+", "+webTemplate+", "+spec+"}")
	}
	mine := owned("apps/v1", "StatefulSet", "web")
	member := func(i int, hash, rest string) string {
		return yamlPod(fmt.Sprintf("web-%d", i), fmt.Sprintf("labels: {app: web, statefulset.kubernetes.io/pod-name: web-%d, apps.kubernetes.io/pod-index: '%d', controller-revision-hash: %s}, %s", i, i, hash, mine),
			fmt.Sprintf("nodeName: gone-$NS, hostname: web-%d, subdomain: web", i), rest)
	}
	bound := func(i int, hash string) string {
		return yamlPod(fmt.Sprintf("web-%d", i), fmt.Sprintf("labels: {app: web, statefulset.kubernetes.io/pod-name: web-%d, apps.kubernetes.io/pod-index: '%d', controller-revision-hash: %s}, %s", i, i, hash, mine),
			fmt.Sprintf("nodeName: gone-$NS, "+withClaim, i, i), podRunning)
	}
	claim := func(i int) string {
		return yamlObject("v1", "PersistentVolumeClaim", fmt.Sprintf("data-web-%d", i), webLabels, "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}")
	}
	old := yamlObject("apps/v1", "ControllerRevision", "web-old", webLabels+", "+mine, "revision: 1, data: {spec: {template: {$patch: replace, metadata: {labels: {app: web}}, spec: {containers: [{name: c, image: old}]}}}}")
	return []scenario{
		{name: "statefulset-new", quick: true, objects: set("replicas: 2"), wants: []string{create, loop + " create controllerrevisions", loop + " update statefulsets/status"}},
		{name: "statefulset-parallel", objects: set("replicas: 3, podManagementPolicy: Parallel"), wants: []string{create}},
		{name: "statefulset-start-ordinal", objects: set("replicas: 1, ordinals: {start: 5}"), wants: []string{create}},
		{name: "statefulset-claims", quick: true, objects: set("replicas: 1, " + claims), wants: []string{loop + " create persistentvolumeclaims", create}},
		{name: "statefulset-claims-retained", objects: documents(set("replicas: 1, "+claims+", persistentVolumeClaimRetentionPolicy: {whenDeleted: Retain, whenScaled: Retain}"), claim(0)), wants: []string{create}},
		{name: "statefulset-claims-deleted-with-it", objects: documents(set("replicas: 1, "+claims+", persistentVolumeClaimRetentionPolicy: {whenDeleted: Delete}"), claim(0), bound(0, "old")), wants: []string{loop + " update persistentvolumeclaims"}},
		{name: "statefulset-claims-deleted-when-scaled", objects: documents(set("replicas: 0, "+claims+", persistentVolumeClaimRetentionPolicy: {whenScaled: Delete}"), claim(0), bound(0, "old")), wants: []string{loop + " update persistentvolumeclaims"}},
		{name: "statefulset-scaled-down", objects: documents(set("replicas: 1"), member(0, "old", podRunning), member(1, "old", podRunning)), wants: []string{remove}},
		{name: "statefulset-scaled-down-parallel", objects: documents(set("replicas: 0, podManagementPolicy: Parallel"), member(0, "old", podRunning), member(1, "old", podRunning)), wants: []string{remove}},
		{name: "statefulset-waits-for-the-first", objects: documents(set("replicas: 2"), member(0, "old", "")), wants: []string{loop + " update statefulsets/status"}},
		{name: "statefulset-rolling-update", objects: documents(set("replicas: 1"), old, member(0, "web-old", podRunning)), wants: []string{remove}},
		{name: "statefulset-partition", objects: documents(set("replicas: 2, updateStrategy: {rollingUpdate: {partition: 1}}"), old, member(0, "web-old", podRunning), member(1, "web-old", podRunning)), wants: []string{remove}},
		{name: "statefulset-on-delete", objects: documents(set("replicas: 1, updateStrategy: {type: OnDelete}"), old, member(0, "web-old", podRunning)), wants: []string{loop + " create controllerrevisions"}},
		{name: "statefulset-failed-pod", objects: documents(set("replicas: 1"), member(0, "old", "status: {phase: Failed}")), wants: []string{remove}},
		{name: "statefulset-done-pod", objects: documents(set("replicas: 1"), member(0, "old", "status: {phase: Succeeded}")), wants: []string{remove}},
		{name: "statefulset-adopts", objects: documents(set("replicas: 1"), yamlPod("web-0", "", "hostname: web-0, subdomain: web", podRunning)), wants: []string{patch}},
		{name: "statefulset-releases", objects: documents(set("replicas: 1"), yamlPod("web-0", "labels: {app: other}, "+mine, "", podRunning)), wants: []string{patch}},
		{name: "statefulset-identity", objects: documents(set("replicas: 1"), yamlPod("web-0", mine, "hostname: web-0, subdomain: web", podRunning)), wants: []string{loop + " update pods"}},
		{name: "statefulset-history", objects: documents(set("replicas: 0, revisionHistoryLimit: 0"), old), wants: []string{loop + " delete controllerrevisions"}},
		{name: "statefulset-adopts-revision", objects: documents(set("replicas: 0"), yamlObject("apps/v1", "ControllerRevision", "web-stray", webLabels, "revision: 1, data: {spec: {template: {}}}")), wants: []string{loop + " patch controllerrevisions"}},
	}
}
