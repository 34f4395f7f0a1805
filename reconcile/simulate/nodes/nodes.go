package nodes

import (
	"context"
	"fmt"
	"sync"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	corelisters "k8s.io/client-go/listers/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/utils/clock"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/agent"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/seen"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Name is the name of the nodes in user agents, notes and managed fields.
const Name = "simulated-nodes"

// podWorkers bounds the stages applied concurrently. A stage is one request.
const (
	podWorkers  = 16
	nodeWorkers = 4
)

// Options are which nodes to simulate.
type Options struct {
	// Config is for the API server. A copy with its own user agent is used.
	Config *rest.Config
	// Count is how many nodes to create, "node-1" and so on. An existing node with that
	// name is not changed. Zero creates none; nodes created by others are kept ready,
	// too.
	Count int
	// Capacity is the size of the created nodes; missing resources are as in
	// DefaultCapacity.
	Capacity corev1.ResourceList
	// Pods is what happens to pods; empty means PodsReady.
	Pods PodBehaviour
	// Leave, if set, returns nodes that are not simulated: their status, their lease
	// and the pods bound to them are not changed.
	Leave func(*corev1.Node) bool
	// Recorder, if set, receives a note when a stage cannot be applied.
	Recorder state.Recorder
	// OnChange, if set, is called when an object becomes busy or idle. It must
	// not block.
	OnChange func()
	// Clock is for delays and leases; nil is the real one. Times inside objects
	// are always real: kwok's templates read the wall clock.
	Clock clock.WithTicker
}

// Nodes simulates nodes. It is created by New and used for one run. Its methods are
// safe for concurrent use.
type Nodes struct {
	options   Options
	client    kubernetes.Interface
	leases    *leases
	addresses *addresses

	nodes *player[*corev1.Node]
	pods  *player[*corev1.Pod]

	informers  informers.SharedInformerFactory
	nodeLister corelisters.NodeLister
	podLister  corelisters.PodLister
	podIndex   cache.Indexer
	nodeMark   seen.Mark
	podMark    seen.Mark

	created string // written by Start

	wg sync.WaitGroup
}

// New prepares a simulation. It sends no requests.
func New(options Options) (*Nodes, error) {
	client, err := agent.Client(options.Config, Name)
	if err != nil {
		return nil, err
	}
	return build(options, client)
}

func build(options Options, client kubernetes.Interface) (*Nodes, error) {
	if options.Count < 0 {
		return nil, fmt.Errorf("simulated nodes: count %d is negative", options.Count)
	}
	if options.Clock == nil {
		options.Clock = clock.RealClock{}
	}
	if options.OnChange == nil {
		options.OnChange = func() {}
	}
	if options.Leave == nil {
		options.Leave = func(*corev1.Node) bool { return false }
	}
	n := &Nodes{
		options:   options,
		client:    client,
		leases:    newLeases(client, options.Clock),
		addresses: newAddresses(),
	}
	n.informers = informers.NewSharedInformerFactoryWithOptions(client, 0,
		informers.WithTransform(dropManagedFields))
	pods := n.informers.Core().V1().Pods()
	n.nodeLister, n.podLister = n.informers.Core().V1().Nodes().Lister(), pods.Lister()
	n.podIndex = pods.Informer().GetIndexer()
	if err := pods.Informer().AddIndexers(cache.Indexers{nodeIndex: indexByNode}); err != nil {
		return nil, err
	}
	var err error
	if n.nodes, err = n.nodePlayer(); err != nil {
		return nil, err
	}
	if n.pods, err = n.podPlayer(); err != nil {
		return nil, err
	}
	return n, nil
}

// Start creates the nodes and runs the simulation until ctx is done. It returns when
// the nodes exist and the first list of nodes and pods has been processed, so that Busy
// is meaningful; a few milliseconds later the nodes are ready. On an error nothing is
// left running. klog.FromContext(ctx) is the logger.
//
// It may be called as soon as the server listens: requests that are rejected because
// the server is still starting are retried.
func (n *Nodes) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	if err := n.start(ctx); err != nil {
		cancel()
		n.wg.Wait()
		return fmt.Errorf("start simulated nodes: %w", err)
	}
	context.AfterFunc(ctx, cancel) // ctx ends with its parent; this lets go of it
	return nil
}

