package controllers

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/klog/v2/ktesting"
	"k8s.io/kubernetes/pkg/volume"
	"k8s.io/kubernetes/pkg/volume/hostpath"
)

// hostPlugins are upstream's volume plugins that work on the machine they run
// on, and the packages that bring them along.
var hostPlugins = regexp.MustCompile(`^k8s\.io/kubernetes/(` +
	`pkg/volume/(hostpath|nfs|iscsi|fc|flexvolume|local|git_repo|portworx|emptydir|downwardapi|projected|secret|configmap|image)` +
	`|cmd/kube-controller-manager/app)$`)

// A package that is not linked cannot be run. This covers everything that the
// package brings along, not only its own imports.
func TestNoHostPlugins(t *testing.T) {
	for _, linked := range hostPluginsOf(t, ".") {
		t.Errorf("%s is linked: its code acts on this machine's files, where no HTTP guard sees it", linked)
	}
	// The test would notice.
	if got := hostPluginsOf(t, "k8s.io/kubernetes/cmd/kube-controller-manager/app"); len(got) != 6 {
		t.Errorf("kube-controller-manager itself links %v, not five plugins and the package that lists them", got)
	}
}

func hostPluginsOf(t *testing.T, pkg string) (found []string) {
	t.Helper()
	cmd := exec.Command("go", "list", "-deps", pkg)
	cmd.Env = append(os.Environ(), "GOFLAGS=") // -json there would change what is read here
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, dep := range strings.Fields(string(out)) {
		if hostPlugins.MatchString(dep) {
			found = append(found, dep)
		}
	}
	return found
}

// The plugins that the volume controllers get are CSI's.
func TestVolumePlugins(t *testing.T) {
	for _, p := range volumePlugins() {
		if p.GetPluginName() != "kubernetes.io/csi" {
			t.Errorf("volume plugin %s", p.GetPluginName())
		}
	}
	if noProber() != nil {
		t.Error("a prober looks for drivers on this machine")
	}
}

// A volume that somebody else's manifest released must not cost us a
// directory. The second case proves that the first can fail: with the plugin
// that kube-controller-manager has, the same loop on the same volume deletes.
func TestHostPathVolumeIsLeftAlone(t *testing.T) {
	tests := []struct {
		name     string
		plugins  []volume.VolumePlugin
		survives bool
		// becomes is the volume's phase in the end, or "" for deleted.
		becomes v1.PersistentVolumePhase
	}{
		{"as built", volumePlugins(), true, v1.VolumeFailed},
		{"with the hostPath plugin", append(volumePlugins(), hostpath.ProbeVolumePlugins(volume.VolumeConfig{})...), false, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			// The deleter takes paths below /tmp only.
			dir, err := os.MkdirTemp("/tmp", "kctl-ctrl-hostpath-")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { os.RemoveAll(dir) })
			keepsake := filepath.Join(dir, "keepsake")
			if err := os.WriteFile(keepsake, []byte("mine"), 0o600); err != nil {
				t.Fatal(err)
			}

			if got := releaseVolume(t, dir, tt.plugins); got != tt.becomes {
				t.Errorf("the volume became %q, want %q", got, tt.becomes)
			}
			_, err = os.Stat(keepsake)
			if survived := err == nil; survived != tt.survives {
				t.Errorf("the directory survived: %v, want %v", survived, tt.survives)
			}
		})
	}
}

// releaseVolume runs the binder on a released hostPath volume with reclaim
// policy Delete, until it has dealt with it: deleted the volume, or given up.
// It returns the volume's phase then.
func releaseVolume(t *testing.T, dir string, plugins []volume.VolumePlugin) (phase v1.PersistentVolumePhase) {
	t.Helper()
	pv := &v1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "hostile", ResourceVersion: "1"},
		Spec: v1.PersistentVolumeSpec{
			Capacity:                      v1.ResourceList{v1.ResourceStorage: resource.MustParse("1Gi")},
			AccessModes:                   []v1.PersistentVolumeAccessMode{v1.ReadWriteOnce},
			PersistentVolumeReclaimPolicy: v1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        v1.PersistentVolumeSource{HostPath: &v1.HostPathVolumeSource{Path: dir}},
			// The claim is gone.
			ClaimRef: &v1.ObjectReference{Kind: "PersistentVolumeClaim", Namespace: "default", Name: "gone", UID: "1"},
		},
		Status: v1.PersistentVolumeStatus{Phase: v1.VolumeReleased},
	}
	_, ctx := ktesting.NewTestContext(t)
	ctx, cancel := context.WithCancel(ctx)
	client := fake.NewClientset(pv)
	shared := informers.NewSharedInformerFactory(client, 0)
	s := &scope{
		world: &world{component: complete(t, Inputs{})}, name: "persistentvolume-binder-controller",
		client: client, SharedInformerFactory: shared,
	}
	loops, err := buildBinder(ctx, s, plugins)
	if err != nil {
		t.Fatal(err)
	}
	shared.Start(ctx.Done())
	done := make(chan struct{})
	go func() {
		defer close(done)
		loops[0].run(ctx)
	}()
	defer func() {
		cancel()
		<-done
		shared.Shutdown()
	}()
	within(t, "the binder has dealt with the volume", func() bool {
		got, err := client.CoreV1().PersistentVolumes().Get(ctx, pv.Name, metav1.GetOptions{})
		if err == nil {
			phase = got.Status.Phase
			return phase == v1.VolumeFailed
		}
		phase = ""
		return apierrors.IsNotFound(err)
	})
	return phase
}
