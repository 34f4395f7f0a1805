//go:build restarts

package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"flag"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/pprof"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/informers"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var restarts = flag.Int("restarts", 50, "how often TestRestartsOfAnAPIServer restarts kube-apiserver")

const (
	// equalWithin is how long after the return of an API server a cache may differ from
	// its lists.
	equalWithin = 30 * time.Second
	// equalAtLast is the same where restarts follow each other. A restarted kube-apiserver
	// answers each watch that its version has expired, after which a reflector of client-go
	// v0.37.1 waits: first 0.8 s, doubled each time and up to twice as long at random, up to
	// 60 s, until two minutes have passed (tools/cache/reflector.go, delayHandler). An
	// informer has no option for that (ReflectorOptions.Backoff, #136943).
	equalAtLast = 65 * time.Second
	// quiet is after how long client-go's back-off begins anew.
	quiet = 2 * time.Minute
)

// serverProcess is upstream's kube-apiserver, a process that uses a sandbox's etcd. The
// sandbox's own API server, which is not restarted, takes the load.
type serverProcess struct {
	path, address string
	args          []string
	ready         *http.Client
	log           *os.File
	command       *exec.Cmd
}

func newServerProcess(t *testing.T, sb *sandbox.Sandbox) *serverProcess {
	t.Helper()
	dir := t.TempDir()
	p := &serverProcess{path: filepath.Join(dir, "kube-apiserver")}
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", p.path, "k8s.io/kubernetes/cmd/kube-apiserver").CombinedOutput(); err != nil {
		t.Fatalf("build kube-apiserver: %v\n%s", err, out)
	}
	free, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p.address = free.Addr().String()
	_ = free.Close()
	_, port, _ := net.SplitHostPort(p.address)
	file := func(name string) string { return filepath.Join(sb.RunDir(), name) }
	p.args = []string{
		"--etcd-servers=" + sb.EtcdEndpoint(), "--bind-address=127.0.0.1", "--secure-port=" + port,
		"--advertise-address=127.0.0.1", "--endpoint-reconciler-type=none",
		"--tls-cert-file=" + file("serving.crt"), "--tls-private-key-file=" + file("serving.key"),
		"--anonymous-auth=false", "--authorization-mode=Node,RBAC", "--client-ca-file=" + file("client-ca.crt"), "--token-auth-file=" + file("tokens.csv"),
		"--service-account-issuer=https://kubernetes.default.svc.cluster.local", "--service-account-key-file=" + file("sa.pub"),
		"--service-account-signing-key-file=" + file("sa.key"), "--service-cluster-ip-range=" + sb.SigningInputs().ServiceCIDR,
		"--disable-admission-plugins=ServiceAccount,TaintNodesByCondition",
		"--shutdown-watch-termination-grace-period=1s", // else open watches hold SIGTERM up for a minute
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(sb.Endpoint().CA)
	p.ready = &http.Client{Timeout: time.Second, Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots}, DisableKeepAlives: true}}
	if p.log, err = os.Create(filepath.Join(dir, "log")); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		p.end(os.Kill)
		if t.Failed() {
			text, _ := os.ReadFile(p.log.Name())
			t.Logf("kube-apiserver says:\n%s", text[max(0, len(text)-3000):])
		}
		_ = p.log.Close()
	})
	return p
}

// start returns when /readyz is ok.
func (p *serverProcess) start(t *testing.T, token string) {
	t.Helper()
	p.command = exec.Command(p.path, p.args...)
	p.command.Stderr = p.log
	if err := p.command.Start(); err != nil {
		t.Fatal(err)
	}
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "https://"+p.address+"/readyz", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+token)
	await(t, "kube-apiserver is ready", func() bool {
		answer, err := p.ready.Do(request)
		if err != nil {
			return false
		}
		_, _ = io.Copy(io.Discard, answer.Body)
		_ = answer.Body.Close()
		return answer.StatusCode == http.StatusOK
	})
}

func (p *serverProcess) end(signal os.Signal) {
	if p.command == nil {
		return
	}
	_ = p.command.Process.Signal(signal)
	_ = p.command.Wait()
	p.command = nil
}

