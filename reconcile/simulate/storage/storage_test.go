package storage

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/leaktest"
)

func claim(name, provisioner string) *corev1.PersistentVolumeClaim {
	class := ClassName
	return &corev1.PersistentVolumeClaim{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "n", Name: name, UID: types.UID(name),
			Annotations: map[string]string{annStorageProvisioner: provisioner},
		},
		Spec: corev1.PersistentVolumeClaimSpec{
			StorageClassName: &class,
			AccessModes:      []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
			Resources:        corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: resource.MustParse("1Gi")}},
		},
	}
}

func volume(name string, phase corev1.PersistentVolumePhase, change ...func(*corev1.PersistentVolume)) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{"pv.kubernetes.io/provisioned-by": Driver}},
		Spec: corev1.PersistentVolumeSpec{
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: Driver, VolumeHandle: name}},
		},
		Status: corev1.PersistentVolumeStatus{Phase: phase},
	}
	for _, c := range change {
		c(v)
	}
	return v
}

// Claims and volumes are busy exactly while this provisioner has to act on them,
// and nothing of it outlives its context.
func TestBusy(t *testing.T) {
	verify := leaktest.Check(t)
	client := fake.NewClientset(
		claim("mine", Driver), claim("foreign", noProvisioner), claim("unasked", ""),
		volume("released", corev1.VolumeReleased),
		volume("bound", corev1.VolumeBound),
		volume("kept", corev1.VolumeReleased, func(v *corev1.PersistentVolume) {
			v.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
		}),
		volume("local", corev1.VolumeReleased, func(v *corev1.PersistentVolume) {
			v.Annotations = nil
			v.Spec.PersistentVolumeSource = corev1.PersistentVolumeSource{HostPath: &corev1.HostPathVolumeSource{Path: "/tmp/x"}}
		}),
	)
	gate := make(chan struct{})
	for _, verb := range []string{"create", "delete"} {
		client.PrependReactor(verb, "persistentvolumes", func(clienttesting.Action) (bool, runtime.Object, error) {
			<-gate
			return false, nil, nil
		})
	}
	s := build(Options{}, client)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if err := s.Prepare(ctx); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(ctx); err != nil {
		t.Fatal(err)
	}
	want := []string{"persistentvolume released: waiting for deletion", "persistentvolumeclaim n/mine: waiting for its volume"}
	if got := s.Busy(); !slices.Equal(got, want) {
		t.Errorf("busy with %q, want %q", got, want)
	}
	close(gate)
	for deadline := time.Now().Add(10 * time.Second); len(s.Busy()) > 0; time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("busy with %q", s.Busy())
		}
	}
	list, err := client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, v := range list.Items {
		names = append(names, v.Name)
		if strings.HasPrefix(v.Name, "pvc-") && (v.Spec.HostPath != nil || v.Spec.CSI == nil || v.Spec.CSI.Driver != Driver) {
			t.Errorf("%s: source %+v", v.Name, v.Spec.PersistentVolumeSource)
		}
	}
	slices.Sort(names)
	if want := []string{"bound", "kept", "local", "pvc-mine"}; !slices.Equal(names, want) {
		t.Errorf("volumes %q, want %q", names, want)
	}
	cancel()
	s.Wait()
	verify()
}

func TestItAnswersForAllProvisioners(t *testing.T) {
	for asked, want := range map[string]string{"ebs.csi.aws.com": Driver, Driver: Driver, "kubernetes.io/no-provisioner": "kubernetes.io/no-provisioner", "": ""} {
		claim := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{annStorageProvisioner: asked}}}
		if _, err := answersForAll(claim); err != nil || claim.Annotations[annStorageProvisioner] != want {
			t.Errorf("a claim that asks %q: %q, %v", asked, claim.Annotations[annStorageProvisioner], err)
		}
		if asked == "" {
			continue
		}
		class := &storagev1.StorageClass{Provisioner: asked}
		if _, err := answersForAll(class); err != nil || class.Provisioner != want {
			t.Errorf("a class of %q: %q, %v", asked, class.Provisioner, err)
		}
	}
}