func (n *Nodes) start(ctx context.Context) error {
	pods := n.informers.Core().V1().Pods().Informer()
	podsHandled, err := pods.AddEventHandler(n.podMark.Handler(n.podHandler(), n.options.OnChange))
	if err != nil {
		return err
	}
	nodes := n.informers.Core().V1().Nodes().Informer()
	nodesHandled, err := nodes.AddEventHandler(n.nodeMark.Handler(n.nodeHandler(ctx), n.options.OnChange))
	if err != nil {
		return err
	}
	// Before the informers: a reflector whose first list fails because the server is
	// starting retries only after 0.8 s.
	if n.created, err = n.create(ctx); err != nil {
		return err
	}
	n.informers.StartWithContext(ctx)
	n.wg.Go(func() {
		<-ctx.Done()
		n.informers.Shutdown()
		n.leases.wait()
	})
	n.wg.Go(func() { n.nodes.run(ctx, nodeWorkers) })
	n.wg.Go(func() { n.pods.run(ctx, podWorkers) })
	if !cache.WaitFor(ctx, "", nodesHandled.HasSyncedChecker(), podsHandled.HasSyncedChecker()) {
		return fmt.Errorf("list nodes and pods: %w", context.Cause(ctx))
	}
	// A list may come from a cache of the server that does not have the nodes yet; Busy
	// shows that they are not ready only once they have arrived.
	return n.nodeMark.Wait(ctx, n.created)
}

// Created is the latest resourceVersion of the nodes that Start has created, empty
// if there were none to create. It is known when Start has returned.
func (n *Nodes) Created() string { return n.created }

// Wait returns when the simulation has ended, after the end of the context given to
// Start. None of its goroutines runs then.
func (n *Nodes) Wait() { n.wg.Wait() }

// Busy lists why the nodes are not idle, each reason a short sentence about one node or
// pod; nil means idle. Its cost is proportional to the work in progress, not to the
// size of the cluster.
func (n *Nodes) Busy() []string {
	const limit = 20
	return append(n.nodes.reasons(limit), n.pods.reasons(limit)...)
}

// Seen reports whether an event of the object's type at or after resourceVersion has
// been received and is reflected in Busy. It is true for types other than nodes and
// pods.
func (n *Nodes) Seen(object state.Ref, resourceVersion string) bool {
	switch object.Type() {
	case "pods":
		return n.podMark.Reached(resourceVersion)
	case "nodes":
		return n.nodeMark.Reached(resourceVersion)
	}
	return true
}

// SeenDeleted reports whether the object's deletion, or the update that started it, has
// been received. It is true for types other than nodes and pods.
func (n *Nodes) SeenDeleted(object state.Ref) bool {
	switch object.Type() {
	case "pods":
		pod, err := n.podLister.Pods(object.Namespace).Get(object.Name)
		return err != nil || pod.DeletionTimestamp != nil || !object.Same(podRef(pod))
	case "nodes":
		node, err := n.nodeLister.Get(object.Name)
		return err != nil || node.DeletionTimestamp != nil
	}
	return true
}

// Unassigned lists the pods that wait for a scheduler. The objects are shared with the
// informer's store.
func (n *Nodes) Unassigned() []*corev1.Pod {
	objs, err := n.podIndex.ByIndex(nodeIndex, unassigned)
	if err != nil {
		return nil
	}
	pods := make([]*corev1.Pod, 0, len(objs))
	for _, obj := range objs {
		pods = append(pods, obj.(*corev1.Pod))
	}
	return pods
}

func (n *Nodes) warn(text string) {
	if n.options.Recorder != nil {
		n.options.Recorder.Record(state.Note{Source: Name, Text: text, Warning: true})
	}
}

func podRef(pod *corev1.Pod) state.Ref {
	return state.Ref{Version: "v1", Resource: "pods", Namespace: pod.Namespace, Name: pod.Name, UID: string(pod.UID)}
}
