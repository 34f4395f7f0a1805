// Package scheduler runs the real kube-scheduler (k8s.io/kubernetes/pkg/scheduler)
// in this process, with upstream's default profile: what
// cmd/kube-scheduler/app.Setup and Run do, without flags, leader election and a
// server.
//
// It has an informer factory of its own, as upstream: its pod informer leaves out
// pods that are at their end, which the controllers' may not.
//
// # Being idle
//
// A pod is busy while it is in the active queue, in the back-off queue or in
// flight, which includes binding, and while it is known to wait for this
// scheduler but is in no queue yet. A pod that was tried and fits nowhere, or is
// held back by a scheduling gate, is not: it stays so until something else
// changes, and Unschedulable tells why.
package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/agent"
)

// Name is who the scheduler is in user agents and journals.
const Name = "kube-scheduler"

// Options say what to schedule.
type Options struct {
	// Config leads to the API server. A copy with its own user agent is used.
	Config *rest.Config
	// Unassigned, if set, lists the pods without a node that another observer
	// knows of. Busy names those which have not come to the scheduler yet, so
	// that its informer's lag does not look like rest.
	Unassigned func() []*corev1.Pod
	// OnChange, if set, is called when a pod may have become busy or idle: a
	// hint to ask Busy again soon. It must not block.
	OnChange func()
}

// Scheduler is a kube-scheduler. It is made by New and used for one run. Its
// methods are safe for concurrent use.
type Scheduler struct {
	options Options
	client  kubernetes.Interface

	wg sync.WaitGroup

	mu     sync.RWMutex
	queues *scheduler.Scheduler // nil until Start
	index  cache.Indexer
	lister corelisters.PodLister
}

// New prepares a scheduler. It sends nothing.
func New(options Options) (*Scheduler, error) {
	client, err := agent.Client(options.Config, Name)
	if err != nil {
		return nil, err
	}
	return build(options, client), nil
}

func build(options Options, client kubernetes.Interface) *Scheduler {
	if options.OnChange == nil {
		options.OnChange = func() {}
	}
	return &Scheduler{options: options, client: client}
}

// Start runs the scheduler until ctx is done. It returns when the scheduler's
// caches are filled and it schedules. On an error nothing is left running.
// klog.FromContext(ctx) is the logger.
func (s *Scheduler) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	if err := s.start(ctx); err != nil {
		cancel()
		s.wg.Wait()
		return fmt.Errorf("start kube-scheduler: %w", err)
	}
	context.AfterFunc(ctx, cancel)
	return nil
}

func (s *Scheduler) start(ctx context.Context) error {
	factory := scheduler.NewInformerFactory(s.client, 0, nil)
	pods := factory.Core().V1().Pods()
	if err := pods.Informer().AddIndexers(cache.Indexers{unassignedIndex: indexUnassigned}); err != nil {
		return err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: s.client.EventsV1()})
	sched, err := scheduler.New(ctx, s.client, factory, nil, profile.NewRecorderFactory(broadcaster))
	if err != nil {
		broadcaster.Shutdown()
		return err
	}
	changed := func(any) { s.options.OnChange() }
	if _, err := pods.Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: changed, DeleteFunc: changed,
		UpdateFunc: func(_, _ any) { s.options.OnChange() },
	}); err != nil {
		broadcaster.Shutdown()
		return err
	}
	if err := broadcaster.StartRecordingToSinkWithContext(ctx); err != nil {
		broadcaster.Shutdown()
		return err
	}
	factory.StartWithContext(ctx)
	s.wg.Go(func() {
		<-ctx.Done()
		factory.Shutdown()
		broadcaster.Shutdown()
	})
	if err := factory.WaitForCacheSyncWithContext(ctx).AsError(); err != nil {
		return fmt.Errorf("fill caches: %w", err)
	}
	if err := handlersSynced(ctx, sched); err != nil {
		return err
	}
	s.mu.Lock()
	s.queues, s.index, s.lister = sched, pods.Informer().GetIndexer(), pods.Lister()
	s.mu.Unlock()
	s.wg.Go(func() { sched.Run(ctx) })
	return nil
}

// handlersSynced waits until the scheduler's handlers have seen the first lists.
// Upstream's wait looks at once and then every 100 ms, while they need a few: it
// is cut short to look again sooner.
func handlersSynced(ctx context.Context, sched *scheduler.Scheduler) error {
	for {
		look, cancel := context.WithTimeout(ctx, 5*time.Millisecond)
		err := sched.WaitForHandlersSync(look)
		cancel()
		if err == nil {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("fill caches: %w", context.Cause(ctx))
		}
	}
}

