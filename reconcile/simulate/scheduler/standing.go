package scheduler

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"k8s.io/kubernetes/pkg/scheduler"
)

// stalledAfter is how long a binding counts as work. A longer one waits for something
// else: for volumes that are not provisioned, upstream waits ten minutes before it
// gives up (VolumeBindingArgs.BindTimeoutSeconds).
const stalledAfter = 5 * time.Second

// Unschedulable is a pod that currently cannot be scheduled.
type Unschedulable struct {
	Namespace, Name string
	// Reason is that of the pod's PodScheduled condition: "Unschedulable",
	// "SchedulingGated", "SchedulerError"; or one of those below.
	Reason string
	// Message is the condition's: "0/3 nodes are available: …".
	Message string
}

// Reasons of Unschedulable that are not upstream's.
const (
	// ReasonOtherScheduler: the pod's schedulerName is not simulated.
	ReasonOtherScheduler = "OtherScheduler"
	// ReasonStalled: a node was chosen, but the binding does not finish.
	ReasonStalled = "Stalled"
	// ReasonDry: it was bound in a dry run; see BoundDry.
	ReasonDry = "BoundDry"
)

// Busy says which pods the scheduler is working on or about to; nil means idle.
// Before Start has returned it is busy starting.
func (s *Scheduler) Busy() []string {
	waiting, ok := s.survey()
	if !ok {
		return []string{"the scheduler is starting"}
	}
	var reasons []string
	for _, w := range waiting {
		if w.work != "" {
			reasons = append(reasons, "pod "+w.pod.Namespace+"/"+w.pod.Name+": "+w.work)
		}
	}
	slices.Sort(reasons)
	const limit = 20
	if more := len(reasons) - limit; more > 0 {
		reasons = append(reasons[:limit], fmt.Sprintf("%d more pods", more))
	}
	return reasons
}

