package controllers

import (
	"context"
	"fmt"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apiserver/pkg/quota/v1/generic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller"
	"k8s.io/kubernetes/pkg/controller/garbagecollector"
	"k8s.io/kubernetes/pkg/controller/namespace"
	"k8s.io/kubernetes/pkg/controller/podgc"
	"k8s.io/kubernetes/pkg/controller/resourcequota"
	"k8s.io/kubernetes/pkg/features"
	quotainstall "k8s.io/kubernetes/pkg/quota/v1/install"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

// discoveryPeriod is how often the garbage collector and the quota controller
// look for new types; kube-controller-manager fixes it.
const discoveryPeriod = 30 * time.Second

func coreControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.GarbageCollectorController,
		Aliases: []string{"garbagecollector"},
		Does:    "deletes objects whose owners are gone",
		Account: "generic-garbage-collector",
		Queues: []Queue{
			{Spec: tap.Of("garbage_collector_attempt_to_delete", "attemptToDelete", (*gcNode).describe).Also("dependencyGraphBuilder.attemptToDelete"), Any: true},
			{Spec: tap.Of("garbage_collector_attempt_to_orphan", "attemptToOrphan", (*gcNode).describe).Also("dependencyGraphBuilder.attemptToOrphan"), Any: true},
			{Spec: tap.Of("garbage_collector_graph_changes", "dependencyGraphBuilder.graphChanges", (*gcEvent).describe), Feeds: true},
		},
		ReadsAll: true,
		workers:  func(c *componentConfig) int { return int(c.GarbageCollectorController.ConcurrentGCSyncs) },
		needs: []need{{
			what: "--enable-garbage-collector",
			missing: func(f *facts) string {
				if f.component.GarbageCollectorController.EnableGarbageCollector {
					return ""
				}
				return "--enable-garbage-collector=false"
			},
		}},
		build: buildGarbageCollector,
	}, {
		Name:    names.NamespaceController,
		Aliases: []string{"namespace"},
		Does:    "empties deleted namespaces",
		Account: "namespace-controller",
		Decides: []string{"namespaces"},
		Queues:  []Queue{{Spec: tap.Strings("namespace", "queue"), Types: []string{"namespaces"}}},
		Reads:   []string{"v1/namespaces"},
		workers: func(c *componentConfig) int { return int(c.NamespaceController.ConcurrentNamespaceSyncs) },
		build:   buildNamespace,
	}, {
		Name:    names.PodGarbageCollectorController,
		Aliases: []string{"podgc"},
		Does:    "deletes terminated pods beyond a threshold and pods of lost nodes",
		Account: "pod-garbage-collector",
		Queues:  []Queue{{Spec: tap.Strings("orphaned_pods_nodes", "nodeQueue"), Types: []string{"nodes"}}},
		Reads:   []string{"v1/pods", "v1/nodes"},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := podgc.NewPodGC(ctx, s.client, s.Core().V1().Pods(), s.Core().V1().Nodes(),
				int(s.component.PodGCController.TerminatedPodGCThreshold))
			return s.single(c, c.Run), nil
		},
	}, {
		Name:          names.ResourceQuotaController,
		Aliases:       []string{"resourcequota"},
		Does:          "counts what ResourceQuotas limit",
		Account:       "resourcequota-controller",
		Decides:       []string{"resourcequotas"},
		NamespaceSafe: true,
		Queues: []Queue{
			{Spec: tap.Of("resource_quota_controller_resource_changes", "quotaMonitor.resourceChanges", (*quotaEvent).describe), Feeds: true},
			{Spec: tap.Strings("resourcequota_primary", "queue"), Types: []string{"resourcequotas"}},
			{Spec: tap.Strings("resourcequota_priority", "missingUsageQueue"), Types: []string{"resourcequotas"}},
		},
		Reads: []string{"v1/resourcequotas"},
		// Its evaluators have these, apart from the types that it counts
		// (k8s.io/kubernetes v1.37.1 pkg/quota/v1/evaluator/core/registry.go).
		ReadsIf: map[featuregate.Feature][]string{features.DRAExtendedResource: {
			"resource.k8s.io/v1/resourceclaims", "resource.k8s.io/v1/deviceclasses",
		}},
		ReadsAll: true,
		workers:  func(c *componentConfig) int { return int(c.ResourceQuotaController.ConcurrentResourceQuotaSyncs) },
		build:    buildResourceQuota,
	}}
}

func buildGarbageCollector(ctx context.Context, s *scope) ([]loop, error) {
	cfg, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	// Each deletion takes two requests, so upstream doubles the limit.
	cfg.QPS *= 2
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create metadata client: %w", err)
	}
	disco, err := s.clients.DiscoveryClient(s.name)
	if err != nil {
		return nil, err
	}
	graph, err := s.graphBuilder(ctx)
	if err != nil {
		return nil, err
	}
	c, err := garbagecollector.NewComposedGarbageCollector(ctx, s.client, objects, s.restMapper, graph)
	if err != nil {
		return nil, err
	}
	return s.single(c, together(
		func(ctx context.Context) { c.Run(ctx, s.workers, discoveryPeriod) },
		func(ctx context.Context) { c.Sync(ctx, disco, discoveryPeriod) },
	)), nil
}

func buildNamespace(ctx context.Context, s *scope) ([]loop, error) {
	cfg, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	// Emptying a namespace takes hundreds of requests at once, so upstream
	// lifts this one controller's limits.
	cfg.QPS *= 20
	cfg.Burst *= 100
	client, err := kubernetes.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create client: %w", err)
	}
	objects, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create metadata client: %w", err)
	}
	c := namespace.NewNamespaceController(ctx, client, objects, s.served.once(client.Discovery().ServerPreferredNamespacedResources),
		s.Core().V1().Namespaces(), s.component.NamespaceController.NamespaceSyncPeriod.Duration, v1.FinalizerKubernetes)
	return s.pool(c, c.Run), nil
}

func buildResourceQuota(ctx context.Context, s *scope) ([]loop, error) {
	disco, err := s.clients.DiscoveryClient(s.name)
	if err != nil {
		return nil, err
	}
	discover := s.served.once(disco.ServerPreferredNamespacedResources)
	quota, err := quotainstall.NewQuotaConfigurationForControllers(
		generic.ListerFuncForResourceFunc(s.ForResource), s.SharedInformerFactory)
	if err != nil {
		return nil, fmt.Errorf("configure quota evaluators: %w", err)
	}
	c, err := resourcequota.NewController(ctx, &resourcequota.ControllerOptions{
		QuotaClient:               s.client.CoreV1(),
		ResourceQuotaInformer:     s.Core().V1().ResourceQuotas(),
		ResyncPeriod:              controller.StaticResyncPeriodFunc(s.component.ResourceQuotaController.ResourceQuotaSyncPeriod.Duration),
		InformerFactory:           s.objectOrMetadata,
		ReplenishmentResyncPeriod: s.resyncPeriod,
		DiscoveryFunc:             discover,
		IgnoredResourcesFunc:      quota.IgnoredResources,
		InformersStarted:          s.informersStarted,
		Registry:                  generic.NewRegistry(quota.Evaluators()),
		UpdateFilter:              quotainstall.DefaultUpdateFilter(),
	})
	if err != nil {
		return nil, err
	}
	return s.single(c, together(
		func(ctx context.Context) { c.Run(ctx, s.workers) },
		func(ctx context.Context) { c.Sync(ctx, discover, discoveryPeriod) },
	)), nil
}
