package controllers

import (
	"context"
	"fmt"

	apiextensionsclientset "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	genericfeatures "k8s.io/apiserver/pkg/features"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	clientfeatures "k8s.io/client-go/features"
	"k8s.io/client-go/metadata"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/storageversiongc"
	"k8s.io/kubernetes/pkg/controller/storageversionmigrator"
	"k8s.io/kubernetes/pkg/features"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func storageVersionControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.StorageVersionGarbageCollectorController,
		Aliases: []string{"storage-version-gc"},
		Does:    "removes lost API servers from StorageVersions",
		Account: "storage-version-garbage-collector",
		Gates:   []featuregate.Feature{genericfeatures.APIServerIdentity, genericfeatures.StorageVersionAPI},
		Queues: []Queue{
			{Spec: tap.Strings("storage_version_garbage_collector_leases", "leaseQueue"), Feeds: true},
			{Spec: tap.Strings("storage_version_garbage_collector_storageversions", "storageVersionQueue"), Types: []string{"storageversions.internal.apiserver.k8s.io"}},
		},
		Reads:   []string{"coordination.k8s.io/v1/leases", "internal.apiserver.k8s.io/v1alpha1/storageversions"},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := storageversiongc.NewStorageVersionGC(ctx, s.client, s.Coordination().V1().Leases(),
				s.Internal().V1alpha1().StorageVersions())
			return s.single(c, c.Run), nil
		},
	}, {
		Name:    names.StorageVersionMigratorController,
		Aliases: []string{"svm"},
		Does:    "rewrites stored objects in their current storage version",
		Account: "storage-version-migrator-controller",
		Parts:   []string{"migration", "resource-version", "custom-resource"},
		Queues: []Queue{
			{Spec: tap.Of("custom-resource", "queue", func(k metav1.GroupResource) string { return k.String() }), Loop: "custom-resource", Types: []string{"customresourcedefinitions.apiextensions.k8s.io"}},
			{Spec: tap.Strings("migration", "queue"), Loop: "migration", Types: []string{"storageversionmigrations.storagemigration.k8s.io"}},
			{Spec: tap.Strings("resource-version", "queue"), Loop: "resource-version", Types: []string{"storageversionmigrations.storagemigration.k8s.io"}},
		},
		Reads:   []string{"storagemigration.k8s.io/v1/storageversionmigrations"},
		workers: workers(1),
		needs:   storageVersionMigratorNeeds(),
		build:   buildStorageVersionMigrator,
	}}
}

// storageVersionMigratorNeeds are gates of two gate sets and the garbage
// collector, whose graph the migrator reads.
func storageVersionMigratorNeeds() []need {
	clientGate := func(g clientfeatures.Feature) need {
		return need{what: "client-go feature " + string(g), missing: func(*facts) string {
			if clientfeatures.FeatureGates().Enabled(g) {
				return ""
			}
			return fmt.Sprintf("client-go feature %s is off", g)
		}}
	}
	return []need{
		{what: "feature gate " + string(features.StorageVersionMigrator), missing: func(*facts) string {
			if enabled(features.StorageVersionMigrator) {
				return ""
			}
			return fmt.Sprintf("feature gate %s is off", features.StorageVersionMigrator)
		}},
		clientGate(clientfeatures.InformerResourceVersion),
		clientGate(clientfeatures.InOrderInformers),
		{what: names.GarbageCollectorController, missing: func(f *facts) string {
			if f.component.GarbageCollectorController.EnableGarbageCollector && f.selected(names.GarbageCollectorController) {
				return ""
			}
			return names.GarbageCollectorController + " is off and it reads that one's graph"
		}},
	}
}

func buildStorageVersionMigrator(ctx context.Context, s *scope) ([]loop, error) {
	cfg, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	// A migration rewrites every object of a type, so upstream lifts the limits.
	cfg.QPS *= 20
	cfg.Burst *= 100
	crds, err := apiextensionsclientset.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create API extensions client: %w", err)
	}
	objects, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create dynamic client: %w", err)
	}
	disco, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create discovery client: %w", err)
	}
	meta, err := metadata.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create metadata client: %w", err)
	}

	migrations := s.Storagemigration().V1().StorageVersionMigrations()
	graph, err := s.graphBuilder(ctx)
	if err != nil {
		return nil, err
	}
	migration := storageversionmigrator.NewSVMController(ctx, s.client, objects, migrations, s.name, s.restMapper, graph)
	version := storageversionmigrator.NewResourceVersionController(ctx, s.client, disco, meta, migrations, s.restMapper)
	custom := storageversionmigrator.NewCustomResourceController(ctx, s.client, migrations,
		crds.ApiextensionsV1().CustomResourceDefinitions())
	return []loop{
		{name: "migration", target: migration, run: migration.Run},
		{name: "resource-version", target: version, run: version.Run},
		{name: "custom-resource", target: custom, run: custom.Run},
	}, nil
}
