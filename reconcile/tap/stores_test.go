package tap

import (
	"testing"
	"testing/synctest"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestStores(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, []runtime.Object{pod("web", "7"), pod("db", "5")})
		for _, controller := range []string{"one", "two"} {
			handle(t, must(w.tap.Informers(controller, w.factory)).Core().V1().Pods().Informer(), func(string) {})
		}
		handle(t, must(w.tap.Informers("one", w.factory)).Apps().V1().Deployments().Informer(), func(string) {})
		progress := w.tap.Progress()
		if stores := w.tap.Stores(); len(stores) != 2 || stores[1].Synced || stores[1].Objects != 0 {
			t.Errorf("before the start: %+v", stores)
		}
		w.start()
		w.factory.WaitForCacheSync(t.Context().Done())
		synctest.Wait()

		stores := progress.Stores()
		equal(t, "types", []string{stores[0].Kind.Type(), stores[1].Kind.Type()}, []string{"deployments.apps", "pods"})
		pods := stores[1]
		if !pods.Synced || pods.Stopped || pods.Metadata || pods.Objects != 2 {
			t.Errorf("%+v", pods)
		}
		equal(t, "handlers", pods.Handlers, []state.HandlerStats{
			{Controller: "one", ResourceVersion: "7", Synced: true}, {Controller: "two", ResourceVersion: "7", Synced: true},
		})
		equal(t, "moved", pods.Moved.Equal(time.Now()), true)
		equal(t, "its version", pods.Now(), pods.ResourceVersion)

		time.Sleep(time.Minute)
		still := progress.Stores()[1].Moved
		w.create(pod("cache", "11"))
		moved := progress.Stores()[1]
		if !still.Equal(pods.Moved) || !moved.Moved.Equal(time.Now()) || moved.Handlers[0].ResourceVersion != "11" || moved.ResourceVersion != "11" {
			t.Errorf("moved at %v, then %v: %+v", still, moved.Moved, moved)
		}

		equal(t, "all", len(moved.All()), 3)
		if moved.Get("shop", "nobody") != nil || moved.Get("", "web") != nil {
			t.Error("it gives objects that it does not hold")
		}
		content := Content(moved.Get("shop", "web"), scheme.Scheme)
		equal(t, "kind", content["kind"], any("Pod"))
		content["metadata"].(map[string]any)["name"] = "changed"
		equal(t, "the store's own", moved.Get("shop", "web").GetName(), "web")
		if Content(&metav1.ObjectMeta{}, scheme.Scheme) != nil {
			t.Error("what is no object has content")
		}
	})
}
