package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// The size of the cluster that is asked.
const (
	askObjects = 50_000
	askTypes   = 100
	askGroups  = 10
	askRuns    = 5
)

// BenchmarkAsk is what questions to a cluster of 50,000 objects and 100
// CustomResourceDefinitions cost as whole processes: time, requests, and bytes on
// the wire; `tree` of one Deployment beside what kubectl-tree does for the same.
func BenchmarkAsk(b *testing.B) {
	binary := buildProgram(b)
	for name, namespaces := range map[string]int{"50 namespaces of 1000 objects": 50, "one namespace of 50000 objects": 1} {
		b.Run(name, func(b *testing.B) {
			c := newBenchedCluster(b, binary, namespaces)
			for b.Loop() {
				c.tree()
				c.verb("get leases", "get", "leases", "-A")
				c.verb("revisions", "revisions", "deployment/app-0", "-n", "ns-0")
			}
		})
	}
	b.Run("help", func(b *testing.B) {
		c := &benchedCluster{B: b, binary: binary}
		for b.Loop() {
			c.verb("--help", "--help")
		}
	})
}

// buildProgram builds the program as it is released, symbols and all.
func buildProgram(b *testing.B) string {
	b.Helper()
	binary := filepath.Join(b.TempDir(), "kctl-ctrl")
	build := exec.Command("go", "build", "-o", binary, ".")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		b.Fatalf("%v\n%s", err, out)
	}
	return binary
}

// wireMeter passes connections on to a server and counts the bytes that come
// back, TLS and compression as they are.
type wireMeter struct {
	listener net.Listener
	received atomic.Int64
}

func newWireMeter(b *testing.B, server string) *wireMeter {
	b.Helper()
	u, err := url.Parse(server)
	if err != nil {
		b.Fatal(err)
	}
	m := &wireMeter{}
	if m.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = m.listener.Close() })
	go func() {
		for {
			near, err := m.listener.Accept()
			if err != nil {
				return
			}
			go m.pass(near, u.Host)
		}
	}()
	return m
}

func (m *wireMeter) pass(near net.Conn, host string) {
	defer near.Close()
	far, err := net.Dial("tcp", host)
	if err != nil {
		return
	}
	defer far.Close()
	go func() {
		_, _ = io.Copy(far, near)
		_ = far.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(near, countedReader{far, &m.received})
}

type countedReader struct {
	io.Reader
	n *atomic.Int64
}

func (c countedReader) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n.Add(int64(n))
	return n, err
}

// run executes the program and gives the time it took.
func (c *benchedCluster) run(name string, args ...string) (took time.Duration, stdout, stderr string) {
	c.Helper()
	command := exec.Command(name, args...)
	command.Env = append(os.Environ(), "KUBECONFIG="+c.kubeconfig)
	var out, words bytes.Buffer
	command.Stdout, command.Stderr = &out, &words
	begin := time.Now()
	if err := command.Run(); err != nil {
		c.Fatalf("%s %v: %v\n%s%s", name, args, err, out.String(), words.String())
	}
	return time.Since(begin), out.String(), words.String()
}

// verb reports the median time of a command line, after one run to warm up.
func (c *benchedCluster) verb(what string, args ...string) {
	var took []time.Duration
	for i := range askRuns + 1 {
		if d, _, _ := c.run(c.binary, args...); i > 0 {
			took = append(took, d)
		}
	}
	c.ReportMetric(median(took).Seconds(), "s/"+strings.ReplaceAll(what, " ", "-"))
	c.Logf("%s: median %v, slowest %v", what, median(took), slices.Max(took))
}

// cost is one look at a tree.
type cost struct {
	took     time.Duration
	requests int
	// read are the bytes of the answers' bodies, unpacked; wire what came over
	// the network, where answers above 128 KiB are compressed.
	read, wire int64
}

func (c cost) String() string {
	return fmt.Sprintf("%v, %d requests, %d KiB read, %d KiB on the wire", c.took.Round(time.Millisecond), c.requests, c.read>>10, c.wire>>10)
}

// tree compares, runs interleaved.
func (c *benchedCluster) tree() {
	theirs, what := func(cache string) cost { return c.modelled(cache, "ns-0") }, "a model of kubectl-tree"
	if installed, err := exec.LookPath("kubectl-tree"); err == nil {
		what = installed
		theirs = func(string) cost {
			before := c.wire.received.Load()
			took, _, drawn := c.run(installed, "deployment", "app-0", "-n", "ns-0")
			c.mustShow(drawn)
			return cost{took: took, wire: c.wire.received.Load() - before}
		}
	}
	cache := c.TempDir()
	var ours, other []cost
	for i := range askRuns + 1 {
		o, t := c.ours(), theirs(cache)
		if i > 0 {
			ours, other = append(ours, o), append(other, t)
		}
	}
	middle := func(costs []cost) cost {
		return slices.SortedFunc(slices.Values(costs), func(a, b cost) int { return int(a.took - b.took) })[len(costs)/2]
	}
	o, t := middle(ours), middle(other)
	c.ReportMetric(o.took.Seconds(), "s/tree")
	c.ReportMetric(t.took.Seconds(), "s/kubectl-tree")
	c.ReportMetric(o.took.Seconds()/t.took.Seconds(), "ratio-time")
	c.ReportMetric(float64(o.wire)/float64(t.wire), "ratio-wire")
	if t.read > 0 {
		c.ReportMetric(float64(o.read)/float64(t.read), "ratio-read")
	}
	c.Logf("kctl-ctrl tree: %v; %s: %v", o, what, t)
	c.Logf("a model of kubectl-tree --all-namespaces, once: %v", c.modelled(cache, ""))
}

