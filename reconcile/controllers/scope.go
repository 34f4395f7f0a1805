package controllers

import (
	"context"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/controller-manager/pkg/informerfactory"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
)

// world is what all controllers of one Manager share; upstream's ControllerContext.
type world struct {
	component *componentConfig
	clients   clientbuilder.ControllerClientBuilder
	taps      Taps
	rootCA    []byte
	served    served

	informers        informers.SharedInformerFactory
	objectOrMetadata informerfactory.InformerFactory
	metadata         metadata.Interface
	restMapper       *restmapper.DeferredDiscoveryRESTMapper
	informersStarted chan struct{}
	resyncPeriod     func() time.Duration

	// untapped is told why a controller cannot be observed, and returns an error if it
	// may not run then.
	untapped func(controller string, why error) error

	graphOnce sync.Once
	graph     *garbagecollector.GraphBuilder
	graphErr  error
}

// scope is the world as one controller sees it while it is built: its own client, and
// informers that know whose handlers they are given.
type scope struct {
	*world
	name    string
	client  kubernetes.Interface
	workers int

	informers.SharedInformerFactory
	objectOrMetadata informerfactory.InformerFactory
}

// scope makes a controller's view.
func (w *world) scope(d *Descriptor) (*scope, error) {
	client, err := w.clients.Client(d.Name)
	if err != nil {
		return nil, err
	}
	s := &scope{world: w, name: d.Name, client: client, workers: d.workerCount(w.component)}
	if s.SharedInformerFactory, err = w.taps.Informers(d.Name, w.informers); err != nil {
		if err := w.untapped(d.Name, err); err != nil {
			return nil, err
		}
		s.SharedInformerFactory = w.informers
	}
	if s.objectOrMetadata, err = w.taps.ObjectOrMetadata(d.Name, w.objectOrMetadata); err != nil {
		if err := w.untapped(d.Name, err); err != nil {
			return nil, err
		}
		s.objectOrMetadata = w.objectOrMetadata
	}
	return s, nil
}

// restConfig returns a copy for clients other than the typed one.
func (s *scope) restConfig() (*rest.Config, error) { return s.clients.Config(s.name) }

// graphBuilder returns the dependency graph, which the garbage collector fills
// and the storage version migrator reads. Its handlers and queues are the
// garbage collector's, whoever asks first.
func (w *world) graphBuilder(ctx context.Context) (*garbagecollector.GraphBuilder, error) {
	w.graphOnce.Do(func() {
		informers, err := w.taps.ObjectOrMetadata(names.GarbageCollectorController, w.objectOrMetadata)
		if err != nil {
			informers = w.objectOrMetadata
			if w.graphErr = w.untapped(names.GarbageCollectorController, err); w.graphErr != nil {
				return
			}
		}
		ignored := map[schema.GroupResource]struct{}{}
		for _, d := range w.component.GarbageCollectorController.GCIgnoredResources {
			ignored[schema.GroupResource{Group: d.Group, Resource: d.Resource}] = struct{}{}
		}
		w.graph = garbagecollector.NewDependencyGraphBuilder(ctx, w.metadata, w.restMapper, ignored, informers, w.informersStarted)
	})
	return w.graph, w.graphErr
}

// pool is the one loop of a controller whose Run takes the number of workers.
func (s *scope) pool(target any, run func(context.Context, int)) []loop {
	return s.single(target, func(ctx context.Context) { run(ctx, s.workers) })
}

// single is the one loop of a controller.
func (s *scope) single(target any, run func(context.Context)) []loop {
	return []loop{{name: s.name, target: target, run: run}}
}

// together runs the functions side by side and returns when all have.
func together(fns ...func(context.Context)) func(context.Context) {
	return func(ctx context.Context) {
		var wg sync.WaitGroup
		for _, fn := range fns {
			wg.Go(func() { fn(ctx) })
		}
		wg.Wait()
	}
}
