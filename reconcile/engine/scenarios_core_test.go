package engine

import "fmt"

const absent = "ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: gone, uid: 11111111-0000-0000-0000-000000000003}]"

// plain are objects of many kinds that no loop but the garbage collector and the
// namespace loop cares for, by resource: what follows their metadata.
var plain = []struct{ resource, apiVersion, kind, rest string }{
	{"configmaps", "v1", "ConfigMap", "data: {k: v}"},
	{"secrets", "v1", "Secret", "stringData: {k: v}"},
	{"pods", "v1", "Pod", "spec: {containers: [" + webContainer + "]}"},
	{"services", "v1", "Service", "spec: {ports: [{port: 80}]}"},
	{"serviceaccounts", "v1", "ServiceAccount", ""},
	{"persistentvolumeclaims", "v1", "PersistentVolumeClaim", "spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}"},
	{"limitranges", "v1", "LimitRange", "spec: {limits: []}"},
	{"podtemplates", "v1", "PodTemplate", webTemplate},
	{"replicasets", "apps/v1", "ReplicaSet", "spec: {replicas: 0, " + webSelector + ", " + webTemplate + "}"},
	{"deployments", "apps/v1", "Deployment", "spec: {replicas: 0, " + webSelector + ", " + webTemplate + "}"},
	{"jobs", "batch/v1", "Job", "spec: {suspend: true, template: {spec: {restartPolicy: Never, containers: [" + webContainer + "]}}}"},
	{"cronjobs", "batch/v1", "CronJob", "spec: {suspend: true, schedule: '0 0 1 1 *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: [" + webContainer + "]}}}}}"},
	{"networkpolicies", "networking.k8s.io/v1", "NetworkPolicy", "spec: {podSelector: {}}"},
	{"ingresses", "networking.k8s.io/v1", "Ingress", "spec: {defaultBackend: {service: {name: s, port: {number: 80}}}}"},
	{"roles", "rbac.authorization.k8s.io/v1", "Role", "rules: []"},
	{"rolebindings", "rbac.authorization.k8s.io/v1", "RoleBinding", "roleRef: {apiGroup: rbac.authorization.k8s.io, kind: Role, name: r}"},
	{"leases", "coordination.k8s.io/v1", "Lease", "spec: {holderIdentity: x}"},
	{"poddisruptionbudgets", "policy/v1", "PodDisruptionBudget", "spec: {" + webSelector + "}"},
}

func widgetType(group string) string {
	return yamlObject("apiextensions.k8s.io/v1", "CustomResourceDefinition", "widgets."+group, "",
		"spec: {group: "+group+", scope: Namespaced, names: {plural: widgets, singular: widget, kind: Widget, listKind: WidgetList}, versions: [{name: v1, served: true, storage: true, schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}}]}")
}

