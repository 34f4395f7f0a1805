package controllers

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/cache"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/controller-manager/pkg/informerfactory"
)

// enter makes what the controllers share and asks the server what it offers.
func (m *Manager) enter(ctx context.Context) error {
	builder := clients{base: m.cfg.REST, conn: m.cfg.Component.Generic.ClientConnection, impersonate: m.cfg.Impersonate}
	rootCA, err := rootCA(m.cfg)
	if err != nil {
		return err
	}
	disco, err := builder.DiscoveryClient("controller-discovery")
	if err != nil {
		return err
	}
	cached := memory.NewMemCacheClient(disco)
	offers, err := discover(cached)
	if err != nil {
		return err
	}
	typed, err := builder.Client("shared-informers")
	if err != nil {
		return err
	}
	metadataConfig, err := builder.Config("metadata-informers")
	if err != nil {
		return err
	}
	objects, err := metadata.NewForConfig(metadataConfig)
	if err != nil {
		return fmt.Errorf("create metadata client: %w", err)
	}
	name, err := cache.NewInformerName(m.cfg.InformerName)
	if err != nil {
		return err
	}
	m.informerName = name

	resync := resyncPeriod(m.cfg.Component.Generic.MinResyncPeriod.Duration)
	shared := informers.NewSharedInformerFactoryWithOptions(typed, resync(),
		informers.WithTransform(trim), informers.WithInformerName(name), informers.WithNamespace(m.cfg.Namespace))
	var metadataInformers metadatainformer.SharedInformerFactory
	if m.cfg.Namespace == "" {
		metadataInformers = metadatainformer.NewSharedInformerFactoryWithOptions(objects, resync(), metadatainformer.WithTransform(trim))
	} else {
		// Only the quota controller is left here, and it reads namespaced types
		// only. The garbage collector, which would ask for nodes in a namespace,
		// is not namespace-safe.
		metadataInformers = metadatainformer.NewFilteredSharedInformerFactory(objects, resync(), m.cfg.Namespace, nil)
	}
	// In reverse order of their making.
	m.shutdown = []func(){metadataInformers.Shutdown, shared.Shutdown}

	mapper := restmapper.NewDeferredDiscoveryRESTMapper(cached)
	const mapperReset = 30 * time.Second
	m.loops.Go(func() {
		// The error is ctx's.
		_ = wait.PollUntilContextCancel(ctx, mapperReset, false, func(context.Context) (bool, error) {
			mapper.Reset()
			return false, nil
		})
	})
	m.world.Store(&world{
		component:        m.cfg.Component,
		clients:          builder,
		taps:             m.taps,
		rootCA:           rootCA,
		served:           offers,
		informers:        shared,
		objectOrMetadata: informerfactory.NewInformerFactory(shared, metadataInformers),
		metadata:         objects,
		restMapper:       mapper,
		informersStarted: make(chan struct{}),
		resyncPeriod:     resync,
		untapped:         m.untapped,
	})
	return nil
}

// leave waits for the informers to end and frees their name.
func (m *Manager) leave() {
	for _, fn := range m.shutdown {
		fn()
	}
	m.informerName.Release()
	m.informerName = nil
}

// rootCA finds the certificate that clients of the cluster trust: it is
// published to pods and put into tokens.
func rootCA(cfg Config) ([]byte, error) {
	if file := cfg.Component.SAController.RootCAFile; file != "" {
		return readCertificate("--root-ca-file", file)
	}
	switch {
	case len(cfg.RootCA) > 0:
		return cfg.RootCA, nil
	case len(cfg.REST.CAData) > 0:
		return cfg.REST.CAData, nil
	case cfg.REST.CAFile != "":
		return readCertificate("the cluster's CA", cfg.REST.CAFile)
	}
	return nil, nil
}

func readCertificate(what, file string) ([]byte, error) {
	pem, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", what, err)
	}
	if _, err := certutil.ParseCertsPEM(pem); err != nil {
		return nil, fmt.Errorf("read %s %s: %w", what, file, err)
	}
	return pem, nil
}

// resyncPeriod returns upstream's resync: at random between min and twice min,
// so that the informers do not all resync together.
func resyncPeriod(min time.Duration) func() time.Duration {
	return func() time.Duration { return time.Duration(float64(min) * (1 + rand.Float64())) }
}

// trim drops managedFields before an object enters a cache: no loop reads them
// and they can be half of it.
func trim(obj any) (any, error) {
	if accessor, err := meta.Accessor(obj); err == nil && accessor.GetManagedFields() != nil {
		accessor.SetManagedFields(nil)
	}
	return obj, nil
}
