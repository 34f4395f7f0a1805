package plan

// phases is the order of creation; deletion goes the other way round. An object
// is applied after all objects of earlier phases; within a phase the order does
// not matter. It is Helm's and kubectl's order in the large, with quotas before
// everything they count.
var phases = [][]string{
	{"CustomResourceDefinition.apiextensions.k8s.io"},
	{ // in force before what they judge
		"ValidatingAdmissionPolicy.admissionregistration.k8s.io", "ValidatingAdmissionPolicyBinding.admissionregistration.k8s.io",
		"MutatingAdmissionPolicy.admissionregistration.k8s.io", "MutatingAdmissionPolicyBinding.admissionregistration.k8s.io",
	},
	{"Namespace"},
	nil, // clusterScoped: whatever else has no namespace
	{"ResourceQuota", "LimitRange", "NetworkPolicy.networking.k8s.io"},
	{"ServiceAccount"}, // before the Secrets with its tokens: without it they are deleted
	{"Secret", "ConfigMap", "PersistentVolumeClaim", "Role.rbac.authorization.k8s.io"},
	{"RoleBinding.rbac.authorization.k8s.io", "Service", "PodDisruptionBudget.policy"},
	nil,     // others: custom resources, Ingresses
	{"Pod"}, // before the pods of controllers may use up a quota
	{"DaemonSet.apps", "ReplicationController", "ReplicaSet.apps", "Deployment.apps", "StatefulSet.apps", "Job.batch"},
	{"CronJob.batch", "HorizontalPodAutoscaler.autoscaling"},
	{"MutatingWebhookConfiguration.admissionregistration.k8s.io", "ValidatingWebhookConfiguration.admissionregistration.k8s.io",
		"APIService.apiregistration.k8s.io"},
}

// Indexes into phases.
const (
	phaseDefinitions   = 0
	phasePolicies      = 1
	phaseNamespaces    = 2
	phaseClusterScoped = 3
	phaseQuotas        = 4
	phaseOthers        = 8
	phasePods          = 9
	phaseWorkloads     = 10
)

var phaseOfType = func() map[string]int {
	m := map[string]int{}
	for phase, types := range phases {
		for _, t := range types {
			m[t] = phase
		}
	}
	return m
}()

// typeName is "Deployment.apps", or "Pod".
func typeName(group, kind string) string {
	if group == "" {
		return kind
	}
	return kind + "." + group
}

func phaseOf(group, kind string, namespaced bool) int {
	if phase, ok := phaseOfType[typeName(group, kind)]; ok {
		return phase
	}
	if namespaced {
		return phaseOthers
	}
	return phaseClusterScoped
}

// makesPods are the types whose controllers create pods, with the path to the
// pod template.
var makesPods = map[string][]string{
	"DaemonSet.apps":        {"spec", "template"},
	"ReplicationController": {"spec", "template"},
	"ReplicaSet.apps":       {"spec", "template"},
	"Deployment.apps":       {"spec", "template"},
	"StatefulSet.apps":      {"spec", "template"},
	"Job.batch":             {"spec", "template"},
	"CronJob.batch":         {"spec", "jobTemplate", "spec", "template"},
}
