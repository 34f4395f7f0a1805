package controllers

import (
	"context"

	"k8s.io/client-go/tools/cache"
	"k8s.io/component-base/featuregate"
	csitrans "k8s.io/csi-translation-lib"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/volume/attachdetach"
	"k8s.io/kubernetes/pkg/controller/volume/ephemeral"
	"k8s.io/kubernetes/pkg/controller/volume/expand"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"
	"k8s.io/kubernetes/pkg/controller/volume/pvcprotection"
	"k8s.io/kubernetes/pkg/controller/volume/pvprotection"
	"k8s.io/kubernetes/pkg/controller/volume/selinuxwarning"
	"k8s.io/kubernetes/pkg/controller/volume/vacprotection"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/csi"
	"k8s.io/kubernetes/pkg/volume/csimigration"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

// volumePlugins is all that the volume controllers get, in place of
// kube-controller-manager's list (cmd/kube-controller-manager/app/plugins.go
// at v1.37.1).
//
// Most plugins of that list act on the machine they run on, past every HTTP
// guard: hostPath's deleter removes the directory that a released volume names,
// flexVolume makes directories and runs drivers. On a control plane node that is
// the idea; on a user's laptop or in CI, where the volumes come from somebody
// else's manifests, it destroys data. The CSI plugin's controller side only
// writes VolumeAttachments. The loops report "no volume plugin matched" for the
// others and leave such volumes alone.
//
// The packages of the other plugins must not even be linked: TestNoHostPlugins.
func volumePlugins() []volume.VolumePlugin { return csi.ProbeVolumePlugins() }

// noProber stands for upstream's flexVolume prober, which would look for driver
// executables on this machine: nil finds none (pkg/volume/plugins.go at v1.37.1,
// InitPlugins).
func noProber() volume.DynamicPluginProber { return nil }

func volumeControllers() []Descriptor {
	return []Descriptor{{
		Name:          names.EphemeralVolumeController,
		Aliases:       []string{"ephemeral-volume"},
		Does:          "creates the claims of pods' generic ephemeral volumes",
		Account:       "ephemeral-volume-controller",
		NamespaceSafe: true,
		Queues:        []Queue{{Spec: tap.Strings("ephemeral_volume", "queue"), Types: []string{"pods"}}},
		Reads:         []string{"v1/pods", "v1/persistentvolumeclaims"},
		workers: func(c *componentConfig) int {
			return int(c.EphemeralVolumeController.ConcurrentEphemeralVolumeSyncs)
		},
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := ephemeral.NewController(ctx, s.client, s.Core().V1().Pods(), s.Core().V1().PersistentVolumeClaims())
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:    names.PersistentVolumeAttachDetachController,
		Aliases: []string{"attachdetach"},
		Does:    "attaches CSI volumes to the nodes of the pods that use them",
		Account: "attachdetach-controller",
		Queues:  []Queue{{Spec: tap.Strings("pvcs", "pvcQueue"), Types: []string{"persistentvolumeclaims"}}},
		Reads: []string{
			"v1/pods", "v1/nodes", "v1/persistentvolumeclaims", "v1/persistentvolumes",
			"storage.k8s.io/v1/csinodes", "storage.k8s.io/v1/csidrivers", "storage.k8s.io/v1/volumeattachments",
		},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			conf := s.component.AttachDetachController
			c, err := attachdetach.NewAttachDetachController(ctx, s.client, s.Core().V1().Pods(), s.Core().V1().Nodes(),
				s.Core().V1().PersistentVolumeClaims(), s.Core().V1().PersistentVolumes(), s.Storage().V1().CSINodes(),
				s.Storage().V1().CSIDrivers(), s.Storage().V1().VolumeAttachments(), volumePlugins(), noProber(),
				conf.DisableAttachDetachReconcilerSync, conf.ReconcilerSyncLoopPeriod.Duration,
				conf.DisableForceDetachOnTimeout, attachdetach.DefaultTimerConfig)
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}, {
		Name:    names.PersistentVolumeBinderController,
		Aliases: []string{"persistentvolume-binder"},
		Does:    "binds claims to volumes and releases them",
		Account: "persistent-volume-binder",
		Decides: []string{"persistentvolumeclaims", "persistentvolumes"},
		Queues: []Queue{
			{Spec: tap.Strings("claims", "claimQueue"), Types: []string{"persistentvolumeclaims"}},
			{Spec: tap.Strings("volumes", "volumeQueue"), Types: []string{"persistentvolumes"}},
		},
		Reads: []string{
			"v1/persistentvolumes", "v1/persistentvolumeclaims", "storage.k8s.io/v1/storageclasses", "v1/pods", "v1/nodes",
		},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			return buildBinder(ctx, s, volumePlugins())
		},
	}, {
		Name:    names.PersistentVolumeExpanderController,
		Aliases: []string{"persistentvolume-expander"},
		Does:    "hands the growth of migrated claims over to their CSI drivers",
		Account: "expand-controller",
		Queues:  []Queue{{Spec: tap.Strings("volume_expand", "queue"), Types: []string{"persistentvolumeclaims"}}},
		Reads:   []string{"v1/persistentvolumeclaims"},
		workers: workers(10),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			translator := csitrans.New()
			c, err := expand.NewExpandController(ctx, s.client, s.Core().V1().PersistentVolumeClaims(), volumePlugins(),
				translator, csimigration.NewPluginManager(translator))
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}, {
		Name:          names.PersistentVolumeClaimProtectionController,
		Aliases:       []string{"pvc-protection"},
		Does:          "keeps claims until the last pod that uses them has ended",
		Account:       "pvc-protection-controller",
		Decides:       []string{"persistentvolumeclaims"},
		NamespaceSafe: true,
		Queues: []Queue{
			{Spec: tap.Strings("pvcprotection", "queue"), Types: []string{"persistentvolumeclaims"}},
			{Spec: tap.Strings("pvcprotection_namespaces", "pvcProcessingStore.namespaceQueue").WorksAfterDone(), Types: []string{"namespaces"}, Feeds: true},
		},
		Reads:   []string{"v1/persistentvolumeclaims", "v1/pods"},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := pvcprotection.NewPVCProtectionController(klog.FromContext(ctx), s.Core().V1().PersistentVolumeClaims(),
				s.Core().V1().Pods(), s.client)
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:    names.PersistentVolumeProtectionController,
		Aliases: []string{"pv-protection"},
		Does:    "keeps volumes until their claim is gone",
		Account: "pv-protection-controller",
		Decides: []string{"persistentvolumes"},
		Queues:  []Queue{{Spec: tap.Strings("pvprotection", "queue"), Types: []string{"persistentvolumes"}}},
		Reads:   []string{"v1/persistentvolumes"},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := pvprotection.NewPVProtectionController(klog.FromContext(ctx), s.Core().V1().PersistentVolumes(), s.client)
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:         names.SELinuxWarningController,
		Does:         "warns of pods that use one volume with different SELinux labels",
		Account:      "selinux-warning-controller",
		OffByDefault: true,
		Gates:        []featuregate.Feature{features.SELinuxChangePolicy},
		Queues:       []Queue{{Spec: tap.Of("selinux_warning", "queue", cache.ObjectName.String), Types: []string{"pods"}}},
		Reads: []string{
			"v1/pods", "v1/persistentvolumeclaims", "v1/persistentvolumes", "storage.k8s.io/v1/csidrivers",
		},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := selinuxwarning.NewController(ctx, s.client, s.Core().V1().Pods(), s.Core().V1().PersistentVolumeClaims(),
				s.Core().V1().PersistentVolumes(), s.Storage().V1().CSIDrivers(), volumePlugins(), noProber())
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:    names.VolumeAttributesClassProtectionController,
		Does:    "keeps VolumeAttributesClasses until no volume uses them",
		Account: "volumeattributesclass-protection-controller",
		Gates:   []featuregate.Feature{features.VolumeAttributesClass},
		Queues:  []Queue{{Spec: tap.Strings("vacprotection", "queue"), Types: []string{"volumeattributesclasses.storage.k8s.io"}}},
		Reads:   []string{"v1/persistentvolumeclaims", "v1/persistentvolumes", "storage.k8s.io/v1/volumeattributesclasses"},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := vacprotection.NewVACProtectionController(klog.FromContext(ctx), s.client, s.Core().V1().PersistentVolumeClaims(),
				s.Core().V1().PersistentVolumes(), s.Storage().V1().VolumeAttributesClasses())
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}}
}

// buildBinder takes the plugins as a parameter so that a test can show what
// other plugins would do.
func buildBinder(ctx context.Context, s *scope, plugins []volume.VolumePlugin) ([]loop, error) {
	conf := s.component.PersistentVolumeBinderController
	c, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient:                s.client,
		SyncPeriod:                conf.PVClaimBinderSyncPeriod.Duration,
		VolumePlugins:             plugins,
		VolumeInformer:            s.Core().V1().PersistentVolumes(),
		ClaimInformer:             s.Core().V1().PersistentVolumeClaims(),
		ClassInformer:             s.Storage().V1().StorageClasses(),
		PodInformer:               s.Core().V1().Pods(),
		NodeInformer:              s.Core().V1().Nodes(),
		EnableDynamicProvisioning: conf.VolumeConfiguration.EnableDynamicProvisioning,
	})
	if err != nil {
		return nil, err
	}
	return s.single(c, c.Run), nil
}