// kubeconfig leads to the process.
func (p *serverProcess) kubeconfig(t *testing.T, endpoint sandbox.Endpoint) string {
	t.Helper()
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: "https://" + p.address, CertificateAuthorityData: endpoint.CA}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Token: endpoint.Token}
	config.Contexts["restarted"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "restarted"
	path := filepath.Join(t.TempDir(), "kubeconfig")
	if err := clientcmd.WriteToFile(*config, path); err != nil {
		t.Fatal(err)
	}
	return path
}

// caches are a session's on a cluster: those of controllers in a dry run, and the TUI's.
type caches struct {
	engine  *engine.Engine
	set     *informers.Set
	handles map[string]*informers.Handle
}

func openCaches(t *testing.T, kubeconfig string) (c *caches, end func()) {
	t.Helper()
	o := &engineflags.Options{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{}
	o.AddTo(cmd)
	if err := cmd.ParseFlags([]string{"--controllers=deployment,replicaset,job,namespace,garbagecollector", "--kube-api-qps=-1", "--kubeconfig=" + kubeconfig}); err != nil {
		t.Fatal(err)
	}
	spec, err := o.Spec(state.ModeDryRunClient, engine.Approvals{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	c = &caches{engine: s, handles: map[string]*informers.Handle{}}
	end = sync.OnceFunc(func() {
		if c.set != nil {
			c.set.Close()
		}
		engineflags.ShutDown(s, io.Discard)
	})
	t.Cleanup(end)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	config, err := cliflags.ReadOnlyConfig(o.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	if c.set, err = informers.New(config, informers.Options{Recorder: s.Journal()}); err != nil {
		t.Fatal(err)
	}
	for typ, contents := range map[owners.Type]informers.Contents{
		{Version: "v1", Resource: "pods", Kind: "Pod", Namespaced: true}:             informers.Whole,
		{Version: "v1", Resource: "configmaps", Kind: "ConfigMap", Namespaced: true}: informers.Metadata,
	} {
		if c.handles[typ.Resource], err = c.set.Open(typ, "", contents); err != nil {
			t.Fatal(err)
		}
	}
	return c, end
}

// listed are the versions of the server's pods and ConfigMaps.
func listed(t *testing.T, client kubernetes.Interface) map[string]map[string]string {
	t.Helper()
	pods, err := client.CoreV1().Pods("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	configMaps, err := client.CoreV1().ConfigMaps("").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]map[string]string{"pods": {}, "configmaps": {}}
	for _, o := range pods.Items {
		out["pods"][o.Namespace+"/"+o.Name] = o.ResourceVersion
	}
	for _, o := range configMaps.Items {
		out["configmaps"][o.Namespace+"/"+o.Name] = o.ResourceVersion
	}
	return out
}

// ofTUI reports whether the TUI's caches equal lists.
func (c *caches) ofTUI(t *testing.T, want map[string]map[string]string) bool {
	t.Helper()
	for resource, handle := range c.handles {
		w, err := handle.Window(informers.Query{}, 0, 1_000_000)
		if err != nil {
			return false
		}
		got := map[string]string{}
		for _, r := range w.Rows {
			got[r.Key()] = r.ResourceVersion
		}
		if !maps.Equal(got, want[resource]) {
			return false
		}
	}
	return true
}

// ofControllers is the same for theirs, which are two of each type at most: the garbage
// collector's hold metadata.
func (c *caches) ofControllers(want map[string]map[string]string) bool {
	found := map[string]bool{}
	for _, s := range c.engine.Tap().Stores() {
		versions, is := want[s.Kind.Type()]
		if !is {
			continue
		}
		found[s.Kind.Type()] = true
		got := map[string]string{}
		for _, o := range s.All() {
			got[o.GetNamespace()+"/"+o.GetName()] = o.GetResourceVersion()
		}
		if !maps.Equal(got, versions) {
			return false
		}
	}
	return len(found) == len(want)
}

// underLoad creates, changes and deletes objects until stop.
func underLoad(t *testing.T, client kubernetes.Interface, round int) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var load sync.WaitGroup
	load.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			name := fmt.Sprintf("o-%d-%d", round, i)
			labels := map[string]string{"round": fmt.Sprint(round)}
			_, _ = client.CoreV1().ConfigMaps("default").Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}}, metav1.CreateOptions{})
			_, _ = client.CoreV1().Pods("default").Create(ctx, &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: name, Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}, metav1.CreateOptions{})
			old := fmt.Sprintf("o-%d-%d", round-1, i)
			_ = client.CoreV1().ConfigMaps("default").Delete(ctx, old, metav1.DeleteOptions{})
			_ = client.CoreV1().Pods("default").Delete(ctx, old, metav1.DeleteOptions{})
			select {
			case <-ctx.Done():
			case <-time.After(10 * time.Millisecond):
			}
		}
	})
	return func() { cancel(); load.Wait() }
}

