package proxy_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationapply "k8s.io/client-go/applyconfigurations/coordination/v1"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// ledElsewhere is an API server on which somebody leads, who renews all the time.
func ledElsewhere(t *testing.T) *api {
	var renewals atomic.Int64
	return newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/apis/coordination.k8s.io/v1/namespaces/ops/leases/operator" {
			writeJSON(w, http.StatusNotFound, notFound)
			return
		}
		now := time.Now().Add(time.Duration(renewals.Add(1))).UTC().Format(metav1.RFC3339Micro)
		writeJSON(w, http.StatusOK, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1",
			"metadata":{"name":"operator","namespace":"ops","uid":"u-1","resourceVersion":"700","creationTimestamp":"2026-01-02T15:04:05Z"},
			"spec":{"holderIdentity":"pod-in-the-cluster","leaseDurationSeconds":15,"renewTime":"`+now+`","leaseTransitions":3}}`)
	})
}

// In a dry run a controller elects itself beside the one that really leads, and
// renews; of two that elect among each other one leads. The server is asked once
// for each lease and never written to.
func TestElectionInADryRun(t *testing.T) {
	for _, mode := range []state.Mode{state.ModeDryRunClient, state.ModeDryRunServer} {
		for _, name := range []string{"operator", "new"} {
			t.Run(string(mode)+" "+name, func(t *testing.T) {
				a := ledElsewhere(t)
				p, j := start(t, a, mode, nil)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				leading := make(chan string, 2)
				var candidates sync.WaitGroup
				for _, id := range []string{"one", "two"} {
					client := clientOf(t, p)
					elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
						Lock: &resourcelock.LeaseLock{
							LeaseMeta: metav1.ObjectMeta{Namespace: "ops", Name: name}, Client: client.CoordinationV1(),
							LockConfig: resourcelock.ResourceLockConfig{Identity: id},
						},
						LeaseDuration: time.Hour, RenewDeadline: time.Minute, RetryPeriod: 20 * time.Millisecond,
						Callbacks: leaderelection.LeaderCallbacks{
							OnStartedLeading: func(context.Context) { leading <- id },
							OnStoppedLeading: func() {},
						},
					})
					if err != nil {
						t.Fatal(err)
					}
					candidates.Go(func() { elector.Run(ctx) })
				}
				leader := <-leading
				j.await(func() bool { // one write to lead and one to renew
					dry := 0
					for _, e := range j.events {
						if w, ok := e.(state.WriteFinished); ok && w.Result == state.WriteDry {
							dry++
						}
					}
					return dry >= 2
				})
				lease, err := clientOf(t, p).CoordinationV1().Leases("ops").Get(t.Context(), name, metav1.GetOptions{})
				if err != nil || ptr.Deref(lease.Spec.HolderIdentity, "") != leader {
					t.Errorf("%s leads and the lease says %v, %v", leader, lease, err)
				}
				cancel()
				candidates.Wait()
				select {
				case second := <-leading:
					t.Errorf("%s and %s lead", leader, second)
				default:
				}
				if got := len(a.seen()); got != 1 || a.seen()[0].Method != http.MethodGet {
					t.Errorf("the server was asked %d times", got)
				}
				for _, w := range of[state.WriteFinished](j) {
					lost := w.Result == state.WriteFailed && w.Status == http.StatusConflict
					if w.Mode != mode || w.Controller != "operator" || w.Object.Name != name || w.Result != state.WriteDry && !lost {
						t.Errorf("recorded %s", state.Describe(w))
					}
				}
				notes := of[state.Note](j)
				if name == "operator" && (len(notes) != 1 || !strings.Contains(notes[0].Text, "held by pod-in-the-cluster")) || name == "new" && len(notes) != 0 {
					t.Errorf("noted %v", notes)
				}
			})
		}
	}
}

// A lease of the dry run behaves as one of the server does, for every verb.
func TestLeasesBehave(t *testing.T) {
	a := ledElsewhere(t)
	p, _ := start(t, a, state.ModeDryRunClient, nil)
	leases := clientOf(t, p).CoordinationV1().Leases("ops")
	ctx := t.Context()
	holder := func(l *coordinationv1.Lease) string { return ptr.Deref(l.Spec.HolderIdentity, "") }

	taken, err := leases.Get(ctx, "operator", metav1.GetOptions{})
	if err != nil || holder(taken) != "" || taken.ResourceVersion != "700" || *taken.Spec.LeaseTransitions != 3 {
		t.Fatalf("the lease that was taken over: %+v, %v", taken, err)
	}
	if _, err := leases.Create(ctx, taken, metav1.CreateOptions{}); !apierrors.IsAlreadyExists(err) {
		t.Errorf("create what is there: %v", err)
	}
	mine := taken.DeepCopy()
	mine.Spec.HolderIdentity = ptr.To("me")
	if dry, err := leases.Update(ctx, mine, metav1.UpdateOptions{DryRun: []string{"All"}}); err != nil || holder(dry) != "me" {
		t.Errorf("the client's own dry run: %+v, %v", dry, err)
	}
	updated, err := leases.Update(ctx, mine, metav1.UpdateOptions{})
	if err != nil || holder(updated) != "me" || updated.ResourceVersion == taken.ResourceVersion || updated.UID != taken.UID {
		t.Errorf("update: %+v, %v", updated, err)
	}
	if _, err := leases.Update(ctx, mine, metav1.UpdateOptions{}); !apierrors.IsConflict(err) {
		t.Errorf("update from an old version: %v", err)
	}
	for patchType, patch := range map[types.PatchType]string{
		types.MergePatchType:          `{"spec":{"holderIdentity":"merge"}}`,
		types.StrategicMergePatchType: `{"spec":{"holderIdentity":"strategic"}}`,
		types.JSONPatchType:           `[{"op":"replace","path":"/spec/holderIdentity","value":"json"}]`,
	} {
		if _, err := leases.Patch(ctx, "operator", patchType, []byte(patch), metav1.PatchOptions{}); err != nil {
			t.Errorf("%s: %v", patchType, err)
		}
		if got, err := leases.Get(ctx, "operator", metav1.GetOptions{}); err != nil || !strings.Contains(patch, holder(got)) || holder(got) == "" {
			t.Errorf("%s: %+v, %v", patchType, got, err)
		}
	}
	if err := leases.Delete(ctx, "operator", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
	if _, err := leases.Get(ctx, "operator", metav1.GetOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("get what was deleted: %v", err)
	}
	apply := coordinationapply.Lease("operator", "ops").WithSpec(coordinationapply.LeaseSpec().WithHolderIdentity("applied"))
	if applied, err := leases.Apply(ctx, apply, metav1.ApplyOptions{FieldManager: "me"}); err != nil || holder(applied) != "applied" || applied.UID == "" {
		t.Errorf("apply: %+v, %v", applied, err)
	}
	if _, err := leases.Update(ctx, &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "nowhere"}}, metav1.UpdateOptions{}); !apierrors.IsNotFound(err) {
		t.Errorf("update what is not there: %v", err)
	}
	for _, r := range a.seen() {
		if r.Method != http.MethodGet {
			t.Errorf("it left: %s %s", r.Method, r.URL)
		}
	}
}

// Nodes' leases and lists are the server's.
func TestLeasesOfOthers(t *testing.T) {
	a := newAPI(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/node-1") {
			writeJSON(w, http.StatusOK, `{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"node-1","namespace":"kube-node-lease"},"spec":{"holderIdentity":"node-1"}}`)
			return
		}
		writeJSON(w, http.StatusOK, `{"kind":"LeaseList","apiVersion":"coordination.k8s.io/v1","metadata":{},"items":[]}`)
	})
	p, _ := start(t, a, state.ModeDryRunClient, nil)
	client := clientOf(t, p).CoordinationV1()
	for range 2 {
		if l, err := client.Leases("kube-node-lease").Get(t.Context(), "node-1", metav1.GetOptions{}); err != nil || ptr.Deref(l.Spec.HolderIdentity, "") != "node-1" {
			t.Errorf("%+v, %v", l, err)
		}
		if _, err := client.Leases("ops").List(t.Context(), metav1.ListOptions{}); err != nil {
			t.Error(err)
		}
	}
	if got := len(a.seen()); got != 4 {
		t.Errorf("the server was asked %d of 4 times", got)
	}
}
