package controllers

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	admissionregistration "k8s.io/api/admissionregistration/v1"
	apiserverinternal "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourceapi "k8s.io/api/resource/v1"
	resourcealpha "k8s.io/api/resource/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// handled is a key that one of a controller's own event handlers adds, for an
// object of changes.
type handled struct {
	queue, key string
	// untapped: upstream makes the informer itself, so that the handler is not
	// wrapped and the cause is not an event.
	untapped bool
}

// handledKeys has a key of each controller, or why it has none.
var handledKeys = map[string]struct {
	keys []handled
	none string
}{
	names.DeploymentController:              {keys: []handled{{queue: "deployment", key: "shop/web"}}},
	names.ReplicaSetController:              {keys: []handled{{queue: "replicaset", key: "shop/web"}}},
	names.ReplicationControllerController:   {keys: []handled{{queue: "replicationmanager", key: "shop/web"}}},
	names.StatefulSetController:             {keys: []handled{{queue: "statefulset", key: "shop/web"}}},
	names.DaemonSetController:               {keys: []handled{{queue: "daemonset", key: "shop/web"}, {queue: "daemonset-node-updates", key: "node-1"}}},
	names.JobController:                     {keys: []handled{{queue: "job", key: "shop/web"}, {queue: "job_orphan_pod", key: "shop/orphaned"}}},
	names.CronJobController:                 {keys: []handled{{queue: "cronjob", key: "shop/web"}}},
	names.TTLAfterFinishedController:        {keys: []handled{{queue: "ttl_jobs_to_delete", key: "shop/done"}}},
	names.HorizontalPodAutoscalerController: {keys: []handled{{queue: "horizontalpodautoscaler", key: "shop/web"}}},
	names.DisruptionController:              {keys: []handled{{queue: "disruption", key: "shop/web"}}},
	names.PodGroupProtectionController:      {keys: []handled{{queue: "podgroupprotection", key: "shop/web"}}},
	names.PodGarbageCollectorController:     {none: "its queue is filled by a ticker"},

	names.GarbageCollectorController: {keys: []handled{{queue: "garbage_collector_graph_changes", key: "add Pod shop/web"}}},
	names.NamespaceController:        {keys: []handled{{queue: "namespace", key: "leaving"}}},
	names.ResourceQuotaController:    {keys: []handled{{queue: "resourcequota_priority", key: "shop/web"}}},

	names.EndpointsController:              {keys: []handled{{queue: "endpoint", key: "shop/web"}, {queue: "endpoint_pods", key: "shop/{app=web}"}}},
	names.EndpointSliceController:          {keys: []handled{{queue: "endpoint_slice", key: "shop/web"}, {queue: "endpoint_slice_pods", key: "shop/{app=web}"}}},
	names.EndpointSliceMirroringController: {keys: []handled{{queue: "endpoint_slice_mirroring", key: "shop/mirrored"}}},
	names.ServiceCIDRController:            {keys: []handled{{queue: "ipaddresses", key: "web"}}},

	names.NodeIpamController:      {keys: []handled{{queue: "cidrallocator_node", key: "node-1"}}},
	names.NodeLifecycleController: {keys: []handled{{queue: "node_lifecycle_controller", key: "node-1"}, {queue: "node_lifecycle_controller_pods", key: "shop/web"}}},
	names.TaintEvictionController: {keys: []handled{{queue: "noexec_taint_node", key: "node-1"}, {queue: "noexec_taint_pod", key: "shop/web"}}},
	names.TTLController:           {keys: []handled{{queue: "ttlcontroller", key: "node-1"}}},

	names.ResourceClaimController:             {keys: []handled{{queue: "resource_claim", key: "claim:shop/web"}}},
	names.DeviceTaintEvictionController:       {keys: []handled{{queue: "device-taint-eviction", key: "devicetaintrule web"}}},
	names.ResourcePoolStatusRequestController: {keys: []handled{{queue: "resourcepoolstatusrequest", key: "web"}}},

	names.PersistentVolumeBinderController:                   {keys: []handled{{queue: "claims", key: "shop/web"}, {queue: "volumes", key: "web"}}},
	names.PersistentVolumeAttachDetachController:             {keys: []handled{{queue: "pvcs", key: "shop/web"}}},
	names.PersistentVolumeExpanderController:                 {keys: []handled{{queue: "volume_expand", key: "shop/web"}}},
	names.EphemeralVolumeController:                          {keys: []handled{{queue: "ephemeral_volume", key: "shop/web"}}},
	names.PersistentVolumeClaimProtectionController:          {keys: []handled{{queue: "pvcprotection", key: "shop/web"}}},
	names.PersistentVolumeProtectionController:               {keys: []handled{{queue: "pvprotection", key: "web"}}},
	names.VolumeAttributesClassProtectionController:          {keys: []handled{{queue: "vacprotection", key: "web"}}},
	names.SELinuxWarningController:                           {keys: []handled{{queue: "selinux_warning", key: "shop/web"}}},
	names.ServiceAccountController:                           {keys: []handled{{queue: "serviceaccount", key: "shop"}}},
	names.ServiceAccountTokenController:                      {keys: []handled{{queue: "serviceaccount_tokens_service", key: "shop/default"}, {queue: "serviceaccount_tokens_secret", key: "shop/token"}}},
	names.BootstrapSignerController:                          {keys: []handled{{queue: "bootstrap_signer_queue", key: "kube-public/cluster-info"}}},
	names.TokenCleanerController:                             {keys: []handled{{queue: "token_cleaner", key: "kube-system/bootstrap-token-abcdef"}}},
	names.CertificateSigningRequestSigningController:         {keys: []handled{{queue: "kubelet-serving", key: "web"}, {queue: "kubelet-client", key: "web"}, {queue: "kube-apiserver-client", key: "web"}, {queue: "legacy-unknown", key: "web"}}},
	names.CertificateSigningRequestApprovingController:       {keys: []handled{{queue: "certificate", key: "web"}}},
	names.RootCACertificatePublisherController:               {keys: []handled{{queue: "root_ca_cert_publisher", key: "shop"}}},
	names.KubeAPIServerClusterTrustBundlePublisherController: {keys: []handled{{queue: "ca_cert_publisher_cluster_trust_bundles", key: "", untapped: true}}},
	names.ClusterRoleAggregationController:                   {keys: []handled{{queue: "ClusterRoleAggregator", key: "web"}}},
	names.StorageVersionGarbageCollectorController:           {keys: []handled{{queue: "storage_version_garbage_collector_storageversions", key: "web"}}},
	names.StorageVersionMigratorController:                   {keys: []handled{{queue: "migration", key: "web"}, {queue: "resource-version", key: "web"}, {queue: "custom-resource", key: "webs.shop"}}},
	names.ValidatingAdmissionPolicyStatusController:          {keys: []handled{{queue: "validatingadmissionpolicy-status", key: "web"}}},
	names.CertificateSigningRequestCleanerController:         {none: "it works in a ticker alone"},
	names.PodCertificateRequestCleanerController:             {none: "it works in a ticker alone"},
	names.LegacyServiceAccountTokenCleanerController:         {none: "it works in a ticker alone"},
}

