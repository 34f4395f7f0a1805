// Package storage simulates dynamic provisioning: a default StorageClass, and a provisioner
// that binds its claims to volumes that exist only in the API.
//
// For the cluster, the provisioner is a CSI external-provisioner: it uses the same library
// (sigs.k8s.io/sig-storage-lib-external-provisioner/v13@v13.0.0) with a driver that does
// nothing. The volumes refer to that driver and nothing else. In particular they have no
// hostPath, on which controllers would act on their own machine. The persistentvolume-binder
// controller must run too: it requests the volume and binds it.
//
// Claims are bound at once (volumeBindingMode Immediate). With WaitForFirstConsumer a pod
// would wait for another second, because the scheduler checks the binding once per second
// (kubernetes/pkg/scheduler/framework/plugins/volumebinding/binder.go@v1.37.1,
// BindPodVolumes), and a claim without a pod would never be bound.
//
// It also serves the provisioners of other StorageClasses, except
// kubernetes.io/no-provisioner.
//
// The driver needs no attaching (CSIDriver attachRequired false): nothing handles
// VolumeAttachments here. Resizing a claim is allowed and has no effect: the simulation has no
// resizer.
package storage

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/sig-storage-lib-external-provisioner/v13/controller"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/agent"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/seen"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// Name is the provisioner's name in user agents and journals.
	Name = "simulated-provisioner"
	// ClassName is the default StorageClass.
	ClassName = "standard"
	// Driver is the provisioner of the class and the CSI driver of the volumes.
	Driver = "simulated.kctl-ctrl.dev"
)

// annStorageProvisioner is the annotation with which persistentvolume-binder requests a
// volume (component-helpers/storage/volume/pv_helpers.go@v0.37.1).
const annStorageProvisioner = "volume.kubernetes.io/storage-provisioner"

// Options are where to provision.
type Options struct {
	// Config is for the API server. A copy with its own user agent is used.
	Config *rest.Config
	// OnChange, if set, is called when a claim or volume has changed. It must not
	// block.
	OnChange func()
}

// Storage is a provisioner. It is created by New and used for one run. Its methods are
// safe for concurrent use.
type Storage struct {
	options   Options
	client    kubernetes.Interface
	informers informers.SharedInformerFactory
	volumes   cache.Store
	claims    cache.Store

	claimMark, volumeMark seen.Mark

	// Prepare creates provisioner, workers and the handlers.
	provisioner                   *controller.ProvisionController
	workers                       sync.WaitGroup
	claimsHandled, volumesHandled cache.ResourceEventHandlerRegistration

	wg sync.WaitGroup

	mu sync.Mutex
	// asked are the claims that request a volume, by key; released the volumes to be
	// deleted, by name.
	asked, released map[string]string
}

// New prepares a provisioner. It sends no requests.
func New(options Options) (*Storage, error) {
	client, err := agent.Client(options.Config, Name)
	if err != nil {
		return nil, err
	}
	return build(options, client), nil
}

func build(options Options, client kubernetes.Interface) *Storage {
	if options.OnChange == nil {
		options.OnChange = func() {}
	}
	factory := informers.NewSharedInformerFactoryWithOptions(client, 0, informers.WithTransform(answersForAll))
	return &Storage{
		options:   options,
		client:    client,
		informers: factory,
		claims:    factory.Core().V1().PersistentVolumeClaims().Informer().GetStore(),
		volumes:   factory.Core().V1().PersistentVolumes().Informer().GetStore(),
		asked:     map[string]string{},
		released:  map[string]string{},
	}
}

// noProvisioner is the provisioner of classes whose volumes are created manually.
const noProvisioner = "kubernetes.io/no-provisioner"

// answersForAll makes the provisioner handle the claims and classes of every
// provisioner, in its caches only: no other provisioner runs here, and a claim that
// stays pending would be an artifact of the simulation.
func answersForAll(obj any) (any, error) {
	switch o := obj.(type) {
	case *corev1.PersistentVolumeClaim:
		if asked := o.Annotations[annStorageProvisioner]; asked != "" && asked != noProvisioner {
			o.Annotations[annStorageProvisioner] = Driver
		}
	case *storagev1.StorageClass:
		if o.Provisioner != noProvisioner {
			o.Provisioner = Driver
		}
	}
	return obj, nil
}

