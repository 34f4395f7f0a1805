package tap

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

// AttachLoop attaches to target what Specs lists for it.
func (t *Tap) AttachLoop(controller, loop string, target any) error {
	specs, ok := Specs(controller, loop)
	if !ok {
		return fmt.Errorf("attach to %s: the queues of loop %q are not known", controller, loop)
	}
	return t.Attach(controller, target, specs...)
}

// Specs returns the queues of one loop of kube-controller-manager 1.37, for
// the pointer that its exported constructor returns. Controller is its name
// there (package names), and loop the same, except in the controllers that
// consist of several: "kubelet-serving", "kubelet-client",
// "kube-apiserver-client" and "legacy-unknown" of the signing controller,
// "migration", "resource-version" and "custom-resource" of the storage version
// migrator. It reports false for a loop that it does not know; some loops have
// no queue.
//
// A queue's name is the one in upstream's metrics. Where two queues share one,
// or have none, it is made up after that pattern.
func Specs(controller, loop string) ([]Spec, bool) {
	switch controller {
	case names.CertificateSigningRequestSigningController:
		switch loop {
		case "kubelet-serving", "kubelet-client", "kube-apiserver-client", "legacy-unknown":
			return []Spec{Strings(loop, "certificateController.queue")}, true
		}
	case names.StorageVersionMigratorController:
		switch loop {
		case "migration", "resource-version":
			return []Spec{Strings(loop, "queue")}, true
		case "custom-resource":
			return []Spec{Of(loop, "queue", func(k metav1.GroupResource) string { return k.String() })}, true
		}
	default:
		if loop == controller {
			return specs(controller)
		}
	}
	return nil, false
}