// changes are made while every worker waits in Get. Each object is such that the
// handlers of the controller that it is for add its key.
func changes() []runtime.Object {
	labels := map[string]string{"app": "web"}
	selector := &metav1.LabelSelector{MatchLabels: labels}
	one, ttl := int32(1), int32(0)
	meta := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID(namespace + "-" + name), ResourceVersion: "7", Generation: 1}
	}
	in := func(name string) metav1.ObjectMeta { return meta("shop", name) }
	of := func(name string) metav1.ObjectMeta { return meta("", name) }
	deleted := func(m metav1.ObjectMeta, finalizer string) metav1.ObjectMeta {
		m.DeletionTimestamp, m.Finalizers = &metav1.Time{Time: time.Now()}, []string{finalizer}
		return m
	}
	labelled := func(m metav1.ObjectMeta) metav1.ObjectMeta {
		m.Labels = labels
		return m
	}
	spec := corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "c", Image: "c:1"}}}
	template := corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: spec}
	token := in("token")
	token.Annotations = map[string]string{corev1.ServiceAccountNameKey: "absent", corev1.ServiceAccountUIDKey: "uid-absent"}
	withVolume := spec
	withVolume.Volumes = []corev1.Volume{{Name: "v", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{
		VolumeClaimTemplate: &corev1.PersistentVolumeClaimTemplate{}}}}}
	return []runtime.Object{
		&corev1.Namespace{ObjectMeta: of("shop")},
		&corev1.Namespace{ObjectMeta: deleted(of("leaving"), "shop/held"), Spec: corev1.NamespaceSpec{Finalizers: []corev1.FinalizerName{corev1.FinalizerKubernetes}}},
		&corev1.ServiceAccount{ObjectMeta: in("default")},
		&corev1.Secret{ObjectMeta: token, Type: corev1.SecretTypeServiceAccountToken},
		&corev1.Secret{ObjectMeta: meta("kube-system", "bootstrap-token-abcdef"), Type: "bootstrap.kubernetes.io/token"},
		&corev1.ConfigMap{ObjectMeta: meta("kube-public", "cluster-info")},
		&corev1.Node{ObjectMeta: of("node-1"), Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "k", Effect: corev1.TaintEffectNoExecute}}}},
		&corev1.Pod{ObjectMeta: labelled(in("web")), Spec: withVolume, Status: corev1.PodStatus{PodIP: "10.0.0.1"}},
		&corev1.Pod{ObjectMeta: deleted(in("orphaned"), batchv1.JobTrackingFinalizer)},
		&corev1.Service{ObjectMeta: in("web"), Spec: corev1.ServiceSpec{Selector: labels}},
		&corev1.Service{ObjectMeta: in("mirrored")},
		//lint:ignore SA1019 what is mirrored
		&corev1.Endpoints{ObjectMeta: in("mirrored"), Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: "10.0.0.2"}}}}},
		&corev1.ResourceQuota{ObjectMeta: in("web"), Spec: corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{corev1.ResourcePods: resource.MustParse("5")}}},
		&corev1.ReplicationController{ObjectMeta: in("web"), Spec: corev1.ReplicationControllerSpec{Replicas: &one, Selector: labels, Template: &template}},
		&corev1.PersistentVolume{ObjectMeta: deleted(of("web"), "kubernetes.io/pv-protection")},
		&corev1.PersistentVolumeClaim{ObjectMeta: deleted(in("web"), "kubernetes.io/pvc-protection"), Status: corev1.PersistentVolumeClaimStatus{Phase: corev1.ClaimBound}},
		&appsv1.Deployment{ObjectMeta: in("web"), Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: selector, Template: template, RevisionHistoryLimit: &one,
			Strategy: appsv1.DeploymentStrategy{Type: appsv1.RecreateDeploymentStrategyType}}},
		&appsv1.ReplicaSet{ObjectMeta: in("web"), Spec: appsv1.ReplicaSetSpec{Replicas: &one, Selector: selector, Template: template}},
		&appsv1.StatefulSet{ObjectMeta: in("web"), Spec: appsv1.StatefulSetSpec{Replicas: &one, Selector: selector, Template: template, RevisionHistoryLimit: &one,
			UpdateStrategy: appsv1.StatefulSetUpdateStrategy{Type: appsv1.OnDeleteStatefulSetStrategyType}}},
		&appsv1.DaemonSet{ObjectMeta: in("web"), Spec: appsv1.DaemonSetSpec{Selector: selector, Template: template, RevisionHistoryLimit: &one,
			UpdateStrategy: appsv1.DaemonSetUpdateStrategy{Type: appsv1.OnDeleteDaemonSetStrategyType}}},
		&batchv1.Job{ObjectMeta: in("web"), Spec: batchv1.JobSpec{Parallelism: &one, Completions: &one, BackoffLimit: &one, Selector: selector, Template: template}},
		&batchv1.Job{ObjectMeta: in("done"), Spec: batchv1.JobSpec{TTLSecondsAfterFinished: &ttl, Parallelism: &one, Completions: &one, BackoffLimit: &one, Selector: selector, Template: template},
			Status: batchv1.JobStatus{Conditions: []batchv1.JobCondition{{Type: batchv1.JobComplete, Status: corev1.ConditionTrue, LastTransitionTime: metav1.Now()}}}},
		&batchv1.CronJob{ObjectMeta: in("web"), Spec: batchv1.CronJobSpec{Schedule: "@yearly"}},
		&autoscalingv2.HorizontalPodAutoscaler{ObjectMeta: in("web"), Spec: autoscalingv2.HorizontalPodAutoscalerSpec{ScaleTargetRef: autoscalingv2.CrossVersionObjectReference{APIVersion: "apps/v1", Kind: "Deployment", Name: "web"}}},
		&policyv1.PodDisruptionBudget{ObjectMeta: in("web"), Spec: policyv1.PodDisruptionBudgetSpec{Selector: selector}},
		&schedulingv1beta1.PodGroup{ObjectMeta: deleted(in("web"), "scheduling.k8s.io/podgroup-protection")},
		&networkingv1.ServiceCIDR{ObjectMeta: of("web"), Spec: networkingv1.ServiceCIDRSpec{CIDRs: []string{"10.9.0.0/24"}}},
		&resourceapi.ResourceClaim{ObjectMeta: in("web"), Status: resourceapi.ResourceClaimStatus{ReservedFor: []resourceapi.ResourceClaimConsumerReference{{Resource: "pods", Name: "absent", UID: "uid-absent"}}}},
		&resourceapi.DeviceTaintRule{ObjectMeta: of("web"), Spec: resourceapi.DeviceTaintRuleSpec{Taint: resourceapi.DeviceTaint{Key: "k", Effect: resourceapi.DeviceTaintEffectNoExecute}}},
		&resourcealpha.ResourcePoolStatusRequest{ObjectMeta: of("web")},
		&storagev1.VolumeAttributesClass{ObjectMeta: of("web")},
		&certificatesv1.CertificateSigningRequest{ObjectMeta: of("web")},
		&certificatesv1beta1.ClusterTrustBundle{ObjectMeta: of("kubernetes.io:kube-apiserver-serving:web"), Spec: certificatesv1beta1.ClusterTrustBundleSpec{SignerName: "kubernetes.io/kube-apiserver-serving"}},
		&rbacv1.ClusterRole{ObjectMeta: of("web"), AggregationRule: &rbacv1.AggregationRule{}},
		&apiserverinternal.StorageVersion{ObjectMeta: of("web"), Status: apiserverinternal.StorageVersionStatus{StorageVersions: []apiserverinternal.ServerStorageVersion{{APIServerID: "absent"}}}},
		&storagemigrationv1.StorageVersionMigration{ObjectMeta: of("web"), Spec: storagemigrationv1.StorageVersionMigrationSpec{Resource: metav1.GroupResource{Group: "shop", Resource: "webs"}}},
		&admissionregistration.ValidatingAdmissionPolicy{ObjectMeta: of("web")},
	}
}

