package diagnosis

import (
	"cmp"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// check looks for one cause, or a few that are told apart by the same fields.
type check struct {
	// causes are the words of what it may find.
	causes []string
	find   func(*Facts) []*draft
}

// checks are in the order of what is nearer to the root.
func checks() []check {
	return []check{
		// It will not go away.
		{[]string{"APIServiceUnavailable"}, namespaceDiscovery},
		{[]string{"APIServiceUnavailable"}, apiServiceItself},
		{[]string{"FinalizerInNamespace", "ContentRemaining"}, namespaceContent},
		{[]string{"FinalizerUnserved", "FinalizerWaiting"}, finalizers},
		{[]string{"WaitsForDependents"}, dependents},
		{[]string{"NodeGone", "NodeNotReady", "GracePeriod"}, podEnding},
		{[]string{"NodeNotReady", "Cordoned", "NodePressure"}, nodeItself},
		// It will not stay.
		{[]string{"OwnerAbsent", "OwnerUnresolvable", "OwnerInvalid"}, ownerReferences},
		// Somebody wants it so.
		{[]string{"Paused"}, paused},
		{[]string{"ScaledToZero"}, scaledToZero},
		{[]string{"Suspended"}, suspended},
		// What it is made of is not there, or is not allowed.
		{[]string{"SelectorMismatch", "NoReadyPod", "PortMismatch"}, serviceSelector},
		{[]string{"MissingServiceAccount"}, missingServiceAccount},
		{[]string{"QuotaExceeded", "LimitRange", "PodSecurity", "WebhookDenied", "WebhookFailed", "Rejected"}, rejected},
		{[]string{"MissingConfigMap", "MissingSecret", "MissingClaim"}, missingSources},
		{[]string{"MissingStorageClass", "NoStorageClass", "NoProvisioner", "WaitsForConsumer", "ClaimPending", "VolumeLost"}, claims},
		// Its pods.
		{[]string{"SchedulingGated"}, schedulingGated},
		{[]string{"InsufficientResources", "NodeSelector", "Taints", "Unschedulable"}, unschedulable},
		{[]string{"NoScheduler"}, noScheduler},
		{[]string{"ImagePull"}, imagePull},
		{[]string{"VolumeMount"}, volumeMount},
		{[]string{"CrashLoop", "ContainerFailed"}, crashing},
		{[]string{"NodeNotReady"}, podOnLostNode},
		{[]string{"NotReady"}, notReady},
		// Its controller waits, by its own rules.
		{[]string{"NoNodeFits"}, noNodeFits},
		{[]string{"WaitsForOrdinal"}, waitsForOrdinal},
		{[]string{"Partition", "OnDelete"}, heldBackUpdates},
		{[]string{"BadSchedule", "ConcurrencyForbidden", "MissedDeadline", "TooManyMissed", "NotDueYet"}, cronJobs},
		{[]string{"BackoffLimit", "DeadlineExceeded", "JobFailed"}, failedJobs},
		{[]string{"TargetMissing", "TargetAtZero", "NoMetrics", "CannotScale"}, autoscalers},
		{[]string{"NoDisruptionAllowed", "BudgetMatchesNothing"}, budgets},
		{[]string{"ControllerNotActing", "Expectations"}, notActing},
		{[]string{"ProgressDeadline", "RolloutWaits", "MinReadySeconds"}, rollouts},
	}
}

// Causes are the words of everything that is looked for.
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

// Findings are what the checks find, the most probable root first.
func Findings(f *Facts) []state.Finding {
	found := []state.Finding{}
	for _, c := range checks() {
		for _, d := range c.find(f) {
			found = append(found, d.Finding)
		}
	}
	slices.SortStableFunc(found, func(a, b state.Finding) int {
		return cmp.Or(cmp.Compare(roleRank(a.Role), roleRank(b.Role)), cmp.Compare(certaintyRank(a.Certainty), certaintyRank(b.Certainty)))
	})
	return found
}

func roleRank(r state.Role) int {
	return slices.Index([]state.Role{state.RoleCause, state.RoleSymptom, state.RoleRemark}, r)
}

func certaintyRank(c state.Certainty) int {
	return slices.Index([]state.Certainty{state.Certain, state.Likely}, c)
}
