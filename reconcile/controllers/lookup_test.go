package controllers

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Lookup answers from informers that are there, and makes none.
func TestLookup(t *testing.T) {
	cluster := newEmptyCluster(t)
	m := start(t, cluster, []string{"--controllers=job"}, nil)
	waitForSync(t, m)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "import"}}
	if err := informersOf(m).Batch().V1().Jobs().Informer().GetStore().Add(job); err != nil {
		t.Fatal(err)
	}
	ref := state.Ref{Group: "batch", Resource: "jobs", Namespace: "shop", Name: "import"}
	if got := m.Lookup(ref); got != job {
		t.Errorf("job %v", got)
	}
	ref.Name = "export"
	if got := m.Lookup(ref); got != nil {
		t.Errorf("a job that is not there: %v", got)
	}
	if got := m.Lookup(state.Ref{Group: "apps", Resource: "deployments", Namespace: "shop", Name: "web"}); got != nil {
		t.Errorf("a type without informer: %v", got)
	}
	informersOf(m).Start(t.Context().Done())
	for typ := range informersOf(m).WaitForCacheSync(t.Context().Done()) {
		if typ.Elem().Name() == "Deployment" {
			t.Error("Lookup made an informer")
		}
	}
}

// BenchmarkLookup is what the guard pays for each write that asks for the state
// before, with all loops built.
func BenchmarkLookup(b *testing.B) {
	m := start(b, newEmptyCluster(b), []string{everything()}, nil)
	waitForSync(b, m)
	job := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "import"}}
	if err := informersOf(m).Batch().V1().Jobs().Informer().GetStore().Add(job); err != nil {
		b.Fatal(err)
	}
	for name, ref := range map[string]state.Ref{
		"found": {Group: "batch", Resource: "jobs", Namespace: "shop", Name: "import"},
		"other": {Group: "shop.example", Resource: "widgets", Namespace: "shop", Name: "w1"},
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if got := m.Lookup(ref); (got != nil) != (name == "found") {
					b.Fatal(got)
				}
			}
		})
	}
}
