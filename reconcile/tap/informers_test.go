package tap

import (
	"context"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/kubernetes/scheme"
	metadatafake "k8s.io/client-go/metadata/fake"
	"k8s.io/client-go/metadata/metadatainformer"
	"k8s.io/client-go/tools/cache"
	"k8s.io/controller-manager/pkg/informerfactory"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func pod(name, rv string) *corev1.Pod {
	yes := true
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{
		Namespace: "shop", Name: name, UID: types.UID("uid-" + name), ResourceVersion: rv,
		OwnerReferences: []metav1.OwnerReference{{APIVersion: "apps/v1", Kind: "ReplicaSet", Name: "web-7c9", UID: "uid-rs", Controller: &yes}},
	}}
}

func podRef(name string) state.Ref {
	return state.Ref{Version: "v1", Resource: "pods", Namespace: "shop", Name: name, UID: "uid-" + name}
}

// world is a factory over a fake API server that the test writes to.
type world struct {
	t       *testing.T
	client  *fake.Clientset
	factory informers.SharedInformerFactory
	tap     *Tap
	journal *journal
	start   func()
}

func newWorld(t *testing.T, objects []runtime.Object, options ...informers.SharedInformerOption) *world {
	w := &world{t: t, client: fake.NewClientset(objects...), journal: &journal{}}
	w.tap = New(w.journal)
	w.factory = informers.NewSharedInformerFactoryWithOptions(w.client, 0, options...)
	ctx, cancel := context.WithCancel(t.Context())
	w.start = func() {
		w.factory.StartWithContext(ctx)
		synctest.Wait()
	}
	t.Cleanup(func() {
		cancel()
		w.factory.Shutdown()
		w.tap.Close()
	})
	return w
}

func (w *world) create(p *corev1.Pod) {
	w.t.Helper()
	if _, err := w.client.CoreV1().Pods(p.Namespace).Create(w.t.Context(), p, metav1.CreateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

func (w *world) update(p *corev1.Pod) {
	w.t.Helper()
	if _, err := w.client.CoreV1().Pods(p.Namespace).Update(w.t.Context(), p, metav1.UpdateOptions{}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

func (w *world) delete(name string) {
	w.t.Helper()
	if err := w.client.CoreV1().Pods("shop").Delete(w.t.Context(), name, metav1.DeleteOptions{}); err != nil {
		w.t.Fatal(err)
	}
	synctest.Wait()
}

// handle adds a handler that calls f with what happened.
func handle(t *testing.T, i cache.SharedIndexInformer, f func(what string)) cache.ResourceEventHandlerRegistration {
	t.Helper()
	r, err := i.AddEventHandler(cache.ResourceEventHandlerFuncs{
		AddFunc:    func(any) { f("add") },
		UpdateFunc: func(any, any) { f("update") },
		DeleteFunc: func(any) { f("delete") },
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestHandlersHaveTheirCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []runtime.Object{pod("old", "5")})
		var causes []state.Cause
		note := func(string) {
			causes = append(causes, w.tap.Cause())
			if n := w.tap.Activity().HandlersInFlight; n != 1 {
				t.Errorf("%d handlers in flight", n)
			}
		}
		reg := handle(t, w.tap.Informers("ctl", w.factory).Core().V1().Pods().Informer(), note)
		w.start()
		if !reg.HasSynced() {
			t.Error("the registration has not synced")
		}
		w.create(pod("web", "10"))
		w.update(pod("web", "11"))
		w.delete("web")

		ref, old := podRef("web"), podRef("old")
		cause := func(c state.Change, r state.Ref, oldRV, newRV string) state.Cause {
			return state.Cause{Kind: state.CauseEvent, Controller: "ctl", Object: &r, Change: c, OldRV: oldRV, NewRV: newRV}
		}
		equal(t, "causes", causes, []state.Cause{
			cause(state.ChangeListed, old, "", "5"),
			cause(state.ChangeAdded, ref, "", "10"),
			cause(state.ChangeUpdated, ref, "10", "11"),
			cause(state.ChangeDeleted, ref, "", "11"),
		})
		equal(t, "handlers in flight", w.tap.Activity().HandlersInFlight, 0)
	})
}

func TestChangesAreRecordedOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []runtime.Object{pod("old", "5")})
		for _, controller := range []string{"one", "two"} {
			f := w.tap.Informers(controller, w.factory)
			handle(t, f.Core().V1().Pods().Informer(), func(string) {})
			if _, err := f.ForResource(corev1.SchemeGroupVersion.WithResource("pods")); err != nil {
				t.Fatal(err)
			}
		}
		equal(t, "not synced", w.tap.Activity().Unsynced, []string{"pods"})
		w.start()
		equal(t, "not synced", w.tap.Activity().Unsynced, nil)
		w.create(pod("web", "10"))
		w.update(pod("web", "11"))
		w.delete("web")

		owner := &state.Ref{Group: "apps", Version: "v1", Resource: "replicasets", Namespace: "shop", Name: "web-7c9", UID: "uid-rs"}
		ref := podRef("web")
		equal(t, "changes", of[state.ObjectChanged](w.journal), []state.ObjectChanged{
			{Informer: "pods", Change: state.ChangeListed, Object: podRef("old"), NewRV: "5", Owner: owner},
			{Informer: "pods", Change: state.ChangeAdded, Object: ref, NewRV: "10", Owner: owner},
			{Informer: "pods", Change: state.ChangeUpdated, Object: ref, OldRV: "10", NewRV: "11", Owner: owner},
			{Informer: "pods", Change: state.ChangeDeleted, Object: ref, NewRV: "11", Owner: owner},
		})
		var statuses []state.InformerStatus
		for _, e := range of[state.InformerChanged](w.journal) {
			statuses = append(statuses, e.Status)
		}
		equal(t, "statuses", statuses, []state.InformerStatus{state.InformerListing, state.InformerSynced})
		equal(t, "objects", last[state.InformerChanged](t, w.journal).Objects, 1)
	})
}

func TestSeenWaitsForEveryHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		equal(t, "a type that nobody watches", w.tap.Seen(podRef("web"), "99"), true)
		handle(t, w.tap.Informers("quick", w.factory).Core().V1().Pods().Informer(), func(string) {})
		release := make(chan struct{})
		reg := handle(t, w.tap.Informers("slow", w.factory).Core().V1().Pods().Informer(), func(string) { <-release })
		equal(t, "before the first list", w.tap.Seen(podRef("web"), "1"), false)
		w.start()

		w.create(pod("web", "10"))
		equal(t, "one handler has not returned", w.tap.Seen(podRef("web"), "10"), false)
		release <- struct{}{}
		synctest.Wait()
		equal(t, "all have returned", w.tap.Seen(podRef("web"), "10"), true)
		equal(t, "a later write", w.tap.Seen(podRef("web"), "11"), false)
		equal(t, "no number", w.tap.Seen(podRef("web"), ""), true)

		equal(t, "it exists", w.tap.SeenDeleted(podRef("web")), false)
		w.delete("web")
		w.create(pod("other", "20"))
		equal(t, "gone", w.tap.SeenDeleted(podRef("web")), true)
		release <- struct{}{}
		synctest.Wait()
		equal(t, "the slow handler has not seen the other", w.tap.Seen(podRef("other"), "20"), false)
		if err := w.tap.Informers("slow", w.factory).Core().V1().Pods().Informer().RemoveEventHandler(reg); err != nil {
			t.Fatal(err)
		}
		equal(t, "without the slow handler", w.tap.Seen(podRef("other"), "20"), true)
		close(release)
	})
}

// What one object of the first list says does not hold for the others.
func TestSeenWaitsForTheFirstList(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []runtime.Object{pod("a", "10"), pod("b", "10")})
		release := make(chan struct{})
		handle(t, w.tap.Informers("slow", w.factory).Core().V1().Pods().Informer(), func(string) { <-release })
		w.start()
		release <- struct{}{}
		synctest.Wait()
		equal(t, "one of two", w.tap.Seen(podRef("b"), "10"), false)
		equal(t, "not synced", w.tap.Activity().Unsynced, []string{"pods"})
		close(release)
		synctest.Wait()
		equal(t, "both", w.tap.Seen(podRef("b"), "10"), true)
	})
}

func TestDeletionIsSeenByEveryHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		handle(t, w.tap.Informers("quick", w.factory).Core().V1().Pods().Informer(), func(string) {})
		release := make(chan struct{})
		handle(t, w.tap.Informers("slow", w.factory).Core().V1().Pods().Informer(), func(string) { <-release })
		w.start()
		w.create(pod("web", "10"))
		// The fake server deletes at the version before; a real one raises it.
		w.update(pod("web", "12"))
		w.delete("web")
		equal(t, "the slow handler is two events behind", w.tap.SeenDeleted(podRef("web")), false)
		close(release)
		synctest.Wait()
		equal(t, "it caught up", w.tap.SeenDeleted(podRef("web")), true)
	})
}

