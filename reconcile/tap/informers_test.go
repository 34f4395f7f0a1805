package tap

import (
	"context"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes/fake"
	"k8s.io/client-go/tools/cache"

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
		reg := handle(t, must(w.tap.Informers("ctl", w.factory)).Core().V1().Pods().Informer(), note)
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
			f := must(w.tap.Informers(controller, w.factory))
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
		handle(t, must(w.tap.Informers("quick", w.factory)).Core().V1().Pods().Informer(), func(string) {})
		release := make(chan struct{})
		reg := handle(t, must(w.tap.Informers("slow", w.factory)).Core().V1().Pods().Informer(), func(string) { <-release })
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
		if err := must(w.tap.Informers("slow", w.factory)).Core().V1().Pods().Informer().RemoveEventHandler(reg); err != nil {
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
		handle(t, must(w.tap.Informers("slow", w.factory)).Core().V1().Pods().Informer(), func(string) { <-release })
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
		handle(t, must(w.tap.Informers("quick", w.factory)).Core().V1().Pods().Informer(), func(string) {})
		release := make(chan struct{})
		handle(t, must(w.tap.Informers("slow", w.factory)).Core().V1().Pods().Informer(), func(string) { <-release })
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

// terminating is a pod that a finalizer keeps.
func terminating(name, rv string) *corev1.Pod {
	p := pod(name, rv)
	p.DeletionTimestamp, p.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"shop.example/keep"}
	return p
}

func TestTheBeginningOfADeletionCounts(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		release := make(chan struct{})
		handle(t, must(w.tap.Informers("slow", w.factory)).Core().V1().Pods().Informer(), func(string) { <-release })
		w.start()
		w.create(pod("web", "10"))
		release <- struct{}{}
		synctest.Wait()
		equal(t, "it lives", w.tap.SeenDeleted(podRef("web")), false)
		w.update(terminating("web", "12"))
		equal(t, "the handler has not returned", w.tap.SeenDeleted(podRef("web")), false)
		close(release)
		synctest.Wait()
		equal(t, "it is being deleted", w.tap.SeenDeleted(podRef("web")), true)
	})
}

func TestDeletedCollection(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		pods := must(w.tap.Informers("ctl", w.factory)).Core().V1().Pods().Informer()
		var block atomic.Bool
		release := make(chan struct{})
		handle(t, pods, func(string) {
			if block.Load() {
				<-release
			}
		})
		w.start()
		seen := func(what, namespace string, want bool) {
			t.Helper()
			equal(t, what, w.tap.SeenDeleted(state.Ref{Version: "v1", Resource: "pods", Namespace: namespace}), want)
		}
		seen("nothing is there", "shop", true)
		w.create(pod("a", "10"))
		w.create(pod("b", "11"))
		w.create(&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "else", Name: "x", UID: "uid-x", ResourceVersion: "12"}})
		seen("none is deleted", "shop", false)
		w.update(terminating("a", "13"))
		seen("one lives", "shop", false)
		block.Store(true)
		w.update(pod("b", "14")) // the fake server does not raise the version at a deletion
		w.delete("b")
		seen("the handler has not returned", "shop", false)
		block.Store(false)
		close(release)
		synctest.Wait()
		seen("one is being deleted, one gone", "shop", true)
		seen("in another namespace", "else", false)
		seen("in all namespaces", "", false)
		equal(t, "a type that nobody watches", w.tap.SeenDeleted(state.Ref{Resource: "secrets", Namespace: "shop"}), true)
	})
}

func TestLateHandlerOfAQuietType(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		i := must(w.tap.Informers("ctl", w.factory)).Core().V1().Pods().Informer()
		handle(t, i, func(string) {})
		w.start()
		w.create(pod("web", "10"))
		w.delete("web")
		handle(t, i, func(string) {})
		synctest.Wait()
		equal(t, "nothing is left for the late one to see", w.tap.Seen(podRef("web"), "10"), true)
	})
}

func TestFailingInformer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, nil)
		var fail atomic.Bool
		fail.Store(true)
		w.client.PrependReactor("list", "deployments", forbidden(&fail))
		w.client.PrependWatchReactor("deployments", forbiddenWatch(&fail))
		handle(t, must(w.tap.Informers("ctl", w.factory)).Apps().V1().Deployments().Informer(), func(string) {})
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

// A server whose resourceVersions go back, as after a restore of etcd, is reported once
// for each time.
func TestVersionsThatGoBackAreAGap(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []runtime.Object{pod("a", "50"), pod("b", "60")})
		handle(t, must(w.tap.Informers("ctl", w.factory)).Core().V1().Pods().Informer(), func(string) {})
		w.start()
		equal(t, "at first", len(of[state.Gap](w.journal)), 0)
		w.update(pod("a", "40"))
		w.update(pod("b", "41"))
		gaps := of[state.Gap](w.journal)
		if len(gaps) != 1 || gaps[0].Informer != "pods" || !strings.Contains(gaps[0].Reason, "went back, from 50 to 40") {
			t.Errorf("recorded %+v", gaps)
		}
		equal(t, "the informer", last[state.InformerChanged](t, w.journal).Status, state.InformerRelisted)
		w.update(pod("a", "70"))
		w.update(pod("b", "71"))
		equal(t, "forwards", len(of[state.Gap](w.journal)), 1)
		w.update(pod("a", "30"))
		equal(t, "back again", len(of[state.Gap](w.journal)), 2)
	})
}

// The handlers of a controller that is being built get what a running informer
// holds when its queues are attached, and not before.
func TestHold(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []runtime.Object{pod("web", "1")})
		handle(t, must(w.tap.Informers("first", w.factory)).Core().V1().Pods().Informer(), func(string) {})
		w.start()
		release := w.tap.Hold("second")
		var got []string
		handle(t, must(w.tap.Informers("second", w.factory)).Core().V1().Pods().Informer(), func(what string) { got = append(got, what) })
		synctest.Wait()
		equal(t, "while it is held", got, nil)
		equal(t, "informers with a handler that waits", w.tap.Activity().Unsynced, []string{"pods"})
		release()
		release()
		synctest.Wait()
		equal(t, "released", got, []string{"add"})
	})
}