func garbageScenarios() []scenario {
	const loop = "garbage-collector-controller"
	const remove, patch = loop + " delete configmaps", loop + " patch configmaps"
	owner := func(meta, then string) string {
		return yamlObject("v1", "ConfigMap", "owner", meta, "then: "+then)
	}
	refs := func(blocks string) string {
		return "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: $UID(ConfigMap/owner), blockOwnerDeletion: " + blocks + "}]"
	}
	dependent := func(name, refs string) string { return yamlObject("v1", "ConfigMap", name, refs, "") }
	var all []scenario
	for _, p := range plain {
		all = append(all, scenario{name: "gc-orphan-of-" + p.resource, quick: p.resource == "configmaps", objects: yamlObject(p.apiVersion, p.kind, "orphan", absent, p.rest), wants: []string{loop + " delete " + p.resource}})
	}
	return append(all,
		scenario{name: "gc-other-uid", objects: documents(owner("", ""), dependent("d", "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: 11111111-0000-0000-0000-000000000004}]")), wants: []string{remove}},
		scenario{name: "gc-one-owner-of-two", objects: documents(owner("", ""), dependent("d", "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: owner, uid: $UID(ConfigMap/owner)}, {apiVersion: v1, kind: ConfigMap, name: gone, uid: 11111111-0000-0000-0000-000000000005}]")), wants: []string{patch}, quick: true},
		scenario{name: "gc-cluster-owner-gone", objects: dependent("d", "ownerReferences: [{apiVersion: v1, kind: Node, name: gone, uid: 11111111-0000-0000-0000-000000000006}]"), wants: []string{remove}},
		scenario{name: "gc-cluster-scoped", objects: yamlObject("rbac.authorization.k8s.io/v1", "ClusterRole", "$NS-x-r", "ownerReferences: [{apiVersion: v1, kind: Node, name: gone, uid: 11111111-0000-0000-0000-000000000007}]", "rules: []"), wants: []string{loop + " delete clusterroles"}},
		scenario{name: "gc-foreground-dependents", quick: true, objects: documents(yamlObject("apps/v1", "ReplicaSet", "owner", "finalizers: [foregroundDeletion]", "spec: {replicas: 0, "+webSelector+", "+webTemplate+"}"), yamlObject("v1", "ConfigMap", "d", owned("apps/v1", "ReplicaSet", "owner"), ""), "{delete: ReplicaSet/owner, policy: Foreground}"), wants: []string{remove}},
		scenario{name: "gc-foreground-not-blocked", objects: documents(owner("finalizers: [foregroundDeletion]", ""), dependent("d", refs("false")), "{delete: ConfigMap/owner, policy: Foreground}"), wants: []string{patch}},
		scenario{name: "gc-foreground-chain", objects: documents(owner("finalizers: [foregroundDeletion]", ""), dependent("d", refs("true")), dependent("e", "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: d, uid: $UID(ConfigMap/d), blockOwnerDeletion: true}]"), "{delete: ConfigMap/owner, policy: Foreground}"), wants: []string{remove}},
		scenario{name: "gc-orphan-policy", quick: true, objects: documents(owner("finalizers: [orphan]", ""), dependent("d", refs("true")), "{delete: ConfigMap/owner, policy: Orphan}"), wants: []string{patch}},
		scenario{name: "gc-orphan-policy-deployment", objects: documents(deployment("finalizers: [orphan]", "replicas: 0", ""), setOf("now", true, 0, 0, ""), "{delete: Deployment/web, policy: Orphan}"), wants: []string{loop + " patch replicasets"}},
		scenario{name: "gc-orphan-policy-without-dependents", objects: documents(owner("finalizers: [orphan]", ""), "{delete: ConfigMap/owner, policy: Orphan}"), wants: []string{patch}},
		scenario{name: "gc-other-namespace", objects: documents(yamlObject("v1", "ConfigMap", "$NS-owner", "namespace: default", ""), yamlObject("v1", "ConfigMap", "d", "ownerReferences: [{apiVersion: v1, kind: ConfigMap, name: $NS-owner, uid: $UID(ConfigMap/$NS-owner)}]", "")), wants: []string{remove}},
		scenario{name: "gc-custom-orphan", objects: documents(widgetType("a.example"), yamlObject("a.example/v1", "Widget", "orphan", absent, "spec: {}")), wants: []string{loop + " delete widgets"}},
		scenario{name: "gc-of-custom-owner", objects: documents(widgetType("b.example"), yamlObject("v1", "ConfigMap", "d", "ownerReferences: [{apiVersion: b.example/v1, kind: Widget, name: gone, uid: 11111111-0000-0000-0000-000000000008}]", "")), wants: []string{remove}},
	)
}

