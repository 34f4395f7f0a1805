package tap

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestOneInformerPerType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		trimmed := func(obj any) (any, error) {
			obj.(*corev1.Pod).Annotations = map[string]string{"transformed": "yes"}
			return obj, nil
		}
		tweak := func(o *metav1.ListOptions) { o.LabelSelector = labels.Everything().String() }
		w := newWorld(t, []runtime.Object{pod("web", "1"), &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "else", Name: "x"}}},
			informers.WithNamespace("shop"), informers.WithTransform(trimmed), informers.WithTweakListOptions(tweak),
			informers.WithCustomResyncConfig(map[metav1.Object]time.Duration{&corev1.Pod{}: time.Minute}))
		view := must(w.tap.Informers("ctl", must(w.tap.Informers("stacked", w.factory))))
		var got []string
		handle(t, view.Core().V1().Pods().Informer(), func(what string) { got = append(got, what+" "+string(w.tap.Cause().Change)) })
		generic, err := view.ForResource(corev1.SchemeGroupVersion.WithResource("pods"))
		if err != nil {
			t.Fatal(err)
		}
		store := w.factory.Core().V1().Pods().Informer().GetStore()
		for name, i := range map[string]cache.SharedIndexInformer{
			"Informer":      view.Core().V1().Pods().Informer(),
			"ForResource":   generic.Informer(),
			"TypedInformer": view.Core().V1().Pods().TypedInformer(),
		} {
			if i.GetStore() != store {
				t.Errorf("%s: an informer of its own", name)
			}
		}
		if err := view.Core().V1().Pods().Informer().AddIndexers(cache.Indexers{"mine": cache.MetaNamespaceIndexFunc}); err != nil {
			t.Error(err)
		}
		w.start()
		view.WaitForCacheSync(t.Context().Done())
		equal(t, "objects of the namespace", store.ListKeys(), []string{"shop/web"})
		p, err := view.Core().V1().Pods().Lister().Pods("shop").Get("web")
		if err != nil || p.Annotations["transformed"] != "yes" {
			t.Errorf("not transformed: %v, %v", p, err)
		}
		time.Sleep(90 * time.Second)
		synctest.Wait()
		equal(t, "the handler's resync", got, []string{"add listed", "update resync"})
		equal(t, "recorded changes", len(of[state.ObjectChanged](w.journal)), 1)
		equal(t, "an informer with list options of its own does not count", w.tap.Seen(podRef("web"), "1000"), true)
	})
}

func TestScopeOfSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, informers.WithNamespace("shop"))
		handle(t, must(w.tap.Informers("ctl", w.factory)).Core().V1().Pods().Informer(), func(string) {})
		w.start()
		equal(t, "its namespace", w.tap.Seen(podRef("web"), "10"), false)
		equal(t, "another namespace", w.tap.Seen(state.Ref{Resource: "pods", Namespace: "else"}, "10"), true)
	})
}

// The quota controller may be the first to ask for a type.
func TestScopeOfObjectOrMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		custom := schema.GroupVersionResource{Group: "shop.example", Version: "v1", Resource: "carts"}
		s := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(s); err != nil {
			t.Fatal(err)
		}
		client := metadatafake.NewSimpleMetadataClient(s)
		for name, factories := range map[string]func(*world) (informers.SharedInformerFactory, metadatainformer.SharedInformerFactory){
			"as made": func(w *world) (informers.SharedInformerFactory, metadatainformer.SharedInformerFactory) {
				return w.factory, metadatainformer.NewFilteredSharedInformerFactory(client, 0, "shop", nil)
			},
			"of a tapped one": func(w *world) (informers.SharedInformerFactory, metadatainformer.SharedInformerFactory) {
				return must(w.tap.Informers("ctl", w.factory)), metadatainformer.NewFilteredSharedInformerFactory(client, 0, "shop", nil)
			},
		} {
			w := newWorld(t, nil, informers.WithNamespace("shop"))
			f := must(w.tap.ObjectOrMetadata("stacked", must(w.tap.ObjectOrMetadata("quota", informerfactory.NewInformerFactory(factories(w))))))
			for _, r := range []schema.GroupVersionResource{custom, corev1.SchemeGroupVersion.WithResource("pods")} {
				g, err := f.ForResource(r)
				if err != nil {
					t.Fatal(err)
				}
				handle(t, g.Informer(), func(string) {})
				ref := state.Ref{Group: r.Group, Version: r.Version, Resource: r.Resource, Namespace: "shop"}
				equal(t, name+": "+r.Resource+" in its namespace", w.tap.Seen(ref, "10"), false)
				ref.Namespace = "else"
				equal(t, name+": "+r.Resource+" in another namespace", w.tap.Seen(ref, "10"), true)
			}
		}
		// List options narrow as well.
		w := newWorld(t, nil)
		narrow := metadatainformer.NewFilteredSharedInformerFactory(client, 0, "", func(*metav1.ListOptions) {})
		g, err := must(w.tap.ObjectOrMetadata("gc", informerfactory.NewInformerFactory(w.factory, narrow))).ForResource(custom)
		if err != nil {
			t.Fatal(err)
		}
		handle(t, g.Informer(), func(string) {})
		equal(t, "narrowed", w.tap.Seen(state.Ref{Group: custom.Group, Version: "v1", Resource: "carts", Namespace: "shop"}, "10"), true)
	})
}

