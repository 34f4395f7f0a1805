package controllers

import (
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

// accounts are the names of the controllers' service accounts in kube-system and,
// after "system:controller:", of their roles: what kube-controller-manager asks
// its client builder for (k8s.io/kubernetes v1.37.1
// cmd/kube-controller-manager/app, NewClient). They are older than the names of
// the controllers.
func accounts() map[string]string {
	return map[string]string{
		names.BootstrapSignerController:                          "bootstrap-signer",
		names.CertificateSigningRequestApprovingController:       "certificate-controller",
		names.CertificateSigningRequestCleanerController:         "certificate-controller",
		names.CertificateSigningRequestSigningController:         "certificate-controller",
		names.ClusterRoleAggregationController:                   "clusterrole-aggregation-controller",
		names.CronJobController:                                  "cronjob-controller",
		names.DaemonSetController:                                "daemon-set-controller",
		names.DeploymentController:                               "deployment-controller",
		names.DeviceTaintEvictionController:                      "device-taint-eviction-controller",
		names.DisruptionController:                               "disruption-controller",
		names.EndpointSliceController:                            "endpointslice-controller",
		names.EndpointSliceMirroringController:                   "endpointslicemirroring-controller",
		names.EndpointsController:                                "endpoint-controller",
		names.EphemeralVolumeController:                          "ephemeral-volume-controller",
		names.GarbageCollectorController:                         "generic-garbage-collector",
		names.HorizontalPodAutoscalerController:                  "horizontal-pod-autoscaler",
		names.JobController:                                      "job-controller",
		names.KubeAPIServerClusterTrustBundlePublisherController: "kube-apiserver-serving-clustertrustbundle-publisher",
		names.LegacyServiceAccountTokenCleanerController:         "legacy-service-account-token-cleaner",
		names.NamespaceController:                                "namespace-controller",
		names.NodeIpamController:                                 "node-controller",
		names.NodeLifecycleController:                            "node-controller",
		names.PersistentVolumeAttachDetachController:             "attachdetach-controller",
		names.PersistentVolumeBinderController:                   "persistent-volume-binder",
		names.PersistentVolumeClaimProtectionController:          "pvc-protection-controller",
		names.PersistentVolumeExpanderController:                 "expand-controller",
		names.PersistentVolumeProtectionController:               "pv-protection-controller",
		names.PodCertificateRequestCleanerController:             "podcertificaterequestcleaner",
		names.PodGarbageCollectorController:                      "pod-garbage-collector",
		names.PodGroupProtectionController:                       "podgroup-protection-controller",
		names.ReplicaSetController:                               "replicaset-controller",
		names.ReplicationControllerController:                    "replication-controller",
		names.ResourceClaimController:                            "resource-claim-controller",
		names.ResourcePoolStatusRequestController:                "resourcepoolstatusrequest-controller",
		names.ResourceQuotaController:                            "resourcequota-controller",
		names.RootCACertificatePublisherController:               "root-ca-cert-publisher",
		names.SELinuxWarningController:                           "selinux-warning-controller",
		names.ServiceAccountController:                           "service-account-controller",
		names.ServiceCIDRController:                              "service-cidrs-controller",
		names.StatefulSetController:                              "statefulset-controller",
		names.StorageVersionGarbageCollectorController:           "storage-version-garbage-collector",
		names.StorageVersionMigratorController:                   "storage-version-migrator-controller",
		names.TTLAfterFinishedController:                         "ttl-after-finished-controller",
		names.TTLController:                                      "ttl-controller",
		names.TaintEvictionController:                            "node-controller",
		names.TokenCleanerController:                             "token-cleaner",
		names.VolumeAttributesClassProtectionController:          "volumeattributesclass-protection-controller",
		names.ValidatingAdmissionPolicyStatusController:          "validatingadmissionpolicy-status-controller",
		// The token controller has none: upstream starts it first, with
		// kube-controller-manager's own credentials, to make the others' tokens.
		names.ServiceAccountTokenController: "",
	}
}

// rolePrefix and an account's name make the name of its bootstrap role.
const rolePrefix = "system:controller:"

// tokenRules stand for the role that the token controller does not have: what it
// does (k8s.io/kubernetes v1.37.1 pkg/controller/serviceaccount/tokens_controller.go)
// of what system:kube-controller-manager may.
var tokenRules = []rbacv1.PolicyRule{{
	APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "update", "delete"},
}, {
	APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"get", "update"},
}}

// accountUser is the name of a controller's account as a user; empty where it has
// none.
func accountUser(controller string) string {
	account := accounts()[controller]
	if account == "" {
		return ""
	}
	return serviceaccount.MakeUsername(rights.AccountNamespace, account)
}

// Rights describes what the selected controllers need of an API server, by
// upstream's bootstrap roles and the informers, with the feature gates of this
// process as they are. off tells of those that were asked for by --controllers and
// cannot run with this configuration, each with the reason. A namespace confines
// them as Config.Namespace does.
func Rights(component *kubectrlmgrconfig.KubeControllerManagerConfiguration, namespace string) (loops []rights.Loop, off []string, err error) {
	rows := table()
	selected, err := choose(rows, component.Generic.Controllers)
	if err != nil {
		return nil, nil, err
	}
	f := &facts{component: component, hasRootCA: true, selected: func(name string) bool { return selected[name] }}
	roles := map[string][]rbacv1.PolicyRule{}
	for _, role := range bootstrappolicy.ControllerRoles() {
		roles[role.Name] = role.Rules
	}
	for _, r := range rows {
		switch reason := r.off(f); {
		case !selected[r.name]:
		case reason != "":
			off = append(off, fmt.Sprintf("%s (%s)", r.name, reason))
		case namespace != "" && !r.namespaceSafe:
			off = append(off, fmt.Sprintf("%s (%s)", r.name, wholeCluster(namespace)))
		default:
			loops = append(loops, r.rights(roles))
		}
	}
	return loops, off, nil
}

// NotServed tells which of the controllers cannot run because the API server lacks a
// type that they read, each with the reason.
func NotServed(client discovery.DiscoveryInterface, loops []rights.Loop) (off []string, err error) {
	offers, err := discover(memory.NewMemCacheClient(client))
	if err != nil {
		return nil, err
	}
	for _, l := range loops {
		if reason := offers.missing(l.Informers); reason != "" {
			off = append(off, fmt.Sprintf("%s (%s)", l.Name, reason))
		}
	}
	return off, nil
}

func (r *row) rights(roles map[string][]rbacv1.PolicyRule) rights.Loop {
	l := rights.Loop{
		Name: r.name, Account: accounts()[r.name], Informers: r.informers(), ReadsAll: r.readsAll,
		NamespaceRules: map[string][]rbacv1.PolicyRule{},
	}
	if l.Account == "" {
		l.Rules = tokenRules
		return l
	}
	l.Rules = roles[rolePrefix+l.Account]
	for namespace, local := range bootstrappolicy.NamespaceRoles() {
		for _, role := range local {
			if role.Name == rolePrefix+l.Account {
				l.NamespaceRules[namespace] = append(l.NamespaceRules[namespace], role.Rules...)
			}
		}
	}
	return l
}
