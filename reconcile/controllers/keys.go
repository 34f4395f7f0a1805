package controllers

import (
	"strings"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// Keys says what the keys of a work queue stand for.
type Keys struct {
	// Types are the types of the objects that the keys name, "deployments.apps";
	// in nearly every queue it is one.
	Types []string
	// Any: the keys name objects of any type, as "Kind.group namespace/name".
	Any bool
	// Feeds: what is in the queue belongs to no object. Another queue, or a
	// graph of the loop, is filled from it, and stays empty where it is held
	// back.
	Feeds bool
}

// KeysOf says what the keys of a queue stand for; false for a queue that it does
// not know.
func KeysOf(controller, queue string) (Keys, bool) {
	if feeds[queue] {
		return Keys{Feeds: true}, true
	}
	switch queue {
	case "garbage_collector_attempt_to_delete", "garbage_collector_attempt_to_orphan":
		return Keys{Any: true}, true
	}
	if types := keyTypes[queue]; types != "" {
		return Keys{Types: strings.Fields(types)}, true
	}
	return Keys{}, false
}

// KeyName is the object's "namespace/name" in a key: the resource claim loop
// writes the type before it, the deletion of a pod's DRA devices too.
func KeyName(key string) string {
	for _, prefix := range [...]string{"claim:", "podgroup:", "pod:", "pod ", "devicetaintrule "} {
		if rest, has := strings.CutPrefix(key, prefix); has {
			return rest
		}
	}
	return key
}

var feeds = map[string]bool{
	"garbage_collector_graph_changes":            true,
	"resource_quota_controller_resource_changes": true,
	"endpoint_pods":                            true,
	"endpoint_slice_pods":                      true,
	"endpoint_slice_topology":                  true,
	"daemonset-node-updates":                   true,
	"pvcprotection_namespaces":                 true,
	"storage_version_garbage_collector_leases": true,
}

// keyTypes has the types of the keys, by queue: names of queues are unique among
// the loops of kube-controller-manager.
var keyTypes = map[string]string{
	"deployment":              "deployments.apps",
	"replicaset":              "replicasets.apps",
	"replicationmanager":      "replicationcontrollers",
	"statefulset":             "statefulsets.apps",
	"daemonset":               "daemonsets.apps",
	"job":                     "jobs.batch",
	"job_orphan_pod":          "pods",
	"cronjob":                 "cronjobs.batch",
	"ttl_jobs_to_delete":      "jobs.batch",
	"horizontalpodautoscaler": "horizontalpodautoscalers.autoscaling",
	"disruption":              "poddisruptionbudgets.policy",
	"disruption_recheck":      "poddisruptionbudgets.policy",
	"stale_pod_disruption":    "pods",
	"podgroupprotection":      "podgroups.scheduling.k8s.io",
	"orphaned_pods_nodes":     "nodes",

	"namespace":              "namespaces",
	"resourcequota_primary":  "resourcequotas",
	"resourcequota_priority": "resourcequotas",

	"endpoint":                 "services",
	"endpoint_slice":           "services",
	"endpoint_slice_mirroring": "endpoints",
	"ipaddresses":              "servicecidrs.networking.k8s.io",

	"cidrallocator_node":             "nodes",
	"node_lifecycle_controller":      "nodes",
	"node_lifecycle_controller_pods": "pods",
	"noexec_taint_node":              "nodes",
	"noexec_taint_pod":               "pods",
	"ttlcontroller":                  "nodes",

	"resource_claim":            "resourceclaims.resource.k8s.io pods podgroups.scheduling.k8s.io",
	"device-taint-eviction":     "pods devicetaintrules.resource.k8s.io",
	"resourcepoolstatusrequest": "resourcepoolstatusrequests.resource.k8s.io",

	"claims":           "persistentvolumeclaims",
	"volumes":          "persistentvolumes",
	"pvcs":             "persistentvolumeclaims",
	"volume_expand":    "persistentvolumeclaims",
	"ephemeral_volume": "pods",
	"pvcprotection":    "persistentvolumeclaims",
	"pvprotection":     "persistentvolumes",
	"vacprotection":    "volumeattributesclasses.storage.k8s.io",
	"selinux_warning":  "pods",

	"serviceaccount":                "namespaces",
	"serviceaccount_tokens_service": "serviceaccounts",
	"serviceaccount_tokens_secret":  "secrets",
	"bootstrap_signer_queue":        "configmaps",
	"token_cleaner":                 "secrets",
	"certificate":                   "certificatesigningrequests.certificates.k8s.io",
	"kube-apiserver-client":         "certificatesigningrequests.certificates.k8s.io",
	"kubelet-client":                "certificatesigningrequests.certificates.k8s.io",
	"kubelet-serving":               "certificatesigningrequests.certificates.k8s.io",
	"legacy-unknown":                "certificatesigningrequests.certificates.k8s.io",
	"root_ca_cert_publisher":        "namespaces",

	"ca_cert_publisher_cluster_trust_bundles":           "clustertrustbundles.certificates.k8s.io",
	"ClusterRoleAggregator":                             "clusterroles.rbac.authorization.k8s.io",
	"storage_version_garbage_collector_storageversions": "storageversions.internal.apiserver.k8s.io",
	"custom-resource":                                   "customresourcedefinitions.apiextensions.k8s.io",
	"migration":                                         "storageversionmigrations.storagemigration.k8s.io",
	"resource-version":                                  "storageversionmigrations.storagemigration.k8s.io",
	"validatingadmissionpolicy-status":                  "validatingadmissionpolicies.admissionregistration.k8s.io",
}

// loopsOf are the loops that decide what becomes of an object of a type, and no
// others that merely look at it.
var loopsOf = map[string][]string{
	"deployments.apps":                     {names.DeploymentController},
	"replicasets.apps":                     {names.ReplicaSetController},
	"replicationcontrollers":               {names.ReplicationControllerController},
	"statefulsets.apps":                    {names.StatefulSetController},
	"daemonsets.apps":                      {names.DaemonSetController},
	"jobs.batch":                           {names.JobController, names.TTLAfterFinishedController},
	"cronjobs.batch":                       {names.CronJobController},
	"horizontalpodautoscalers.autoscaling": {names.HorizontalPodAutoscalerController},
	"poddisruptionbudgets.policy":          {names.DisruptionController},
	"services":                             {names.EndpointSliceController, names.EndpointsController},
	"namespaces":                           {names.NamespaceController, names.ServiceAccountController, names.RootCACertificatePublisherController},
	"persistentvolumeclaims":               {names.PersistentVolumeBinderController, names.PersistentVolumeClaimProtectionController},
	"persistentvolumes":                    {names.PersistentVolumeBinderController, names.PersistentVolumeProtectionController},
	"resourcequotas":                       {names.ResourceQuotaController},
	"resourceclaims.resource.k8s.io":       {names.ResourceClaimController},
	"certificatesigningrequests.certificates.k8s.io": {names.CertificateSigningRequestApprovingController},
	"clusterroles.rbac.authorization.k8s.io":         {names.ClusterRoleAggregationController},
}

// LoopsOf are the loops that decide what becomes of objects of a type,
// "deployments.apps". The garbage collector, which looks at every type, is not
// among them.
func LoopsOf(typ string) []string { return loopsOf[typ] }

// Confinable reports whether all of the loops named stay correct when their
// informers see one namespace only.
func Confinable(loops []string) bool {
	safe := map[string]bool{}
	for _, r := range table() {
		safe[r.name] = r.namespaceSafe
	}
	for _, name := range loops {
		if !safe[name] {
			return false
		}
	}
	return true
}