func namespaceScenarios() []scenario {
	const loop = "namespace-controller"
	ending := func(content ...string) string {
		return documents(append(append([]string{"{apiVersion: v1, kind: Namespace, metadata: {name: $NS-x-gone}}"}, content...), "{delete: Namespace/$NS-x-gone, policy: Background}")...)
	}
	all := []scenario{
		{name: "namespace-empty", objects: ending(), wants: []string{loop + " update namespaces/finalize"}},
		{name: "namespace-own-finalizer", objects: documents("{apiVersion: v1, kind: Namespace, metadata: {name: $NS-x-gone, finalizers: [example.com/stay]}}", "{delete: Namespace/$NS-x-gone, policy: Background}"), wants: []string{loop + " update namespaces/finalize"}},
		{name: "namespace-with-finalized-content", objects: ending("{apiVersion: v1, kind: ConfigMap, metadata: {name: c, namespace: $NS-x-gone, finalizers: [example.com/stay]}}"), wants: []string{loop + " update namespaces/status"}},
		{name: "namespace-with-custom-content", objects: ending(widgetType("c.example"), "{apiVersion: c.example/v1, kind: Widget, metadata: {name: w, namespace: $NS-x-gone}}"), wants: []string{loop + " deletecollection widgets"}},
	}
	for _, p := range plain {
		all = append(all, scenario{name: "namespace-with-" + p.resource, quick: p.resource == "secrets",
			objects: ending(yamlObject(p.apiVersion, p.kind, "inside", "namespace: $NS-x-gone", p.rest)), wants: []string{loop + " deletecollection " + p.resource}})
	}
	return all
}

func quotaScenarios() []scenario {
	const update = "resourcequota-controller update resourcequotas/status"
	var all []scenario
	for i, hard := range []string{
		"pods: '10'", "requests.cpu: '4', requests.memory: 4Gi, limits.cpu: '8', limits.memory: 8Gi", "persistentvolumeclaims: '3', requests.storage: 10Gi",
		"services: '5', services.loadbalancers: '0', services.nodeports: '1'", "configmaps: '9', secrets: '9'", "replicationcontrollers: '1', resourcequotas: '2'",
		"count/deployments.apps: '2', count/jobs.batch: '4'", "requests.ephemeral-storage: 1Gi, limits.ephemeral-storage: 2Gi", "requests.example.com/gpu: '1'",
	} {
		all = append(all, scenario{name: fmt.Sprintf("quota-%d", i), quick: i == 0, objects: documents(yamlPods(2, "p", "", "", ""), yamlObject("v1", "ResourceQuota", "q", "", "spec: {hard: {"+hard+"}}")), wants: []string{update}})
	}
	for _, scope := range []string{"BestEffort", "NotBestEffort", "Terminating", "NotTerminating"} {
		all = append(all, scenario{name: "quota-" + map[string]string{"BestEffort": "best-effort", "NotBestEffort": "not-best-effort", "Terminating": "ending", "NotTerminating": "not-ending"}[scope],
			objects: documents(yamlPod("p", "", "", ""), yamlObject("v1", "ResourceQuota", "q", "", "spec: {hard: {pods: '10'}, scopes: ["+scope+"]}")), wants: []string{update}})
	}
	return append(all,
		scenario{name: "quota-stale", objects: documents(yamlPods(3, "p", "", "", ""), yamlObject("v1", "ResourceQuota", "q", "", "spec: {hard: {pods: '10'}}, status: {hard: {pods: '10'}, used: {pods: '7'}}")), wants: []string{update}},
		scenario{name: "quota-priority-class", objects: yamlObject("v1", "ResourceQuota", "q", "", "spec: {hard: {pods: '1'}, scopeSelector: {matchExpressions: [{scopeName: PriorityClass, operator: In, values: [high]}]}}"), wants: []string{update}},
		scenario{name: "quota-lowered", objects: documents(yamlPods(3, "p", "", "", ""), yamlObject("v1", "ResourceQuota", "q", "", "spec: {hard: {pods: '1'}}, status: {hard: {pods: '10'}, used: {pods: '3'}}")), wants: []string{update}},
	)
}

func podScenarios() []scenario {
	const (
		gc    = "pod-garbage-collector-controller"
		ended = "status: {phase: Succeeded}"
	)
	return []scenario{
		{name: "podgc-terminated", objects: yamlPods(3, "p", "", "restartPolicy: Never", ended), wants: []string{gc + " delete pods"}},
		{name: "podgc-unscheduled-ending", objects: yamlPod("p", "finalizers: [example.com/stay]", "", "then: delete"), wants: []string{gc + " delete pods"}},
		{name: "podgc-orphaned", objects: yamlPod("p", "", "nodeName: gone-$NS", podRunning), wants: []string{gc + " delete pods", gc + " patch pods/status"}},
		{name: "podgc-out-of-service", objects: documents(yamlNode("a", "", "taints: [{key: node.kubernetes.io/out-of-service, value: nodeshutdown, effect: NoExecute}, {key: node.kubernetes.io/not-ready, effect: NoExecute}]", "{type: Ready, status: 'False', lastHeartbeatTime: $AGO(1h), lastTransitionTime: $AGO(1h)}"),
			yamlPod("p", "", "nodeName: $NS-x-a", podRunning), "{delete: Pod/p, policy: Background}"), wants: []string{gc + " delete pods"}},
	}
}

