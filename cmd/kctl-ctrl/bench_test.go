package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The benchmarks print the figures of docs/benchmarks.md, which has the
// commands. They are of whole processes and of seconds: run them with
// -benchtime=1x, each takes its own number of runs and reports the median.

func median(values []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(values))[len(values)/2]
}

// BenchmarkDiff is the time of a whole `kctl-ctrl diff` of one Deployment, from
// the start of the process to its end: median of ten, after one to warm the
// file cache.
func BenchmarkDiff(b *testing.B) {
	binary := buildProgram(b)
	manifest := filepath.Join(b.TempDir(), "web.yaml")
	if err := os.WriteFile(manifest, []byte(`apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: "registry.example/web:1"}]}
`), 0o600); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		var took []time.Duration
		for i := range 11 {
			begin := time.Now()
			out, err := exec.Command(binary, "diff", "-f", manifest).CombinedOutput()
			var failed *exec.ExitError
			if !errors.As(err, &failed) || failed.ExitCode() != exit.Changed || !strings.Contains(string(out), "3 Pods") {
				b.Fatalf("diff: %v\n%s", err, out)
			}
			if i > 0 {
				took = append(took, time.Since(begin))
			}
		}
		b.ReportMetric(median(took).Seconds(), "s/diff")
		b.ReportMetric(slices.Max(took).Seconds(), "s/slowest")
	}
}

// Fill is the size of the comparison with upstream's binary.
const (
	fillDeployments = 200
	fillReplicas    = 10
)

// BenchmarkFill is the time from the creation of the first of 200 Deployments
// until their 2,000 pods exist: our loops, taps and journal on, against
// upstream's kube-controller-manager of the same release, with the same QPS and
// burst, without scheduler and nodes. Three runs each, interleaved.
func BenchmarkFill(b *testing.B) {
	upstream, err := exec.Command("go", "tool", "-n", "k8s.io/kubernetes/cmd/kube-controller-manager").Output()
	if err != nil {
		b.Fatalf("build kube-controller-manager: %v", err)
	}
	kcm := strings.TrimSpace(string(upstream))
	for b.Loop() {
		var ours, theirs []time.Duration
		for range 3 {
			theirs = append(theirs, fill(b, func(f *filled) { f.runUpstream(kcm) }))
			ours = append(ours, fill(b, (*filled).runOurs))
		}
		b.ReportMetric(median(ours).Seconds(), "s/kctl-ctrl")
		b.ReportMetric(median(theirs).Seconds(), "s/upstream")
		b.ReportMetric(median(ours).Seconds()/median(theirs).Seconds(), "ratio")
		b.Logf("kctl-ctrl %v, upstream %v", ours, theirs)
	}
}

// filled is one sandbox of the comparison.
type filled struct {
	*testing.B
	*sandbox.Sandbox
	stop func()
}

// fill starts a sandbox and a controller manager, waits until that has made the
// pod of a first Deployment, and takes the time for the rest.
func fill(b *testing.B, run func(*filled)) time.Duration {
	b.Helper()
	sb, err := sandbox.Start(b.Context(), sandbox.Options{})
	if err != nil {
		b.Fatal(err)
	}
	defer sb.Close(context.Background())
	client := testbed.SeedClient(b, sb)
	pods := make(chan struct{}, fillDeployments*fillReplicas+1)
	factory := informers.NewSharedInformerFactory(client, 0)
	if _, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc: func(any) { pods <- struct{}{} },
	}); err != nil {
		b.Fatal(err)
	}
	stop := make(chan struct{})
	defer factory.Shutdown()
	defer close(stop)
	factory.Start(stop)

	f := &filled{B: b, Sandbox: sb}
	run(f)
	defer f.stop()
	if err := f.create(client, "warm-up", 1); err != nil {
		b.Fatal(err)
	}
	f.await(pods, 1)

	begin := time.Now()
	var creating errgroup.Group
	creating.SetLimit(10)
	for i := range fillDeployments {
		creating.Go(func() error { return f.create(client, fmt.Sprintf("web-%d", i), fillReplicas) })
	}
	f.await(pods, fillDeployments*fillReplicas)
	took := time.Since(begin)
	if err := creating.Wait(); err != nil {
		b.Fatal(err)
	}
	return took
}