func (c *benchedCluster) ours() cost {
	before := c.wire.received.Load()
	took, drawn, _ := c.run(c.binary, "tree", "deployment/app-0", "-n", "ns-0")
	out := cost{took: took, wire: c.wire.received.Load() - before}
	c.mustShow(drawn)
	// What it says of itself, of a run more: a document has the exact figures.
	_, text, _ := c.run(c.binary, "tree", "deployment/app-0", "-n", "ns-0", "-o", "json")
	var list document.OwnerTreeList
	if err := json.Unmarshal([]byte(text), &list); err != nil || len(list.Items) != 1 {
		c.Fatalf("read the document of tree: %v", err)
	}
	out.requests, out.read = int(list.Items[0].Cost.Requests), list.Items[0].Cost.Bytes
	return out
}

func (c *benchedCluster) mustShow(tree string) {
	c.Helper()
	if pods, things := strings.Count(tree, "Pod/app-0-5d4f-"), strings.Count(tree, "Thing"); pods != 8 || things != 4 {
		c.Fatalf("%d pods and %d custom resources in\n%s", pods, things, tree)
	}
}

// modelled makes the requests of kubectl-tree v0.4 in this process, as its
// sources have them: preferred types by cached discovery, here with a warm cache
// on disk; the object; and a list of every type that can be listed, whole
// objects in JSON, in pages of 250, all types at once, in the object's namespace
// or, as with --all-namespaces, everywhere. It has no process to start and
// nothing to print.
func (c *benchedCluster) modelled(cache, namespace string) cost {
	before := c.wire.received.Load()
	begin := time.Now()
	flags := genericclioptions.NewConfigFlags(false)
	flags.KubeConfig, flags.CacheDir = &c.kubeconfig, &cache
	config, err := clientcmd.BuildConfigFromFlags("", c.kubeconfig)
	if err != nil {
		c.Fatal(err)
	}
	var requests, read atomic.Int64
	config.QPS, config.Burst, config.WarningHandler = 1000, 1000, rest.NoWarnings{}
	config.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return countedAnswers{next, &requests, &read}
	})
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		c.Fatal(err)
	}
	asking, err := flags.ToDiscoveryClient()
	if err != nil {
		c.Fatal(err)
	}
	lists, err := asking.ServerPreferredResources()
	if err != nil {
		c.Fatal(err)
	}
	root, err := client.Resource(schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}).Namespace("ns-0").Get(c.Context(), "app-0", metav1.GetOptions{})
	if err != nil {
		c.Fatal(err)
	}
	var mu sync.Mutex
	var objects []unstructured.Unstructured
	var failures []error
	var listing sync.WaitGroup
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			c.Fatal(err)
		}
		for _, r := range list.APIResources {
			if !r.Namespaced && namespace != "" || !slices.Contains(r.Verbs, "list") {
				continue
			}
			listing.Go(func() {
				for next := ""; ; {
					page, err := client.Resource(gv.WithResource(r.Name)).Namespace(namespace).List(c.Context(), metav1.ListOptions{Limit: 250, Continue: next})
					mu.Lock()
					if err != nil {
						failures = append(failures, err)
					} else {
						objects = append(objects, page.Items...)
						next = page.GetContinue()
					}
					mu.Unlock()
					if err != nil || next == "" {
						return
					}
				}
			})
		}
	}
	listing.Wait()
	if err := errors.Join(failures...); err != nil {
		c.Fatal(err)
	}
	children := map[string][]*unstructured.Unstructured{}
	for i := range objects {
		for _, owner := range objects[i].GetOwnerReferences() {
			children[string(owner.UID)] = append(children[string(owner.UID)], &objects[i])
		}
	}
	var drawn strings.Builder
	var draw func(*unstructured.Unstructured)
	draw = func(o *unstructured.Unstructured) {
		fmt.Fprintf(&drawn, "%s/%s\n", o.GetKind(), o.GetName())
		for _, child := range children[string(o.GetUID())] {
			draw(child)
		}
	}
	draw(root)
	took := time.Since(begin)
	c.mustShow(drawn.String())
	return cost{took: took, requests: int(requests.Load()), read: read.Load(), wire: c.wire.received.Load() - before}
}

// countedAnswers counts requests and the bytes of their answers.
type countedAnswers struct {
	next           http.RoundTripper
	requests, read *atomic.Int64
}

func (c countedAnswers) RoundTrip(r *http.Request) (*http.Response, error) {
	c.requests.Add(1)
	answer, err := c.next.RoundTrip(r)
	if err == nil {
		answer.Body = struct {
			io.Reader
			io.Closer
		}{countedReader{answer.Body, c.read}, answer.Body}
	}
	return answer, err
}