func TestLateHandlerOfAQuietType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		i := w.tap.Informers("ctl", w.factory).Core().V1().Pods().Informer()
		handle(t, i, func(string) {})
		w.start()
		w.create(pod("web", "10"))
		w.delete("web")
		handle(t, i, func(string) {})
		synctest.Wait()
		equal(t, "nothing is left for the late one to see", w.tap.Seen(podRef("web"), "10"), true)
	})
}

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
		view := w.tap.Informers("ctl", w.tap.Informers("stacked", w.factory))
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
		equal(t, "the handler's resync", got, []string{"add listed", "update resync"})
		equal(t, "recorded changes", len(of[state.ObjectChanged](w.journal)), 1)
		equal(t, "an informer with list options of its own does not count", w.tap.Seen(podRef("web"), "1000"), true)
	})
}

func TestScopeOfSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil, informers.WithNamespace("shop"))
		handle(t, w.tap.Informers("ctl", w.factory).Core().V1().Pods().Informer(), func(string) {})
		w.start()
		equal(t, "its namespace", w.tap.Seen(podRef("web"), "10"), false)
		equal(t, "another namespace", w.tap.Seen(state.Ref{Resource: "pods", Namespace: "else"}, "10"), true)
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
		f := w.tap.ObjectOrMetadata("gc", informerfactory.NewInformerFactory(w.tap.Informers("gc", w.factory), meta))
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
		if _, ok := w.tap.Lookup(*causes["carts"].Object); ok {
			t.Error("metadata passes for the object")
		}
		cancel()
		meta.Shutdown()
	})
}

func TestLookup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []runtime.Object{pod("web", "1")})
		handle(t, w.tap.Informers("ctl", w.factory).Core().V1().Pods().Informer(), func(string) {})
		w.start()
		u, ok := w.tap.Lookup(podRef("web"))
		if !ok || u["metadata"].(map[string]any)["name"] != "web" {
			t.Errorf("got %v", u)
		}
		u["metadata"].(map[string]any)["name"] = "changed"
		other := podRef("web")
		other.UID = "uid-of-another"
		for what, ref := range map[string]state.Ref{
			"another UID":     other,
			"another version": {Version: "v2", Resource: "pods", Namespace: "shop", Name: "web"},
			"another type":    {Version: "v1", Resource: "services", Namespace: "shop", Name: "web"},
			"another name":    podRef("none"),
		} {
			if _, ok := w.tap.Lookup(ref); ok {
				t.Errorf("%s was found", what)
			}
		}
		if p, _ := w.factory.Core().V1().Pods().Lister().Pods("shop").Get("web"); p.Name != "web" {
			t.Error("the informer's object was changed")
		}
	})
}

func TestFailingInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var fail atomic.Bool
		fail.Store(true)
		w.client.PrependReactor("list", "deployments", forbidden(&fail))
		w.client.PrependWatchReactor("deployments", forbiddenWatch(&fail))
		handle(t, w.tap.Informers("ctl", w.factory).Apps().V1().Deployments().Informer(), func(string) {})
		w.start()
		e := last[state.InformerChanged](t, w.journal)
		if e.Status != state.InformerFailed || !strings.Contains(e.Reason, "not allowed") || e.Informer != "deployments.apps" {
			t.Errorf("got %+v", e)
		}
		equal(t, "moving", w.tap.Activity().Moving(), []string{"informer deployments.apps has not delivered its first list"})
		fail.Store(false)
		time.Sleep(5 * time.Minute)
		equal(t, "status", last[state.InformerChanged](t, w.journal).Status, state.InformerSynced)
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

func TestForeignFactoryPanics(t *testing.T) {
	defer func() {
		if s, _ := recover().(string); !strings.Contains(s, `no field "namespace"`) {
			t.Errorf("panic: %q", s)
		}
	}()
	New(&journal{}).Informers("ctl", &foreign{})
}

type foreign struct {
	informers.SharedInformerFactory
}

func TestDeletionsAreBounded(t *testing.T) {
	var d deletions
	for i := range keptDeletions + 10 {
		d.note(&metav1.ObjectMeta{UID: types.UID(strings.Repeat("x", 1) + string(rune(i))), ResourceVersion: "1"})
	}
	if len(d.rvs) > keptDeletions || len(d.uids) != keptDeletions {
		t.Errorf("%d and %d are kept", len(d.rvs), len(d.uids))
	}
	if _, ok := d.of("x" + string(rune(5))); ok {
		t.Error("an old deletion is kept")
	}
	if !slices.Contains(d.uids, "x"+string(rune(keptDeletions+9))) {
		t.Error("the last deletion is not kept")
	}
}