// Wait returns when the scheduler has ended, which follows the end of the context
// given to Start. Bindings that were under way may still be failing then: nothing
// in upstream waits for them.
func (s *Scheduler) Wait() { s.wg.Wait() }

// Busy says which pods the scheduler is working on or about to; nil means idle.
// Before Start has returned it is busy starting.
func (s *Scheduler) Busy() []string {
	s.mu.RLock()
	sched := s.queues
	s.mu.RUnlock()
	if sched == nil {
		return []string{"the scheduler is starting"}
	}
	var reasons []string
	known := map[types.UID]bool{}
	note := func(pods []*corev1.Pod, what string) {
		for _, pod := range pods {
			if !known[pod.UID] {
				known[pod.UID] = true
				if what != "" {
					reasons = append(reasons, "pod "+pod.Namespace+"/"+pod.Name+": "+what)
				}
			}
		}
	}
	// A pod that moves on while this looks around may be missed everywhere; it is
	// then found unassigned and in no queue.
	queue := sched.SchedulingQueue
	note(queue.InFlightPods(), "is being scheduled")
	note(queue.PodsInActiveQ(), "waits to be scheduled")
	note(queue.PodsInBackoffQ(), "waits to be scheduled again")
	note(queue.UnschedulablePods(), "")
	note(queue.PendingPodGroupPods(), "")
	note(queue.IncompletePodGroupPodsPods(), "")
	var mine []*corev1.Pod
	for _, pod := range s.unassigned() {
		if s.responsible(pod) {
			mine = append(mine, pod)
		}
	}
	note(mine, "has not come to the scheduling queue")
	if s.options.Unassigned != nil {
		for _, pod := range s.options.Unassigned() {
			if known[pod.UID] || !s.responsible(pod) {
				continue
			}
			here, err := s.lister.Pods(pod.Namespace).Get(pod.Name)
			switch {
			case err != nil || here.UID != pod.UID:
				note([]*corev1.Pod{pod}, "has not come to the scheduler")
			case here.Spec.NodeName != "":
				note([]*corev1.Pod{pod}, "is bound, its node has not heard of it")
			}
		}
	}
	slices.Sort(reasons)
	return shorten(reasons)
}

// shorten keeps a list of reasons readable.
func shorten(reasons []string) []string {
	const limit = 20
	if more := len(reasons) - limit; more > 0 {
		return append(reasons[:limit], fmt.Sprintf("%d more pods", more))
	}
	return reasons
}

// Unschedulable is a pod that no node was found for.
type Unschedulable struct {
	Namespace, Name string
	// Reason is that of the pod's PodScheduled condition: "Unschedulable",
	// "SchedulingGated", "SchedulerError"; or "OtherScheduler".
	Reason string
	// Message is the condition's: "0/3 nodes are available: …".
	Message string
}

// Unschedulable lists the pods that stay without a node as things are, sorted by
// name. Pods that are being tried again are not among them.
func (s *Scheduler) Unschedulable() []Unschedulable {
	s.mu.RLock()
	sched := s.queues
	s.mu.RUnlock()
	if sched == nil {
		return nil
	}
	var list []Unschedulable
	for _, waiting := range [][]*corev1.Pod{
		sched.SchedulingQueue.UnschedulablePods(),
		sched.SchedulingQueue.PendingPodGroupPods(),
		sched.SchedulingQueue.IncompletePodGroupPodsPods(),
	} {
		for _, pod := range waiting {
			// The queue keeps a pod as it was before the scheduler gave its verdict.
			if latest, err := s.lister.Pods(pod.Namespace).Get(pod.Name); err == nil {
				pod = latest
			}
			list = append(list, verdict(pod))
		}
	}
	for _, pod := range s.unassigned() {
		if !s.responsible(pod) {
			list = append(list, Unschedulable{
				Namespace: pod.Namespace, Name: pod.Name, Reason: "OtherScheduler",
				Message: fmt.Sprintf("its scheduler %q is not simulated", pod.Spec.SchedulerName),
			})
		}
	}
	slices.SortFunc(list, func(a, b Unschedulable) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	return list
}

func verdict(pod *corev1.Pod) Unschedulable {
	u := Unschedulable{Namespace: pod.Namespace, Name: pod.Name, Reason: corev1.PodReasonUnschedulable}
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodScheduled && condition.Status == corev1.ConditionFalse {
			u.Reason, u.Message = condition.Reason, condition.Message
		}
	}
	return u
}

// responsible reports whether the pod asks for one of this scheduler's profiles.
func (s *Scheduler) responsible(pod *corev1.Pod) bool {
	_, ok := s.queues.Profiles[pod.Spec.SchedulerName]
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
