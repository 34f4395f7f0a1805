// Package scheduler runs the real kube-scheduler (k8s.io/kubernetes/pkg/scheduler) in
// this process, with upstream's default profile: it does what
// cmd/kube-scheduler/app.Setup and Run do, without flags, leader election and a server.
// It runs in a sandbox, for the simulated cluster, or on a cluster instead of its
// kube-scheduler: leader election is the caller's responsibility.
//
// Like upstream, it has its own informer factory: its pod informer excludes terminated
// pods, which the controllers' must include.
//
// # Being idle
//
// A pod is busy while it is in the active queue, in the backoff queue, in flight or
// being bound, and while it is known to wait for this scheduler but is in no queue yet.
// A pod that was tried and fits no node, or has a scheduling gate, is not: it stays so
// until something else changes, and Unschedulable reports why. Neither is a pod whose
// binding has taken more than five seconds.
package scheduler

import (
	"cmp"
	"context"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/tools/events"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/profile"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/agent"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/seen"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Name is the scheduler's name in user agents and journals.
const Name = "kube-scheduler"

// Options are what to schedule.
type Options struct {
	// Config is for the API server. A copy with its own user agent is used.
	Config *rest.Config
	// Limited applies the rate limits of Config, for the scheduler and separately for
	// its events, as upstream; otherwise there are none.
	Limited bool
	// Unassigned, if set, lists the pods without a node that another observer knows.
	// Busy includes those that have not reached the scheduler yet, so that its
	// informer's lag does not look idle.
	Unassigned func() []*corev1.Pod
	// StartWithin is how long the first lists may take; DefaultStartWithin if zero.
	StartWithin time.Duration
	// OnChange, if set, is called when a pod may have become busy or idle: a hint to
	// call Busy again soon. It must not block.
	OnChange func()
}

// Scheduler is a kube-scheduler. It is created by New and used for one run. Its methods
// are safe for concurrent use.
type Scheduler struct {
	options Options
	client  kubernetes.Interface
	events  kubernetes.Interface // for events alone, which have a budget of their own

	nodes, claims, volumes seen.Mark

	wg sync.WaitGroup

	now       func() time.Time
	bindingMu sync.Mutex
	binding   map[types.UID]time.Time // since when a pod was found being bound
	boundDry  map[cache.ObjectName]bool

	mu        sync.RWMutex
	upstream  *scheduler.Scheduler // nil until Start
	index     cache.Indexer
	lister    corelisters.PodLister
	nodeStore cache.Store
}

// New prepares a scheduler. It sends no requests.
func New(options Options) (*Scheduler, error) {
	clientset := agent.Client
	if options.Limited {
		clientset = agent.Limited
	}
	client, err := clientset(options.Config, Name)
	if err != nil {
		return nil, err
	}
	forEvents, err := clientset(options.Config, Name)
	if err != nil {
		return nil, err
	}
	return build(options, client, forEvents), nil
}

func build(options Options, client, forEvents kubernetes.Interface) *Scheduler {
	if options.OnChange == nil {
		options.OnChange = func() {}
	}
	return &Scheduler{options: options, client: client, events: forEvents, now: time.Now}
}

// DefaultStartWithin is how long the first lists may take. Upstream waits indefinitely,
// even for types that the server does not serve; here the lease would be held without
// scheduling.
const DefaultStartWithin = time.Minute

// NotSyncedError lists the informers that did not deliver their first list in time.
type NotSyncedError struct {
	// Informers are their types, such as "pods".
	Informers []string
	Within    time.Duration
}

func (e *NotSyncedError) Error() string {
	return fmt.Sprintf("informers have not synced within %s: %s", e.Within, strings.Join(e.Informers, ", "))
}

// unsynced names the types of the informers that have not synced.
func unsynced(synced map[reflect.Type]bool) []string {
	var names []string
	for t, done := range synced {
		if done {
			continue
		}
		name := t.String()
		if object, ok := reflect.New(t.Elem()).Interface().(runtime.Object); ok {
			if kinds, _, err := scheme.Scheme.ObjectKinds(object); err == nil {
				resource, _ := meta.UnsafeGuessKindToResource(kinds[0])
				name = resource.GroupResource().String()
			}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// Start runs the scheduler until ctx is done. It returns when the scheduler's caches
// are filled and it schedules. On an error nothing is left running.
// klog.FromContext(ctx) is the logger.
func (s *Scheduler) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	if err := s.start(ctx); err != nil {
		cancel()
		s.wg.Wait()
		return fmt.Errorf("start kube-scheduler: %w", err)
	}
	context.AfterFunc(ctx, cancel) // ctx ends with its parent; this lets go of it
	return nil
}

func (s *Scheduler) start(ctx context.Context) error {
	within := cmp.Or(s.options.StartWithin, DefaultStartWithin)
	filling, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	// A reflector whose first list fails because the server is starting retries only
	// after 0.8 s. So first check that lists succeed.
	err := agent.Eventually(filling, func() error {
		_, err := s.client.CoreV1().Nodes().List(filling, metav1.ListOptions{Limit: 1})
		return err
	})
	if err != nil {
		if filling.Err() != nil && ctx.Err() == nil {
			return &NotSyncedError{[]string{"nodes"}, within}
		}
		return fmt.Errorf("list nodes: %w", err)
	}
	factory := scheduler.NewInformerFactory(s.client, 0, nil)
	pods := factory.Core().V1().Pods()
	if err := pods.Informer().AddIndexers(cache.Indexers{unassignedIndex: indexUnassigned}); err != nil {
		return err
	}
	broadcaster := events.NewBroadcaster(&events.EventSinkImpl{Interface: s.events.EventsV1()})
	sched, err := scheduler.New(ctx, s.client, factory, nil, profile.NewRecorderFactory(broadcaster))
	if err != nil {
		broadcaster.Shutdown()
		return err
	}
	if err := s.follow(factory); err != nil {
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
	if result := factory.WaitForCacheSyncWithContext(filling); result.Err != nil {
		if ctx.Err() == nil {
			return &NotSyncedError{unsynced(result.Synced), within}
		}
		return fmt.Errorf("fill caches: %w", context.Cause(ctx))
	}
	if err := handlersSynced(filling, sched); err != nil {
		return err
	}
	s.mu.Lock()
	s.upstream, s.index, s.lister = sched, pods.Informer().GetIndexer(), pods.Lister()
	s.nodeStore = factory.Core().V1().Nodes().Informer().GetStore()
	s.mu.Unlock()
	s.wg.Go(func() { sched.Run(ctx) })
	return nil
}

// follow adds handlers to the scheduler's informers that track their progress.
func (s *Scheduler) follow(factory informers.SharedInformerFactory) error {
	core := factory.Core().V1()
	nothing := cache.ResourceEventHandlerFuncs{}
	for informer, mark := range map[cache.SharedIndexInformer]*seen.Mark{
		core.Nodes().Informer():                  &s.nodes,
		core.PersistentVolumeClaims().Informer(): &s.claims,
		core.PersistentVolumes().Informer():      &s.volumes,
		core.Pods().Informer():                   {}, // without terminal pods: tells nothing
	} {
		if _, err := informer.AddEventHandler(mark.Handler(nothing, s.options.OnChange)); err != nil {
			return err
		}
	}
	return nil
}

// WaitForNodes returns when the scheduler's informer has reached that resourceVersion
// of the nodes, or an error when ctx is done before.
func (s *Scheduler) WaitForNodes(ctx context.Context, resourceVersion string) error {
	return s.nodes.Wait(ctx, resourceVersion)
}

// Seen reports whether an event of the object's type at or after resourceVersion has
// been received. It is true for types other than nodes, claims and volumes; for pods,
// which matter most, Busy compares with Options.Unassigned instead. The scheduler's own
// handlers are notified at the same time, not before.
func (s *Scheduler) Seen(object state.Ref, resourceVersion string) bool {
	switch object.Type() {
	case "nodes":
		return s.nodes.Reached(resourceVersion)
	case "persistentvolumeclaims":
		return s.claims.Reached(resourceVersion)
	case "persistentvolumes":
		return s.volumes.Reached(resourceVersion)
	}
	return true
}

// handlersSynced waits until the scheduler's handlers have processed the first lists.
// Upstream's wait checks at once and then every 100 ms, although they need a few: it is
// shortened to check again earlier.
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

// Wait returns when the scheduler has ended, after the end of the context given to
// Start. Bindings in flight may still be failing then: upstream does not wait for them.
func (s *Scheduler) Wait() { s.wg.Wait() }
