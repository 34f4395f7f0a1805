package engine

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"k8s.io/klog/v2"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
)

// upstream runs kube-controller-manager in the sandbox for as long as the test lasts.
func (l *live) upstream(t *testing.T) {
	t.Helper()
	config, err := testbed.SeedConfig(l.Sandbox)
	if err != nil {
		t.Fatal(err)
	}
	o := simulation()
	o.Config = config
	cluster, err := simulate.Start(klog.NewContext(t.Context(), klog.TODO()), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cluster.Stop(); cluster.Wait() })
	built, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "k8s.io/kubernetes/cmd/kube-controller-manager").Output()
	if err != nil {
		t.Fatalf("build kube-controller-manager: %v", err)
	}
	inputs := l.SigningInputs()
	rootCA := filepath.Join(t.TempDir(), "ca.crt")
	if err := os.WriteFile(rootCA, inputs.RootCA, 0o600); err != nil {
		t.Fatal(err)
	}
	args := append([]string{
		"--kubeconfig=" + l.kubeconfig(t), "--secure-port=0", "--leader-elect=false", "--kube-api-content-type=application/vnd.kubernetes.protobuf",
		fmt.Sprintf("--kube-api-qps=%d", SandboxQPS), fmt.Sprintf("--kube-api-burst=%d", SandboxBurst),
		"--cluster-signing-cert-file=" + inputs.CertFile, "--cluster-signing-key-file=" + inputs.KeyFile,
		"--service-account-private-key-file=" + inputs.ServiceAccountKeyFile, "--root-ca-file=" + rootCA,
		"--service-cluster-ip-range=" + inputs.ServiceCIDR,
	}, l.flags...)
	command := exec.Command(strings.TrimSpace(string(built)), args...)
	log, err := os.Create(filepath.Join(t.TempDir(), "kube-controller-manager.log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		_ = log.Close()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("kube-controller-manager says:\n%s", text[max(0, len(text)-3000):])
		}
	})
}

// kubeconfig is a file that leads to the sandbox.
func (l *live) kubeconfig(t *testing.T) string {
	t.Helper()
	endpoint := l.Endpoint()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: endpoint.URL, CertificateAuthorityData: endpoint.CA}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: endpoint.Token}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	file := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}

// awaitUpstream returns when kube-controller-manager's controllers have started: all
// of them have informers that are synced when a namespace is furnished and a Deployment
// has its pods, and it has come to rest.
func (l *live) awaitUpstream(t *testing.T) {
	t.Helper()
	client := testbed.SeedClient(t, l.Sandbox)
	const probe = "probe"
	meta := metav1.ObjectMeta{Name: probe}
	if _, err := client.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{ObjectMeta: meta}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	labels := map[string]string{"app": probe}
	_, err := client.AppsV1().Deployments(probe).Create(t.Context(), &appsv1.Deployment{ObjectMeta: meta, Spec: appsv1.DeploymentSpec{
		Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: podTemplate("c:1", probe),
	}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	await(t, "kube-controller-manager works", func() bool {
		d, err := client.AppsV1().Deployments(probe).Get(t.Context(), probe, metav1.GetOptions{})
		if err != nil || d.Status.AvailableReplicas != 1 {
			return false
		}
		_, noAccount := client.CoreV1().ServiceAccounts(probe).Get(t.Context(), "default", metav1.GetOptions{})
		_, noCA := client.CoreV1().ConfigMaps(probe).Get(t.Context(), "kube-root-ca.crt", metav1.GetOptions{})
		return noAccount == nil && noCA == nil
	})
}

// podTemplate is one of an image, with a label.
func podTemplate(image, app string) corev1.PodTemplateSpec {
	return corev1.PodTemplateSpec{
		ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"app": app}},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "main", Image: image}}},
	}
}
