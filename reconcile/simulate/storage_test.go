package simulate_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/kubernetes/pkg/controller/volume/persistentvolume"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/storage"
)

func TestClaimsAreBound(t *testing.T) {
	w := start(t, simulate.Options{Nodes: 1, Scheduler: true, Storage: true})
	bindVolumes(t, w.client)
	claims := w.client.CoreV1().PersistentVolumeClaims(w.namespace)
	// As a StatefulSet does: the claim, and at once the pod. The class need not be
	// named, it is the default.
	if _, err := claims.Create(t.Context(), newClaim("data", nil), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	w.create(newPod("db", mounts("data")))
	eventually(t, "pod with a claim", func() string {
		if pod := w.pod("db"); !isReady(pod) {
			return fmt.Sprintf("phase %s; busy: %v", pod.Status.Phase, w.cluster.Busy())
		}
		return ""
	})
	bound, err := claims.Get(t.Context(), "data", metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	volume, err := w.client.CoreV1().PersistentVolumes().Get(t.Context(), bound.Spec.VolumeName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if volume.Spec.CSI == nil || volume.Spec.CSI.Driver != storage.Driver || volume.Spec.HostPath != nil {
		t.Errorf("volume source %+v", volume.Spec.PersistentVolumeSource)
	}
	eventually(t, "rest", func() string { return strings.Join(w.cluster.Busy(), "; ") })

	// Released volumes go. The protection controllers do not run here.
	for _, patch := range []func() error{
		func() error {
			_, err := claims.Patch(t.Context(), "data", types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			return err
		},
		func() error {
			_, err := w.client.CoreV1().PersistentVolumes().Patch(t.Context(), volume.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			return err
		},
		func() error { return claims.Delete(t.Context(), "data", metav1.DeleteOptions{}) },
	} {
		if err := patch(); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, "volume's deletion", func() string {
		_, err := w.client.CoreV1().PersistentVolumes().Get(t.Context(), volume.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("%s is still there (%v)", volume.Name, err)
	})
	eventually(t, "rest", func() string { return strings.Join(w.cluster.Busy(), "; ") })
	class, err := w.client.StorageV1().StorageClasses().Get(t.Context(), storage.ClassName, metav1.GetOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if *class.VolumeBindingMode != storagev1.VolumeBindingImmediate {
		t.Errorf("class binds %s", *class.VolumeBindingMode)
	}
}

// A pod whose volume nobody makes does not keep the cluster from settling.
func TestPodThatWaitsForForeignStorageIsStalled(t *testing.T) {
	w := start(t, simulate.Options{Nodes: 1, Scheduler: true})
	w.claimOfForeignClass(t)
	w.settlePod(w.create(newPod("db", mounts("data"))))
	// The scheduler may meet the pod before claim or class, and tries it again when
	// they come.
	eventually(t, "rest with the pod stalled", func() string {
		list := w.cluster.Unschedulable()
		if len(list) != 1 || list[0].Name != "db" || list[0].Reason != scheduler.ReasonStalled {
			return fmt.Sprintf("unschedulable: %+v", list)
		}
		return strings.Join(w.cluster.Busy(), "; ")
	})
}

// The simulated provisioner answers for the provisioners of other classes.
func TestForeignStorageIsProvisioned(t *testing.T) {
	w := start(t, simulate.Options{Nodes: 1, Scheduler: true, Storage: true})
	w.claimOfForeignClass(t)
	w.create(newPod("db", mounts("data")))
	eventually(t, "pod with a claim of a foreign class", func() string {
		if pod := w.pod("db"); !isReady(pod) {
			return fmt.Sprintf("phase %s; busy: %v", pod.Status.Phase, w.cluster.Busy())
		}
		return strings.Join(w.cluster.Busy(), "; ")
	})
}

// claimOfForeignClass creates a claim whose volume is made when a pod needs it, by
// a provisioner that does not run here.
func (w *world) claimOfForeignClass(t *testing.T) {
	t.Helper()
	bindVolumes(t, w.client)
	wait := storagev1.VolumeBindingWaitForFirstConsumer
	class := &storagev1.StorageClass{ObjectMeta: metav1.ObjectMeta{GenerateName: "foreign-"}, Provisioner: "csi.example.com", VolumeBindingMode: &wait}
	class, err := w.client.StorageV1().StorageClasses().Create(t.Context(), class, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.client.CoreV1().PersistentVolumeClaims(w.namespace).Create(t.Context(), newClaim("data", &class.Name), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}

func newClaim(name string, class *string) *corev1.PersistentVolumeClaim {
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func mounts(claim string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Volumes = []corev1.Volume{{Name: "data", VolumeSource: corev1.VolumeSource{
			PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: claim},
		}}}
		pod.Spec.Containers[0].VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/data"}}
	}
}

// bindVolumes runs the real persistentvolume-binder, without any plugin.
func bindVolumes(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	ctx := quiet(t)
	factory := informers.NewSharedInformerFactory(client, 0)
	binder, err := persistentvolume.NewController(ctx, persistentvolume.ControllerParameters{
		KubeClient:     client,
		SyncPeriod:     15 * time.Second,
		VolumeInformer: factory.Core().V1().PersistentVolumes(), ClaimInformer: factory.Core().V1().PersistentVolumeClaims(),
		ClassInformer: factory.Storage().V1().StorageClasses(), PodInformer: factory.Core().V1().Pods(), NodeInformer: factory.Core().V1().Nodes(),
		EnableDynamicProvisioning: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	factory.Start(ctx.Done())
	go binder.Run(ctx)
}
