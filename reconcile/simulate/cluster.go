package simulate

import (
	"context"
	"fmt"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/nodes"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/storage"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// DefaultNodes is the default number of nodes.
const DefaultNodes = 3

// Options are what to simulate. Config is required.
type Options struct {
	// Config is for the API server, through the guard if there is one.
	Config *rest.Config
	// Nodes is how many nodes to create; zero means none, and that nothing else
	// simulates kubelets: see nodes.Options.
	Nodes int
	// Capacity is the size of each node; missing resources are as in
	// nodes.DefaultCapacity.
	Capacity corev1.ResourceList
	// Pods is what happens to bound pods; empty means nodes.PodsReady.
	Pods nodes.PodBehaviour
	// Leave, if set, names nodes that are not simulated; see nodes.Options.
	Leave func(*corev1.Node) bool
	// Scheduler and Storage enable the real kube-scheduler and the provisioner.
	Scheduler bool
	Storage   bool
	// Recorder, if set, receives notes: when the parts are ready, and errors.
	Recorder state.Recorder
	// Built, if set, is called when all parts are created and before any of them
	// starts: until then nothing else may read client-go's scheme
	// (storage.Storage.Prepare). It is not called if Start fails before.
	Built func()
}

// Cluster is a running simulation. Its methods are safe for concurrent use.
type Cluster struct {
	nodes     *nodes.Nodes
	scheduler *scheduler.Scheduler // nil if off
	storage   *storage.Storage     // nil if off
	changed   chan struct{}
	cancel    context.CancelFunc
}

// Start starts the parts in parallel and returns when all are ready; from then on Busy
// is exact. They run until ctx is done; Wait waits for their end. On an error none is
// left running. klog.FromContext(ctx) is the logger of all parts.
//
// It may be called as soon as the server listens, before it is ready.
func Start(ctx context.Context, options Options) (*Cluster, error) {
	c := &Cluster{changed: make(chan struct{}, 1)}
	onChange := func() {
		select {
		case c.changed <- struct{}{}:
		default:
		}
	}
	var err error
	c.nodes, err = nodes.New(nodes.Options{
		Config: options.Config, Count: options.Nodes, Capacity: options.Capacity, Pods: options.Pods, Leave: options.Leave,
		Recorder: options.Recorder, OnChange: onChange,
	})
	if err != nil {
		return nil, err
	}
	parts := []part{c.nodes}
	if options.Scheduler {
		c.scheduler, err = scheduler.New(scheduler.Options{
			Config: options.Config, Unassigned: c.nodes.Unassigned, OnChange: onChange,
		})
		if err != nil {
			return nil, err
		}
		parts = append(parts, c.scheduler)
	}
	if options.Storage {
		c.storage, err = storage.New(storage.Options{Config: options.Config, OnChange: onChange})
		if err != nil {
			return nil, err
		}
		parts = append(parts, c.storage)
	}

	ctx, c.cancel = context.WithCancel(ctx)
	if c.storage != nil {
		if err := c.storage.Prepare(ctx); err != nil {
			c.cancel()
			return nil, err
		}
	}
	if options.Built != nil {
		options.Built()
	}
	var starting errgroup.Group
	for _, p := range parts {
		starting.Go(func() error {
			err := p.Start(ctx)
			if err != nil {
				c.cancel() // the others need not go on
			}
			return err
		})
	}
	err = starting.Wait()
	if err == nil && c.scheduler != nil {
		err = c.scheduler.WaitForNodes(ctx, c.nodes.Created())
	}
	if err != nil {
		c.cancel()
		c.Wait()
		return nil, err
	}
	if options.Recorder != nil {
		options.Recorder.Record(state.Note{Source: "simulation", Text: c.describe(options)})
	}
	return c, nil
}

// part is the common interface of nodes, scheduler and storage.
type part interface {
	Start(context.Context) error
	Wait()
}

func (c *Cluster) describe(options Options) string {
	text := fmt.Sprintf("%d simulated nodes", options.Nodes)
	if options.Nodes == 1 {
		text = "1 simulated node"
	}
	if c.scheduler != nil {
		text += ", kube-scheduler"
	}
	if c.storage != nil {
		text += fmt.Sprintf(", StorageClass %q", storage.ClassName)
	}
	return text + " up"
}

// Stop ends the simulation, as the end of the context given to Start does.
func (c *Cluster) Stop() { c.cancel() }

// Wait returns when all parts have ended.
func (c *Cluster) Wait() {
	c.nodes.Wait()
	if c.scheduler != nil {
		c.scheduler.Wait()
	}
	if c.storage != nil {
		c.storage.Wait()
	}
}

// Busy lists why the cluster is not idle, each reason a short sentence about one
// object; nil means idle.
func (c *Cluster) Busy() []string {
	var reasons []string
	if c.storage != nil {
		reasons = append(reasons, c.storage.Busy()...)
	}
	if c.scheduler != nil {
		reasons = append(reasons, c.scheduler.Busy()...)
	}
	return append(reasons, c.nodes.Busy()...)
}

// Changed receives a value after a change that Busy depends on. Many changes produce
// one value, and all callers share one channel. A pod's progress through the
// scheduler's queues is not reported unless the pod changes: also poll Busy.
func (c *Cluster) Changed() <-chan struct{} { return c.changed }

// Unschedulable lists the pods that currently cannot be scheduled; nil without a
// scheduler.
func (c *Cluster) Unschedulable() []scheduler.Unschedulable {
	if c.scheduler == nil {
		return nil
	}
	return c.scheduler.Unschedulable()
}

// Seen reports whether the simulation has processed an event of the object's type at or
// after resourceVersion, and reflects it in Busy. It is true for types that no part
// watches.
func (c *Cluster) Seen(object state.Ref, resourceVersion string) bool {
	return c.nodes.Seen(object, resourceVersion) &&
		(c.scheduler == nil || c.scheduler.Seen(object, resourceVersion)) &&
		(c.storage == nil || c.storage.Seen(object, resourceVersion))
}

// SeenDeleted reports the same of the object's deletion, or of the update that started
// it.
func (c *Cluster) SeenDeleted(object state.Ref) bool {
	return c.nodes.SeenDeleted(object) && (c.storage == nil || c.storage.SeenDeleted(object))
}