// For every controller: a key that the controller's own handler adds while
// its workers wait in Get wakes one of them, with the event as its cause. A
// queue whose adds go past the decorator fails here, as the
// ReplicationController controller's did: keys that are there before Attach are
// adopted, and hide it.
func TestHandlersWakeWorkers(t *testing.T) {
	in := newFakeInputs(t)
	all := Descriptors()
	if len(handledKeys) != len(all) {
		t.Errorf("%d controllers have a key or a reason, there are %d", len(handledKeys), len(all))
	}
	for _, d := range all {
		row, known := handledKeys[d.Name]
		if !known || (row.none == "") == (row.keys == nil) {
			t.Errorf("%s: want a key or the reason for none", d.Name)
			continue
		}
		if row.none != "" {
			continue
		}
		t.Run(d.Name, func(t *testing.T) {
			t.Parallel()
			wakesWorkers(t, d.Name, in, row.keys)
		})
	}
}

func wakesWorkers(t *testing.T, name string, in fakeInputs, want []handled) {
	ctx, cancel := context.WithCancel(t.Context())
	j := &journal{}
	tp := tap.New(j)
	w := newFakeWorld(t, ctx, tp, in)
	w.run(ctx, name)
	w.start(ctx)
	defer func() {
		cancel()
		w.end()
	}()

	busy := func() []string {
		idle := tp.Idle(name)
		var out []string
		for _, h := range want {
			if idle[h.queue] == 0 {
				out = append(out, h.queue)
			}
		}
		return append(out, tp.Activity().Moving()...)
	}
	soon(t, func() bool { return len(busy()) == 0 }, func() string { return "no worker waits in Get: " + strings.Join(busy(), ", ") })
	before := len(eventsOf[state.KeyTaken](j))
	for _, o := range changes() {
		if err := w.client.Tracker().Add(o); err != nil {
			t.Fatal(err)
		}
	}

	missing := func() []string {
		taken, added := eventsOf[state.KeyTaken](j)[before:], eventsOf[state.KeyAdded](j)
		var out []string
		for _, h := range want {
			byEvent := func(c state.Cause) bool {
				return h.untapped || c.Kind == state.CauseEvent && c.Change == state.ChangeAdded
			}
			found := slices.ContainsFunc(taken, func(e state.KeyTaken) bool {
				return e.Queue == h.queue && e.Key == h.key && (byEvent(e.Cause) || e.Cause.Kind == state.CauseUser)
			}) && slices.ContainsFunc(added, func(e state.KeyAdded) bool {
				return e.Queue == h.queue && e.Key == h.key && byEvent(e.Cause)
			})
			if !found {
				out = append(out, fmt.Sprintf("%s %q", h.queue, h.key))
			}
		}
		return out
	}
	soon(t, func() bool {
		for _, h := range want {
			_ = tp.RetryNow(name, h.queue, h.key) // where upstream delays it; the cause is the user then
		}
		return len(missing()) == 0
	}, func() string {
		var got []string
		for _, e := range eventsOf[state.KeyTaken](j)[before:] {
			got = append(got, fmt.Sprintf("%s %q ← %s", e.Queue, e.Key, e.Cause))
		}
		return fmt.Sprintf("missing %s; taken:\n%s", strings.Join(missing(), ", "), strings.Join(got, "\n"))
	})
}