// Prepare creates the provisioner, which lives until ctx is done, and sends no
// requests. The library adds types to client-go's global scheme (controller.go:646 of
// v13.0.0), which is not safe for concurrent use: nothing that reads the scheme, such
// as clients and informers, may run at the same time.
func (s *Storage) Prepare(ctx context.Context) error {
	core := s.informers.Core().V1()
	claims, volumes := core.PersistentVolumeClaims().Informer(), core.PersistentVolumes().Informer()
	classes := s.informers.Storage().V1().StorageClasses().Informer()
	var err error
	if s.claimsHandled, err = claims.AddEventHandler(s.claimMark.Handler(s.follow(s.asked, asks), s.options.OnChange)); err != nil {
		return err
	}
	if s.volumesHandled, err = volumes.AddEventHandler(s.volumeMark.Handler(s.follow(s.released, isReleased), s.options.OnChange)); err != nil {
		return err
	}
	s.provisioner = controller.NewProvisionController(ctx, s.client, Driver, driver{},
		controller.LeaderElection(false), controller.ResyncPeriod(0),
		controller.ClaimsInformer(claims), controller.VolumesInformer(volumes), controller.ClassesInformer(classes),
		// The only possible error is that of a starting server: the library's 15 s are
		// not needed.
		controller.RateLimiter(workqueue.NewTypedItemExponentialFailureRateLimiter[string](50*time.Millisecond, 5*time.Second)),
		controller.FailedProvisionThreshold(0), controller.FailedDeleteThreshold(0),
		controller.CreateProvisionedPVInterval(100*time.Millisecond),
	)
	s.provisioner.ControllerWaitGroup(&s.workers)
	return nil
}

// Start creates the StorageClass and the CSIDriver, unless they exist, and provisions
// until ctx is done. It returns when both exist and the first list of claims and
// volumes has been processed. On an error nothing is left running.
// klog.FromContext(ctx) is the logger. Call Prepare first.
func (s *Storage) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	if err := s.start(ctx); err != nil {
		cancel()
		s.wg.Wait()
		return fmt.Errorf("start simulated provisioner: %w", err)
	}
	context.AfterFunc(ctx, cancel) // ctx ends with its parent; this lets go of it
	return nil
}

func (s *Storage) start(ctx context.Context) error {
	if err := s.create(ctx); err != nil {
		return err
	}
	s.informers.StartWithContext(ctx)
	s.wg.Go(func() {
		<-ctx.Done()
		s.informers.Shutdown()
	})
	s.wg.Go(func() {
		s.provisioner.Run(ctx)
		s.workers.Wait()
	})
	if !cache.WaitFor(ctx, "", s.claimsHandled.HasSyncedChecker(), s.volumesHandled.HasSyncedChecker(), s.informers.Storage().V1().StorageClasses().Informer().HasSyncedChecker()) {
		return fmt.Errorf("list claims and volumes: %w", context.Cause(ctx))
	}
	return nil
}

// create creates the objects of an installed CSI driver.
func (s *Storage) create(ctx context.Context) error {
	var (
		no, yes   = false, true
		reclaim   = corev1.PersistentVolumeReclaimDelete
		immediate = storagev1.VolumeBindingImmediate
	)
	err := agent.Eventually(ctx, func() error {
		_, err := s.client.StorageV1().CSIDrivers().Create(ctx, &storagev1.CSIDriver{
			ObjectMeta: metav1.ObjectMeta{Name: Driver},
			Spec:       storagev1.CSIDriverSpec{AttachRequired: &no, PodInfoOnMount: &no, StorageCapacity: &no},
		}, metav1.CreateOptions{FieldManager: Name})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create CSIDriver %s: %w", Driver, err)
		}
		return nil
	})
	if err != nil {
		return err
	}
	return agent.Eventually(ctx, func() error {
		_, err := s.client.StorageV1().StorageClasses().Create(ctx, &storagev1.StorageClass{
			ObjectMeta: metav1.ObjectMeta{
				Name:        ClassName,
				Annotations: map[string]string{"storageclass.kubernetes.io/is-default-class": "true"},
			},
			Provisioner:          Driver,
			ReclaimPolicy:        &reclaim,
			VolumeBindingMode:    &immediate,
			AllowVolumeExpansion: &yes,
		}, metav1.CreateOptions{FieldManager: Name})
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create StorageClass %s: %w", ClassName, err)
		}
		return nil
	})
}

