package diagnosis

import (
	"cmp"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// check looks for one cause, or for a few that the same fields distinguish.
type check struct {
	// causes are the Cause values that find may return.
	causes []string
	find   func(*Facts) []*draft
}

// checks are ordered by distance from the root cause, nearest first.
func checks() []check {
	return []check{
		// The object is not deleted.
		{[]string{"APIServiceUnavailable"}, namespaceDiscovery},
		{[]string{"APIServiceUnavailable"}, apiServiceItself},
		{[]string{"FinalizerInNamespace", "ContentRemaining"}, namespaceContent},
		{[]string{"InstancesHeld", "NamesNotAccepted"}, crdItself},
		{[]string{"FinalizerUnserved", "FinalizerWaiting"}, finalizers},
		{[]string{"WaitsForDependents"}, dependents},
		{[]string{"Preempted", "Evicted", "TaintEviction", "NodeGone"}, disrupted},
		{[]string{"NodeGone", "NodeNotReady", "GracePeriod"}, podEnding},
		{[]string{"NoDisruptionAllowed"}, drainBlocked},
		{[]string{"NodeNotReady", "Cordoned", "NodePressure"}, nodeItself},
		// The object is about to be deleted.
		{[]string{"OwnerAbsent", "OwnerUnresolvable", "OwnerInvalid"}, ownerReferences},
		// The state is configured by a user.
		{[]string{"Paused"}, paused},
		{[]string{"ScaledToZero"}, scaledToZero},
		{[]string{"Suspended"}, suspended},
		// What the object depends on does not exist or is not allowed.
		{[]string{"SelectorMismatch", "NoPods", "NoReadyPod", "PortMismatch"}, serviceSelector},
		{[]string{"BackendMissing"}, ingresses},
		{[]string{"MissingServiceAccount"}, missingServiceAccount},
		{[]string{"QuotaExceeded", "LimitRange", "PodSecurity", "WebhookDenied", "WebhookFailed", "PolicyDenied", "MissingPriorityClass", "Rejected"}, rejected},
		{[]string{"RollbackBlocked"}, rollbackBlocked},
		{[]string{"MissingConfigMap", "MissingSecret", "MissingClaim"}, missingSources},
		{[]string{"MissingKey"}, missingKeys},
		{[]string{"MissingStorageClass", "NoStorageClass", "NoProvisioner", "ProvisioningFailed", "WaitsForConsumer", "ClaimPending", "VolumeLost", "VolumeTaken"}, claims},
		{[]string{"VolumeReleased", "VolumeFailed"}, volumeItself},
		// Its pods.
		{[]string{"SchedulingGated"}, schedulingGated},
		{[]string{"InsufficientResources", "NodeSelector", "Taints", "PodAffinity", "PodAntiAffinity", "TopologySpread", "HostPortInUse", "VolumeNodeAffinity", "VolumeLimit", "VolumeInUse", "TooManyPods", "Unschedulable"}, unschedulable},
		{[]string{"NoScheduler"}, noScheduler},
		{[]string{"NodeNotReady"}, podOnLostNode},
		{[]string{"MissingPullSecret"}, pullSecrets},
		{[]string{"ImagePull"}, imagePull},
		{[]string{"MultiAttach"}, multiAttach},
		{[]string{"VolumeMount"}, volumeMount},
		{[]string{"PodSandbox"}, sandboxes},
		{[]string{"OOMKilled"}, outOfMemory},
		{[]string{"LivenessProbe", "StartupProbe"}, probes},
		{[]string{"StartError"}, startErrors},
		{[]string{"CrashLoop", "RunAsNonRoot", "ContainerFailed"}, crashing},
		{[]string{"ContainerFailed", "Evicted", "DeadlineExceeded", "RejectedByNode"}, failedPods},
		{[]string{"InitContainerRunning"}, initRunning},
		{[]string{"SidecarRunning"}, sidecars},
		{[]string{"ReadinessProbe", "ReadinessGate"}, notServing},
		{[]string{"NotReady"}, notReady},
		// Its controller waits, by its own rules.
		{[]string{"NoNodeFits"}, noNodeFits},
		{[]string{"WaitsForOrdinal"}, waitsForOrdinal},
		{[]string{"Partition", "OnDelete"}, heldBackUpdates},
		{[]string{"BadSchedule", "ConcurrencyForbidden", "MissedDeadline", "TooManyMissed", "NotDueYet"}, cronJobs},
		{[]string{"BackoffLimit", "DeadlineExceeded", "PodFailurePolicy", "FailedIndexes", "JobFailed"}, failedJobs},
		{[]string{"PodsFail"}, failingJobs},
		{[]string{"LastRunFailed"}, lastRuns},
		{[]string{"TargetMissing", "TargetAtZero", "NoMetrics", "MissingRequest", "AmbiguousSelector", "AtMaxReplicas", "CannotScale"}, autoscalers},
		{[]string{"NoDisruptionAllowed", "BudgetMatchesNothing"}, budgets},
		{[]string{"LoadBalancerPending"}, loadBalancers},
		{[]string{"ControllerNotActing", "Expectations"}, notActing},
		{[]string{"ProgressDeadline", "RolloutWaits", "MinReadySeconds"}, rollouts},
	}
}

// Causes are all Cause values that the checks may report.
func Causes() []string {
	var words []string
	for _, c := range checks() {
		for _, w := range c.causes {
			if !slices.Contains(words, w) {
				words = append(words, w)
			}
		}
	}
	return words
}

// Findings runs all checks. The most probable root cause comes first.
func Findings(f *Facts) []document.Finding {
	found := []document.Finding{}
	for _, c := range checks() {
		for _, d := range c.find(f) {
			found = append(found, d.Finding)
		}
	}
	slices.SortStableFunc(found, func(a, b document.Finding) int {
		return cmp.Or(cmp.Compare(roleRank(a.Role), roleRank(b.Role)), cmp.Compare(certaintyRank(a.Certainty), certaintyRank(b.Certainty)))
	})
	return found
}

func roleRank(r document.Role) int {
	return slices.Index([]document.Role{document.RoleCause, document.RoleSymptom, document.RoleRemark}, r)
}

func certaintyRank(c document.Certainty) int {
	return slices.Index([]document.Certainty{document.Certain, document.Likely}, c)
}