func TestObjectOrMetadata(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []runtime.Object{pod("web", "1")})
		custom := schema.GroupVersionResource{Group: "shop.example", Version: "v1", Resource: "carts"}
		s := metadatafake.NewTestScheme()
		if err := metav1.AddMetaToScheme(s); err != nil {
			t.Fatal(err)
		}
		cart := &metav1.PartialObjectMetadata{
			TypeMeta:   metav1.TypeMeta{APIVersion: "shop.example/v1", Kind: "Cart"},
			ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "c1", UID: "uid-c1", ResourceVersion: "3"},
		}
		meta := metadatainformer.NewSharedInformerFactory(metadatafake.NewSimpleMetadataClient(s, cart), 0)
		// The garbage collector's factory may be made of a tapped one.
		f := must(w.tap.ObjectOrMetadata("gc", informerfactory.NewInformerFactory(must(w.tap.Informers("gc", w.factory)), meta)))
		var mu sync.Mutex
		causes := map[string]state.Cause{}
		for _, r := range []schema.GroupVersionResource{custom, corev1.SchemeGroupVersion.WithResource("pods")} {
			g, err := f.ForResource(r)
			if err != nil {
				t.Fatal(err)
			}
			handle(t, g.Informer(), func(string) {
				mu.Lock()
				defer mu.Unlock()
				causes[r.Resource] = w.tap.Cause()
			})
			if g.Informer().GetController() == nil || g.Lister() == nil {
				t.Errorf("%s: no controller or lister", r.Resource)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		f.Start(ctx.Done())
		synctest.Wait()
		equal(t, "cart", *causes["carts"].Object, state.Ref{Group: "shop.example", Version: "v1", Resource: "carts", Namespace: "shop", Name: "c1", UID: "uid-c1"})
		equal(t, "pod", *causes["pods"].Object, podRef("web"))
		equal(t, "changes", len(of[state.ObjectChanged](w.journal)), 2)
		cancel()
		meta.Shutdown()
	})
}

// The resource is derived from the kind; the accessors of the factory are the
// proof that it is right for each of them.
func TestResourceOfEveryType(t *testing.T) {
	f := informers.NewSharedInformerFactory(fake.NewClientset(), 0)
	n := 0
	for kind := range scheme.Scheme.AllKnownTypes() {
		obj, err := scheme.Scheme.New(kind)
		if _, ok := obj.(metav1.Object); err != nil || !ok || strings.HasSuffix(kind.Kind, "List") {
			continue
		}
		r := resourceOf(obj)
		generic, err := f.ForResource(r)
		if err != nil {
			continue // no informer: a subresource, a review…
		}
		n++
		name := generic.Informer().GetIndexer()
		if name == nil {
			t.Errorf("%v: no informer", r)
		}
	}
	if n < 90 {
		t.Errorf("only %d types have an informer under the resource derived", n)
	}
	equal(t, "of a deployment", resourceOf(&appsv1.Deployment{}), appsv1.SchemeGroupVersion.WithResource("deployments"))
	//lint:ignore SA1019 upstream's controllers use them
	equal(t, "of endpoints", resourceOf(&corev1.Endpoints{}).Resource, "endpoints")
}

// A factory that keeps its scope elsewhere than upstream's is an error: a controller
// without taps, and no panic.
func TestForeignFactory(t *testing.T) {
	tp := New(&journal{})
	if _, err := tp.Informers("ctl", &foreign{}); err == nil || !strings.Contains(err.Error(), `no field "namespace"`) {
		t.Errorf("no namespace: %v", err)
	}
	if _, err := tp.Informers("ctl", &renamed{}); err == nil || !strings.Contains(err.Error(), "fields of other types") {
		t.Errorf("another type: %v", err)
	}
	if _, err := tp.Informers("ctl", nil); err == nil {
		t.Error("no factory is none")
	}
	if _, err := tp.ObjectOrMetadata("ctl", &foreignPair{}); err == nil || !strings.Contains(err.Error(), `no field "typedInformerFactory"`) {
		t.Errorf("no typed factory: %v", err)
	}
}

type renamed struct {
	informers.SharedInformerFactory
	//lint:ignore U1000 found by reflection
	namespace int
	//lint:ignore U1000 found by reflection
	tweakListOptions func()
}

type foreignPair struct {
	informerfactory.InformerFactory
}

type foreign struct {
	informers.SharedInformerFactory
}
