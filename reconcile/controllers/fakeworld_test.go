package controllers

import (
	"context"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	fakediscovery "k8s.io/client-go/discovery/fake"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	corev1client "k8s.io/client-go/kubernetes/typed/core/v1"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/rest"
	restfake "k8s.io/client-go/rest/fake"
	"k8s.io/client-go/restmapper"
	"k8s.io/controller-manager/pkg/clientbuilder"
	"k8s.io/controller-manager/pkg/informerfactory"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// fakeWorld is what descriptors build their loops from, on a fake API server: the
// tracker of a fake clientset, whose watches deliver what a test adds to it.
type fakeWorld struct {
	*world
	t       testing.TB
	ctx     context.Context
	tap     *tap.Tap
	client  fakeClient
	running sync.WaitGroup
}

// fakeInputs is what an ordinary cluster has beside its API.
type fakeInputs struct {
	component *componentConfig
	rootCA    []byte
}

func newFakeInputs(t *testing.T) fakeInputs {
	in := testInputs(t)
	return fakeInputs{complete(t, in.Inputs, everything()), in.rootCA}
}

// newFakeWorld returns a world in which informers and handlers are seen by tp.
func newFakeWorld(t testing.TB, ctx context.Context, tp *tap.Tap, in fakeInputs, objects ...runtime.Object) *fakeWorld {
	client := fakeClient{fake.NewClientset(objects...)}
	client.Resources = discovered()
	s := metadatafake.NewTestScheme()
	if err := metav1.AddMetaToScheme(s); err != nil {
		t.Fatal(err)
	}
	partial := metadatafake.NewSimpleMetadataClient(s)
	shared := informers.NewSharedInformerFactory(client, 0)
	return &fakeWorld{t: t, ctx: ctx, tap: tp, client: client, world: &world{
		component: in.component, rootCA: in.rootCA,
		clients: fakeClients{client: client}, taps: tp,
		served: served{namespaced: discovered(), resources: map[schema.GroupVersionResource]struct{}{
			{Group: "certificates.k8s.io", Version: "v1beta1", Resource: "clustertrustbundles"}: {},
		}},
		informers:        shared,
		objectOrMetadata: informerfactory.NewInformerFactory(shared, metadatainformer.NewSharedInformerFactory(partial, 0)),
		metadata:         partial,
		restMapper:       restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(client.Discovery())),
		informersStarted: make(chan struct{}),
		resyncPeriod:     func() time.Duration { return time.Minute },
		untapped:         func(_ string, why error) error { return why },
	}}
}

// build makes the loops of a controller and attaches the taps, as a Manager does.
func (w *fakeWorld) build(name string) []loop {
	w.t.Helper()
	all := Descriptors()
	d := &all[slices.IndexFunc(all, func(d Descriptor) bool { return d.Name == name })]
	s, err := w.scope(d)
	if err != nil {
		w.t.Fatal(err)
	}
	s.workers = max(s.workers, 2)
	loops, err := d.build(w.ctx, s)
	if err != nil {
		w.t.Fatalf("build %s: %v", name, err)
	}
	for _, l := range loops {
		specs, err := d.Specs(l.name)
		if err != nil {
			w.t.Fatal(err)
		}
		if err := w.tap.Attach(name, l.target, specs...); err != nil {
			w.t.Fatal(err)
		}
	}
	return loops
}

// run builds a controller and runs its loops until the world's context is done.
func (w *fakeWorld) run(ctx context.Context, name string) {
	w.t.Helper()
	for _, l := range w.build(name) {
		w.running.Go(func() { w.tap.Run(ctx, name, l.run) })
	}
}

// start starts the informers.
func (w *fakeWorld) start(ctx context.Context) {
	w.objectOrMetadata.Start(ctx.Done())
	close(w.informersStarted)
}

// end waits for the loops and the informers; their context is done.
func (w *fakeWorld) end() {
	w.running.Wait()
	w.informers.Shutdown()
	w.tap.Close()
}

// discovered is what the fake API server says it has.
func discovered() []*metav1.APIResourceList {
	verbs := metav1.Verbs{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"}
	return []*metav1.APIResourceList{{
		GroupVersion: "v1",
		APIResources: []metav1.APIResource{
			{Name: "pods", Kind: "Pod", Namespaced: true, Verbs: verbs},
			{Name: "secrets", Kind: "Secret", Namespaced: true, Verbs: verbs},
		},
	}}
}

// fakeClient is the fake clientset with a REST client that refuses everything. The
// node controllers write their Events through one; the fake's is nil.
type fakeClient struct{ *fake.Clientset }

func (c fakeClient) CoreV1() corev1client.CoreV1Interface { return &fakeCore{c.Clientset.CoreV1()} }

type fakeCore struct{ corev1client.CoreV1Interface }

func (*fakeCore) RESTClient() rest.Interface {
	return &restfake.RESTClient{
		NegotiatedSerializer: scheme.Codecs.WithoutConversion(),
		Client:               restfake.CreateHTTPClient(refuse),
	}
}

func refuse(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusForbidden, Header: http.Header{}, Body: http.NoBody}, nil
}

// absent answers that there is no such object: the garbage collector asks for owners.
func absent(*http.Request) (*http.Response, error) {
	const status = `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":"NotFound","code":404}`
	return &http.Response{
		StatusCode: http.StatusNotFound, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(strings.NewReader(status)),
	}, nil
}

// fakeClients gives every controller the same fake client. Clients of other kinds, made
// from Config, find nothing.
type fakeClients struct {
	clientbuilder.ControllerClientBuilder // nil: nothing else is called
	client                                fakeClient
}

func (c fakeClients) Config(string) (*rest.Config, error) {
	return &rest.Config{Host: "http://fake.invalid", QPS: -1, Transport: restfake.CreateHTTPClient(absent).Transport}, nil
}

func (c fakeClients) Client(string) (kubernetes.Interface, error) { return c.client, nil }

func (c fakeClients) DiscoveryClient(string) (discovery.DiscoveryInterface, error) {
	return preferred{c.client.Discovery().(*fakediscovery.FakeDiscovery)}, nil
}

// preferred answers what the fake discovery client leaves out.
type preferred struct{ *fakediscovery.FakeDiscovery }

func (preferred) ServerPreferredResources() ([]*metav1.APIResourceList, error) {
	return discovered(), nil
}

func (preferred) ServerPreferredResourcesWithContext(context.Context) ([]*metav1.APIResourceList, error) {
	return discovered(), nil
}

func (preferred) ServerPreferredNamespacedResources() ([]*metav1.APIResourceList, error) {
	return discovered(), nil
}

func (preferred) ServerPreferredNamespacedResourcesWithContext(context.Context) ([]*metav1.APIResourceList, error) {
	return discovered(), nil
}

// journal is a Recorder that keeps what it is given.
type journal struct {
	mu     sync.Mutex
	events []state.Event
}

func (j *journal) Record(e state.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.events = append(j.events, e)
}

func eventsOf[E state.Event](j *journal) []E {
	j.mu.Lock()
	defer j.mu.Unlock()
	var out []E
	for _, e := range j.events {
		if e, ok := e.(E); ok {
			out = append(out, e)
		}
	}
	return out
}

// soon waits until condition holds, up to a minute, and says what is missing.
func soon(t *testing.T, condition func() bool, missing func() string) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("not within a minute: %s", missing())
		}
	}
}