// specs returns the queues of a controller that is one loop.
func specs(controller string) ([]Spec, bool) {
	var s []Spec
	switch controller {
	// The workloads.
	case names.DeploymentController:
		s = []Spec{Strings("deployment", "queue").TellsErrors()} // looks again at a rollout that is out of time
	case names.ReplicaSetController:
		s = []Spec{Strings("replicaset", "queue")}
	case names.ReplicationControllerController:
		s = []Spec{Strings("replicationmanager", "ReplicaSetController.queue")}
	case names.StatefulSetController:
		s = []Spec{Strings("statefulset", "queue")}
	case names.DaemonSetController:
		s = []Spec{Strings("daemonset", "queue"), Strings("daemonset-node-updates", "nodeUpdateQueue")}
	case names.JobController:
		s = []Spec{Strings("job", "queue"), Of("job_orphan_pod", "orphanQueue", orphanPodKey.describe)}
	case names.CronJobController:
		s = []Spec{Strings("cronjob", "queue")}
	case names.TTLAfterFinishedController:
		s = []Spec{Strings("ttl_jobs_to_delete", "queue")}
	case names.HorizontalPodAutoscalerController:
		s = []Spec{Strings("horizontalpodautoscaler", "queue").Periodic()}
	case names.DisruptionController:
		s = []Spec{
			Strings("disruption", "queue"),
			Strings("disruption_recheck", "recheckQueue"),
			Strings("stale_pod_disruption", "stalePodDisruptionQueue"),
		}
	case names.PodGroupProtectionController:
		s = []Spec{Strings("podgroupprotection", "queue")}
	case names.PodGarbageCollectorController:
		s = []Spec{Strings("orphaned_pods_nodes", "nodeQueue")}

	// Everything's owner and end.
	case names.GarbageCollectorController:
		s = []Spec{
			Of("garbage_collector_attempt_to_delete", "attemptToDelete", (*gcNode).describe).
				Also("dependencyGraphBuilder.attemptToDelete"),
			Of("garbage_collector_attempt_to_orphan", "attemptToOrphan", (*gcNode).describe).
				Also("dependencyGraphBuilder.attemptToOrphan"),
			Of("garbage_collector_graph_changes", "dependencyGraphBuilder.graphChanges", (*gcEvent).describe),
		}
	case names.NamespaceController:
		s = []Spec{Strings("namespace", "queue")}
	case names.ResourceQuotaController:
		s = []Spec{
			Strings("resourcequota_primary", "queue"),
			Strings("resourcequota_priority", "missingUsageQueue"),
			Of("resource_quota_controller_resource_changes", "quotaMonitor.resourceChanges", (*quotaEvent).describe),
		}

	// Networking.
	case names.EndpointsController:
		s = []Spec{Strings("endpoint", "queue"), Of("endpoint_pods", "podQueue", (*podProjection).describe)}
	case names.EndpointSliceController:
		s = []Spec{
			Strings("endpoint_slice", "serviceQueue"),
			Of("endpoint_slice_pods", "podQueue", (*podProjection).describe),
			Strings("endpoint_slice_topology", "topologyQueue"),
		}
	case names.EndpointSliceMirroringController:
		s = []Spec{Strings("endpoint_slice_mirroring", "queue")}
	case names.ServiceCIDRController:
		s = []Spec{Strings("ipaddresses", "queue")}

	// Nodes.
	case names.NodeIpamController:
		s = []Spec{Of("cidrallocator_node", "cidrAllocator.queue", func(k any) string { return fmt.Sprint(k) })}
	case names.NodeLifecycleController:
		s = []Spec{
			Strings("node_lifecycle_controller", "nodeUpdateQueue"),
			Of("node_lifecycle_controller_pods", "podUpdateQueue", lifecyclePod.describe),
		}
	case names.TaintEvictionController:
		s = []Spec{
			Of("noexec_taint_node", "nodeUpdateQueue", taintedNode.describe),
			Of("noexec_taint_pod", "podUpdateQueue", taintedPod.describe),
		}
	case names.TTLController:
		s = []Spec{Strings("ttlcontroller", "queue")}

	// Dynamic resources.
	case names.ResourceClaimController:
		s = []Spec{Strings("resource_claim", "queue")}
	case names.DeviceTaintEvictionController:
		s = []Spec{Of("device-taint-eviction", "workqueue", deviceTaintWork.describe).MadeInRun()}
	case names.ResourcePoolStatusRequestController:
		s = []Spec{Strings("resourcepoolstatusrequest", "workqueue")}

	// Volumes.
	case names.PersistentVolumeBinderController:
		s = []Spec{Strings("claims", "claimQueue"), Strings("volumes", "volumeQueue")}
	case names.PersistentVolumeAttachDetachController:
		s = []Spec{Strings("pvcs", "pvcQueue")}
	case names.PersistentVolumeExpanderController:
		s = []Spec{Strings("volume_expand", "queue")}
	case names.EphemeralVolumeController:
		s = []Spec{Strings("ephemeral_volume", "queue")}
	case names.PersistentVolumeClaimProtectionController:
		s = []Spec{
			Strings("pvcprotection", "queue"),
			Strings("pvcprotection_namespaces", "pvcProcessingStore.namespaceQueue").WorksAfterDone(),
		}
	case names.PersistentVolumeProtectionController:
		s = []Spec{Strings("pvprotection", "queue")}
	case names.VolumeAttributesClassProtectionController:
		s = []Spec{Strings("vacprotection", "queue")}
	case names.SELinuxWarningController:
		s = []Spec{Of("selinux_warning", "queue", cache.ObjectName.String)}

	// Identities and certificates.
	case names.ServiceAccountController:
		s = []Spec{Strings("serviceaccount", "queue")}
	case names.ServiceAccountTokenController:
		s = []Spec{
			Of("serviceaccount_tokens_service", "syncServiceAccountQueue", serviceAccountKey.describe),
			Of("serviceaccount_tokens_secret", "syncSecretQueue", secretKey.describe),
		}
	case names.BootstrapSignerController:
		s = []Spec{Strings("bootstrap_signer_queue", "syncQueue")}
	case names.TokenCleanerController:
		s = []Spec{Strings("token_cleaner", "queue")}
	case names.CertificateSigningRequestApprovingController:
		s = []Spec{Strings("certificate", "queue")}
	case names.RootCACertificatePublisherController:
		s = []Spec{Strings("root_ca_cert_publisher", "queue")}
	case names.KubeAPIServerClusterTrustBundlePublisherController:
		s = []Spec{Strings("ca_cert_publisher_cluster_trust_bundles", "queue")}
	case names.ClusterRoleAggregationController:
		s = []Spec{Strings("ClusterRoleAggregator", "queue")}

	// The API server's own affairs.
	case names.StorageVersionGarbageCollectorController:
		s = []Spec{
			Strings("storage_version_garbage_collector_leases", "leaseQueue"),
			Strings("storage_version_garbage_collector_storageversions", "storageVersionQueue"),
		}
	case names.ValidatingAdmissionPolicyStatusController:
		s = []Spec{Strings("validatingadmissionpolicy-status", "policyQueue")}

	// These work in tickers alone.
	case names.CertificateSigningRequestCleanerController,
		names.PodCertificateRequestCleanerController,
		names.LegacyServiceAccountTokenCleanerController:
	default:
		return nil, false
	}
	return s, true
}