// follow keeps in set the objects for which busy returns a reason.
func (s *Storage) follow(set map[string]string, busy func(any) string) cache.ResourceEventHandler {
	put := func(obj any) {
		key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
		if err != nil {
			return
		}
		s.mu.Lock()
		defer s.mu.Unlock()
		if word := busy(obj); word != "" {
			set[key] = word
		} else {
			delete(set, key)
		}
	}
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    put,
		UpdateFunc: func(_, obj any) { put(obj) },
		DeleteFunc: func(obj any) {
			key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj)
			if err != nil {
				return
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			delete(set, key)
		},
	}
}

// asks returns the name of the volume that a claim requests from this provisioner, or
// nothing.
func asks(obj any) string {
	claim, ok := obj.(*corev1.PersistentVolumeClaim)
	if !ok || claim.Spec.VolumeName != "" || claim.DeletionTimestamp != nil || claim.Annotations[annStorageProvisioner] != Driver {
		return ""
	}
	return volumeName(claim)
}

func isReleased(obj any) string {
	volume, ok := obj.(*corev1.PersistentVolume)
	if !ok || volume.Status.Phase != corev1.VolumeReleased || volume.DeletionTimestamp != nil ||
		volume.Spec.CSI == nil || volume.Spec.CSI.Driver != Driver ||
		volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
		return ""
	}
	return volume.Name
}

// volumeName is the library's choice (getProvisionedVolumeNameForClaim).
func volumeName(claim *corev1.PersistentVolumeClaim) string { return "pvc-" + string(claim.UID) }

// Wait returns when the provisioner has ended, after the end of the context given to
// Start.
func (s *Storage) Wait() { s.wg.Wait() }

// Busy lists the claims that wait for this provisioner and the volumes that it is to
// delete; nil means idle. A claim of the class that was not assigned to the provisioner
// yet is not included: that is persistentvolume-binder's work.
func (s *Storage) Busy() []string {
	s.mu.Lock()
	defer s.mu.Unlock()
	var reasons []string
	for claim, volume := range s.asked {
		// With the volume there, the rest is persistentvolume-binder's.
		if _, ok, err := s.volumes.GetByKey(volume); err == nil && !ok {
			reasons = append(reasons, "persistentvolumeclaim "+claim+": waiting for its volume")
		}
	}
	for volume := range s.released {
		reasons = append(reasons, "persistentvolume "+volume+": waiting for deletion")
	}
	slices.Sort(reasons)
	return reasons
}

// Seen reports whether an event of the object's type at or after resourceVersion has
// been received and is reflected in Busy. It is true for types other than claims and
// volumes.
func (s *Storage) Seen(object state.Ref, resourceVersion string) bool {
	switch object.Type() {
	case "persistentvolumeclaims":
		return s.claimMark.Reached(resourceVersion)
	case "persistentvolumes":
		return s.volumeMark.Reached(resourceVersion)
	}
	return true
}

// SeenDeleted reports whether the object's deletion, or the update that started it, has
// been received. It is true for types other than claims and volumes.
func (s *Storage) SeenDeleted(object state.Ref) bool {
	var store cache.Store
	switch object.Type() {
	case "persistentvolumeclaims":
		store = s.claims
	case "persistentvolumes":
		store = s.volumes
	default:
		return true
	}
	obj, ok, err := store.GetByKey(object.Key())
	if err != nil || !ok {
		return true
	}
	found := obj.(metav1.Object)
	return found.GetDeletionTimestamp() != nil || (object.UID != "" && object.UID != string(found.GetUID()))
}