func (f *filled) create(client kubernetes.Interface, name string, replicas int32) error {
	labels := map[string]string{"app": name}
	_, err := client.AppsV1().Deployments("default").Create(f.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To(replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
			},
		},
	}, metav1.CreateOptions{})
	return err
}

// await returns when n more pods have appeared.
func (f *filled) await(pods <-chan struct{}, n int) {
	f.Helper()
	timeout := time.After(3 * time.Minute)
	for ; n > 0; n-- {
		select {
		case <-pods:
		case <-timeout:
			f.Fatalf("%d pods are missing after three minutes", n)
		}
	}
}

// runOurs starts the loops in this process, as run does.
func (f *filled) runOurs() {
	s, err := testEngine(f, engine.Spec{})
	if err != nil {
		f.Fatal(err)
	}
	f.stop = func() { engineflags.ShutDown(s, io.Discard) }
	endpoint := f.Endpoint()
	grant, err := guard.GrantSandbox(endpoint.URL, endpoint.CA, sandbox.Recognise)
	if err != nil {
		f.Fatal(err)
	}
	wrap, err := s.Guarded(guard.Options{Mode: state.ModeActive, Grant: grant})
	if err != nil {
		f.Fatal(err)
	}
	config, err := connect.Server(connect.Endpoint(endpoint), wrap, connect.Limits{QPS: engine.SandboxQPS, Burst: engine.SandboxBurst})
	if err != nil {
		f.Fatal(err)
	}
	s.ConnectBy(config, state.ModeActive)
	component, rootCA := f.component()
	if err := s.StartControllers(f.Context(), controllers.Config{Component: component, RootCA: rootCA}); err != nil {
		f.Fatal(err)
	}
}

// component is the configuration of all loops for the sandbox.
func (f *filled) component() (component *kubectrlmgrconfig.KubeControllerManagerConfiguration, rootCA []byte) {
	options, err := controllers.NewOptions()
	if err != nil {
		f.Fatal(err)
	}
	options.DefaultThroughput(engine.SandboxQPS, engine.SandboxBurst)
	inputs := f.SigningInputs()
	component, err = options.Complete(controllers.Inputs{
		SigningCertFile: inputs.CertFile, SigningKeyFile: inputs.KeyFile,
		ServiceAccountKeyFile: inputs.ServiceAccountKeyFile, ServiceCIDR: inputs.ServiceCIDR,
	})
	if err != nil {
		f.Fatal(err)
	}
	return component, inputs.RootCA
}

// runUpstream starts upstream's binary with the same inputs.
func (f *filled) runUpstream(binary string) {
	dir := f.TempDir()
	kubeconfig, err := f.WriteKubeconfig(filepath.Join(dir, "kubeconfig"))
	if err != nil {
		f.Fatal(err)
	}
	inputs := f.SigningInputs()
	rootCA := filepath.Join(dir, "ca.crt")
	if err := os.WriteFile(rootCA, inputs.RootCA, 0o600); err != nil {
		f.Fatal(err)
	}
	command := exec.Command(binary,
		"--kubeconfig="+kubeconfig, "--leader-elect=false", "--secure-port=0",
		fmt.Sprintf("--kube-api-qps=%d", engine.SandboxQPS), fmt.Sprintf("--kube-api-burst=%d", engine.SandboxBurst),
		"--root-ca-file="+rootCA, "--service-account-private-key-file="+inputs.ServiceAccountKeyFile,
		"--cluster-signing-cert-file="+inputs.CertFile, "--cluster-signing-key-file="+inputs.KeyFile,
	)
	log, err := os.Create(filepath.Join(dir, "log"))
	if err != nil {
		f.Fatal(err)
	}
	command.Stdout, command.Stderr = log, log
	if err := command.Start(); err != nil {
		f.Fatal(err)
	}
	f.stop = func() {
		_ = command.Process.Signal(syscall.SIGKILL)
		_ = command.Wait()
		_ = log.Close()
	}
}