// TestRestartsOfAnAPIServer restarts upstream's kube-apiserver under load, in turn by
// SIGTERM and SIGKILL. The caches of the TUI and of controllers equal its lists within
// client-go's back-off for expired versions, and within 30 s after a restart that follows
// two quiet minutes. At the end no goroutine is left.
func TestRestartsOfAnAPIServer(t *testing.T) {
	testbed.WithControllers(t)
	options := testbed.Options(nil)
	options.Audit = sandbox.AuditNone
	sb, err := sandbox.Start(t.Context(), options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = sb.Close(context.Background()) })
	load := testbed.SeedClient(t, sb)
	token := sb.Endpoint().Token
	server := newServerProcess(t, sb)
	server.start(t, token)
	kubeconfig := server.kubeconfig(t, sb.Endpoint())

	listed(t, load)                          // its connection stays
	_, endFirst := openCaches(t, kubeconfig) // what a process starts once is no leak
	endFirst()
	before := settled(runtime.NumGoroutine)
	c, end := openCaches(t, kubeconfig)
	// equal waits until the caches equal the server's lists.
	equal := func(what string, bound time.Duration) (ofTUI, ofControllers time.Duration) {
		want := listed(t, load)
		for began := time.Now(); ofTUI == 0 || ofControllers == 0; time.Sleep(20 * time.Millisecond) {
			took := time.Since(began)
			if ofTUI == 0 && c.ofTUI(t, want) {
				ofTUI = took
			}
			if ofControllers == 0 && c.ofControllers(want) {
				ofControllers = took
			}
			if took > bound {
				t.Fatalf("%s caches differ for %s; equal: the TUI's after %s, the controllers' after %s", what, took, ofTUI, ofControllers)
			}
		}
		return ofTUI, ofControllers
	}
	equal("at the start", equalWithin)
	restart := func(round int) {
		stop := underLoad(t, load, round)
		defer stop()
		signal := os.Signal(syscall.SIGTERM)
		if round%2 == 1 {
			signal = os.Kill
		}
		server.end(signal)
		server.start(t, token)
	}
	var slowestTUI, slowest time.Duration
	for round := range *restarts {
		restart(round)
		if round%10 != 9 && round != *restarts-1 {
			continue
		}
		ofTUI, ofControllers := equal(fmt.Sprintf("after restart %d", round+1), equalAtLast)
		slowestTUI, slowest = max(slowestTUI, ofTUI), max(slowest, ofControllers)
		t.Logf("restart %d: the TUI's caches are equal after %s, the controllers' after %s", round+1, ofTUI.Round(time.Millisecond), ofControllers.Round(time.Millisecond))
	}
	time.Sleep(quiet)
	restart(*restarts)
	ofTUI, ofControllers := equal("after two quiet minutes and a restart", equalWithin)
	t.Logf("%d restarts: the TUI's caches were equal after at most %s, the controllers' after at most %s; after two quiet minutes and one more, after %s and %s", *restarts,
		slowestTUI.Round(time.Millisecond), slowest.Round(time.Millisecond), ofTUI.Round(time.Millisecond), ofControllers.Round(time.Millisecond))

	end()
	http.DefaultTransport.(*http.Transport).CloseIdleConnections()
	for began := time.Now(); runtime.NumGoroutine() > before; time.Sleep(50 * time.Millisecond) {
		if time.Since(began) > equalWithin {
			var stacks bytes.Buffer
			_ = pprof.Lookup("goroutine").WriteTo(&stacks, 1)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, stacks.String())
		}
	}
}

// settled is a number that has not changed for a while.
func settled(number func() int) int {
	n, since := number(), time.Now()
	for time.Since(since) < time.Second {
		time.Sleep(20 * time.Millisecond)
		if now := number(); now != n {
			n, since = now, time.Now()
		}
	}
	return n
}