func accountScenarios() []scenario {
	const tokens = "serviceaccount-token-controller"
	return []scenario{
		{name: "serviceaccount-default", quick: true, objects: "", wants: []string{"serviceaccount-controller create serviceaccounts", "root-ca-certificate-publisher-controller create configmaps"}},
		{name: "serviceaccount-ca-changed", objects: yamlObject("v1", "ConfigMap", "kube-root-ca.crt", "", "data: {ca.crt: old}"), wants: []string{"root-ca-certificate-publisher-controller update configmaps"}},
		{name: "token-wanted", quick: true, objects: documents(yamlObject("v1", "ServiceAccount", "bot", "", ""), yamlObject("v1", "Secret", "bot-token", "annotations: {kubernetes.io/service-account.name: bot}", "type: kubernetes.io/service-account-token")), wants: []string{tokens + " update secrets"}},
		{name: "token-of-nobody", objects: yamlObject("v1", "Secret", "gone-token", "annotations: {kubernetes.io/service-account.name: gone, kubernetes.io/service-account.uid: 11111111-0000-0000-0000-000000000009}", "type: kubernetes.io/service-account-token"), wants: []string{tokens + " delete secrets"}},
		{name: "token-of-another", objects: documents(yamlObject("v1", "ServiceAccount", "bot", "", ""), yamlObject("v1", "Secret", "bot-token", "annotations: {kubernetes.io/service-account.name: bot, kubernetes.io/service-account.uid: 11111111-0000-0000-0000-000000000010}", "type: kubernetes.io/service-account-token")), wants: []string{tokens + " delete secrets"}},
		{name: "bootstrap-token-expired", objects: yamlObject("v1", "Secret", "bootstrap-token-abcdef", "namespace: kube-system", "type: bootstrap.kubernetes.io/token, stringData: {token-id: abcdef, token-secret: 0123456789abcdef, expiration: $AGO(1h), usage-bootstrap-signing: 'true'}"), wants: []string{"~token-cleaner-controller delete secrets"}},
		{name: "bootstrap-signed", objects: documents(yamlObject("v1", "Secret", "bootstrap-token-fedcba", "namespace: kube-system", "type: bootstrap.kubernetes.io/token, stringData: {token-id: fedcba, token-secret: 0123456789abcdef, expiration: $IN(24h), usage-bootstrap-signing: 'true'}"),
			yamlObject("v1", "ConfigMap", "cluster-info", "namespace: kube-public", "data: {kubeconfig: 'apiVersion: v1'}")), wants: []string{"~bootstrap-signer-controller update configmaps"}},
		{name: "clusterrole-aggregated", quick: true, objects: documents(yamlObject("rbac.authorization.k8s.io/v1", "ClusterRole", "$NS-x-part", "labels: {part-of: $NS}", "rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]"),
			yamlObject("rbac.authorization.k8s.io/v1", "ClusterRole", "$NS-x-whole", "", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: $NS}}]}, rules: []")), wants: []string{"clusterrole-aggregation-controller apply clusterroles"}},
		{name: "clusterrole-reduced", objects: yamlObject("rbac.authorization.k8s.io/v1", "ClusterRole", "$NS-x-whole", "", "aggregationRule: {clusterRoleSelectors: [{matchLabels: {part-of: nothing}}]}, rules: [{apiGroups: [''], resources: [pods], verbs: [get]}]"), wants: []string{"clusterrole-aggregation-controller apply clusterroles"}},
	}
}