// Unschedulable lists the pods that stay without a node as things are, sorted by
// name. Pods that are being tried again are not among them.
func (s *Scheduler) Unschedulable() []Unschedulable {
	waiting, _ := s.survey()
	var list []Unschedulable
	for _, w := range waiting {
		if w.work != "" {
			continue
		}
		u := Unschedulable{Namespace: w.pod.Namespace, Name: w.pod.Name, Reason: w.reason, Message: w.message}
		if u.Reason == "" {
			u.Reason, u.Message = s.verdict(w.pod)
		}
		list = append(list, u)
	}
	slices.SortFunc(list, func(a, b Unschedulable) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

// standing is where a pod without a node stands. Either there is work to do on
// it, or it is stuck; then reason and message may say more than its condition.
type standing struct {
	pod             *corev1.Pod
	work            string
	reason, message string
}

// survey finds out where every pod without a node stands, each once. It is false
// before the scheduler has started.
func (s *Scheduler) survey() ([]standing, bool) {
	s.mu.RLock()
	sched := s.upstream
	s.mu.RUnlock()
	if sched == nil {
		return nil, false
	}
	var list []standing
	known := map[types.UID]bool{}
	note := func(w standing) {
		if !known[w.pod.UID] {
			known[w.pod.UID] = true
			list = append(list, w)
		}
	}
	// A pod that moves on while this looks around may be missed in all queues; it
	// is then found unassigned.
	queue, stuck := sched.SchedulingQueue, s.noNodes()
	for _, part := range []struct {
		pods []*corev1.Pod
		work string
	}{
		{queue.InFlightPods(), "is being scheduled"},
		{queue.PodsInActiveQ(), "waiting to be scheduled"},
		{queue.PodsInBackoffQ(), "waiting to be retried"},
		{queue.UnschedulablePods(), ""},
		{queue.PendingPodGroupPods(), ""},
		{queue.IncompletePodGroupPodsPods(), ""},
	} {
		for _, pod := range part.pods {
			if stuck {
				part.work = ""
			}
			note(standing{pod: pod, work: part.work})
		}
	}
	binding := map[types.UID]time.Time{}
	for _, pod := range s.unassigned() {
		if !known[pod.UID] {
			note(s.outsideQueues(sched, pod, binding))
		}
	}
	s.bindingMu.Lock()
	s.binding = binding
	s.bindingMu.Unlock()
	if s.options.Unassigned != nil {
		for _, pod := range s.options.Unassigned() {
			if known[pod.UID] || !responsible(sched, pod) {
				continue
			}
			here, err := s.lister.Pods(pod.Namespace).Get(pod.Name)
			switch {
			case err != nil || here.UID != pod.UID:
				note(standing{pod: pod, work: "not yet seen by the scheduler"})
			case here.Spec.NodeName != "":
				note(standing{pod: pod, work: "bound, not yet seen by its node"})
			}
		}
	}
	return list, true
}

// outsideQueues judges a pod that has no node and is in no queue. If it is being
// bound, binding gets the time since when: upstream takes a pod out of flight
// before it waits for volumes (schedule_one.go@v1.37.1, bindingCycle).
func (s *Scheduler) outsideQueues(sched *scheduler.Scheduler, pod *corev1.Pod, binding map[types.UID]time.Time) standing {
	if !responsible(sched, pod) {
		return standing{pod: pod, reason: ReasonOtherScheduler,
			message: fmt.Sprintf("scheduler %q is not simulated", pod.Spec.SchedulerName)}
	}
	if assumed, err := sched.Cache.IsAssumedPod(pod); err != nil || !assumed {
		return standing{pod: pod, work: "not yet in the scheduling queue"}
	}
	s.bindingMu.Lock()
	since, ok := s.binding[pod.UID]
	dry := s.boundDry[cache.MetaObjectToName(pod)]
	s.bindingMu.Unlock()
	if dry {
		return standing{pod: pod, reason: ReasonDry, message: "bound in a dry run"}
	}
	now := s.now()
	if !ok {
		since = now
	}
	binding[pod.UID] = since
	if now.Sub(since) > stalledAfter {
		return standing{pod: pod, reason: ReasonStalled,
			message: "node chosen, waiting to be bound, probably for volumes"}
	}
	return standing{pod: pod, work: "is being bound"}
}

// BoundDry says that the binding of a pod was answered in a dry run: the pod will
// never be seen with its node, and is not work any more.
func (s *Scheduler) BoundDry(namespace, name string) {
	s.bindingMu.Lock()
	if s.boundDry == nil || len(s.boundDry) >= maxBoundDry {
		s.boundDry = map[cache.ObjectName]bool{}
	}
	s.boundDry[cache.ObjectName{Namespace: namespace, Name: name}] = true
	s.bindingMu.Unlock()
	s.options.OnChange()
}

// maxBoundDry bounds what BoundDry remembers. Beyond it pods that it has forgotten
// count as work until they count as stalled.
const maxBoundDry = 1 << 16

// noNodes reports whether there is no node at all. Upstream takes that for an
// error and tries every pod again for ever, with back-off
// (schedule_one.go@v1.37.1, ErrNoNodesAvailable); nothing comes of it, so it is
// not counted as work.
func (s *Scheduler) noNodes() bool { return len(s.nodeStore.ListKeys()) == 0 }

// verdict is what the scheduler wrote in the pod's PodScheduled condition. The
// queues keep a pod as it was before that.
func (s *Scheduler) verdict(pod *corev1.Pod) (reason, message string) {
	if latest, err := s.lister.Pods(pod.Namespace).Get(pod.Name); err == nil {
		pod = latest
	}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			return condition.Reason, condition.Message
		}
	}
	return corev1.PodReasonUnschedulable, ""
}

// responsible reports whether the pod asks for one of the scheduler's profiles.
func responsible(sched *scheduler.Scheduler, pod *corev1.Pod) bool {
	_, ok := sched.Profiles[pod.Spec.SchedulerName]
	return ok
}

func (s *Scheduler) unassigned() []*corev1.Pod {
	objs, err := s.index.ByIndex(unassignedIndex, unassignedIndex)
	if err != nil {
		return nil
	}
	pods := make([]*corev1.Pod, 0, len(objs))
	for _, obj := range objs {
		pods = append(pods, obj.(*corev1.Pod))
	}
	return pods
}

// unassignedIndex is an index with one group of its own name: the pods that wait
// for a scheduler.
const unassignedIndex = "unassigned"

func indexUnassigned(obj any) ([]string, error) {
	if pod, ok := obj.(*corev1.Pod); ok && pod.Spec.NodeName == "" && pod.DeletionTimestamp == nil {
		return []string{unassignedIndex}, nil
	}
	return nil, nil
}
