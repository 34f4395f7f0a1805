//go:build handovers

package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// The election of this test leaves kube-scheduler time to start on a busy machine.
const (
	attackedLease    = 10 * time.Second
	attackedDeadline = 6 * time.Second
	// attackedRenewals is how many of them an attack lasts that does not end the tenure.
	attackedRenewals = 8
)

// keepScheduling creates pods, and removes them later, so that a scheduler always has
// something to bind; every twentieth fits no node and has a hostile name for an image.
func (c *contested) keepScheduling(t *testing.T) {
	t.Helper()
	const text = "\x1b]0;owned\x07\x1b[2J\u202e::error::x"
	ctx, cancel := context.WithCancel(context.Background())
	pods := c.client.CoreV1().Pods("default")
	var busy sync.WaitGroup
	busy.Go(func() {
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for i := 0; ; i++ {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			pod := &corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("busy-%d", i)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "c", Image: "i"}}},
			}
			if i%20 == 0 {
				pod.Spec.Containers[0].Image = "i" + text
				pod.Spec.NodeSelector = map[string]string{"example.com/no": "node"}
				pod.Annotations = map[string]string{"example.com/text": strings.Repeat(text, 100)}
			}
			_, _ = pods.Create(ctx, pod, metav1.CreateOptions{})
			_ = pods.Delete(ctx, fmt.Sprintf("busy-%d", i-40), metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)})
		}
	})
	t.Cleanup(func() { cancel(); busy.Wait() })
}

// intruder is a client whose writes of the lease the audit log knows for another's.
func (c *contested) intruder(t *testing.T) kubernetes.Interface {
	t.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", c.way(t, "intruder").kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// rewrite changes the lease of kube-scheduler as nobody should.
func rewrite(t *testing.T, client kubernetes.Interface, change func(*coordinationv1.LeaseSpec)) {
	t.Helper()
	leases := client.CoordinationV1().Leases(election.Scheduler().Namespace)
	await(t, "the lease is rewritten", func() bool {
		lease, err := leases.Get(t.Context(), election.Scheduler().Name, metav1.GetOptions{})
		if err == nil {
			change(&lease.Spec)
			_, err = leases.Update(t.Context(), lease, metav1.UpdateOptions{})
		}
		if err != nil && !apierrors.IsConflict(err) { // its holder was quicker
			t.Fatal(err)
		}
		return err == nil
	})
}

// refuse answers what matches with a status.
func refuse(code int, reason metav1.StatusReason, matches func(*http.Request) bool) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if !matches(r) {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(code)
		fmt.Fprintf(w, `{"kind":"Status","apiVersion":"v1","status":"Failure","reason":%q,"code":%d,"message":"an attack"}`, reason, code)
		return true
	}
}

func writesLease(r *http.Request) bool { return isLease(r) && r.Method != http.MethodGet }
func writesOther(r *http.Request) bool { return !isLease(r) && r.Method != http.MethodGet }

// goAway breaks every connection.
func goAway(w http.ResponseWriter, _ *http.Request) bool {
	panic(http.ErrAbortHandler)
}

// delayed holds every write for longer than a tenure may last, and hands it on then if
// its client still wants it.
func delayed(_ http.ResponseWriter, r *http.Request) bool {
	if r.Method == http.MethodGet {
		return false
	}
	body, err := io.ReadAll(r.Body) // only behind it the end of the connection is seen
	if err != nil {
		return true
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	select {
	case <-time.After(attackedLease + time.Second):
		return false
	case <-r.Context().Done():
		return true
	}
}

// TestActiveSchedulerUnderAttack runs kube-scheduler for real in a process of ours and
// attacks its tenure. By the API server's audit log no write may come after the deadline
// of the last renewal, unless it was on its way then; and once another holds the lease
// none may come later than that either.
func TestActiveSchedulerUnderAttack(t *testing.T) {
	c := newContested(t)
	c.node(t, "node-1")
	c.keepScheduling(t)
	other := c.intruder(t)
	now := func() *metav1.MicroTime { return &metav1.MicroTime{Time: time.Now()} }
	scheduler := election.Scheduler()
	for i, attack := range []struct {
		name string
		do   func(*way)
		// leads: the tenure goes on.
		leads bool
	}{
		{"another takes the lease", func(*way) {
			rewrite(t, other, func(s *coordinationv1.LeaseSpec) {
				s.HolderIdentity, s.AcquireTime, s.RenewTime = ptr.To("intruder"), now(), now()
			})
		}, false},
		{"the holder is rewritten", func(*way) {
			rewrite(t, other, func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = ptr.To("\x1b[2Jnobody") })
		}, false},
		{"the holder is emptied", func(*way) {
			rewrite(t, other, func(s *coordinationv1.LeaseSpec) { s.HolderIdentity = ptr.To("") })
		}, false},
		{"the lease is deleted", func(*way) {
			if err := other.CoordinationV1().Leases(scheduler.Namespace).Delete(t.Context(), scheduler.Name, metav1.DeleteOptions{}); err != nil {
				t.Fatal(err)
			}
		}, false},
		{"writes of the lease: 409", func(w *way) { w.set(refuse(409, metav1.StatusReasonConflict, writesLease)) }, false},
		{"writes of the lease: 403", func(w *way) { w.set(refuse(403, metav1.StatusReasonForbidden, writesLease)) }, false},
		{"writes of the lease: 410", func(w *way) { w.set(refuse(410, metav1.StatusReasonExpired, writesLease)) }, false},
		{"other writes: 409", func(w *way) { w.set(refuse(409, metav1.StatusReasonConflict, writesOther)) }, true},
		{"other writes: 403", func(w *way) { w.set(refuse(403, metav1.StatusReasonForbidden, writesOther)) }, true},
		{"other writes: 410", func(w *way) { w.set(refuse(410, metav1.StatusReasonExpired, writesOther)) }, true},
		{"renewals hang", func(w *way) { w.set(holdUp) }, false},
		{"the API server goes away", func(w *way) { w.set(goAway) }, false},
		{"writes are delayed", func(w *way) { w.set(delayed) }, false},
	} {
		w := c.way(t, fmt.Sprintf("a%d", i))
		p := w.start(t, "--scheduler", "--leader-elect-lease-duration="+attackedLease.String(), "--leader-elect-renew-deadline="+attackedDeadline.String())
		p.says(t, "kube-scheduler runs")
		wrote := func() int { return rule(c.requests(t), attackedDeadline).writes[w.name] }
		await(t, attack.name+": the scheduler writes", func() bool { return wrote() > 10 })
		attack.do(w)
		if attack.leads {
			renewals := func() (n int) {
				for _, r := range c.requests(t) {
					if r.who == w.name && r.lease && r.code < 300 {
						n++
					}
				}
				return n
			}
			before := renewals()
			await(t, attack.name+": the tenure goes on", func() bool { return renewals() >= before+attackedRenewals })
			w.set(nil)
			before = wrote()
			await(t, attack.name+": the scheduler writes again", func() bool { return wrote() > before+10 })
			_ = p.Process.Signal(syscall.SIGTERM)
			p.exits(t, exit.OK)
		} else {
			p.exits(t, exit.Lost)
			w.set(nil)
		}
		// What comes until the lease has expired would be late.
		until := time.Now().Add(attackedLease)
		await(t, "the lease has expired", func() bool { return time.Now().After(until) })
		v := rule(c.requests(t), attackedDeadline)
		unaware := 0
		for _, b := range v.stray {
			if b.who == w.name {
				unaware++
			}
		}
		v.stray = slices.DeleteFunc(v.stray, func(b breach) bool { return b.received.Sub(b.renewed) <= attackedDeadline })
		checkLateBy(t, v, attackedLease, attackedDeadline, w)
		var last time.Duration
		renewed := time.Time{}
		for _, r := range c.requests(t) {
			switch {
			case r.who != w.name:
			case r.lease && r.code < 300:
				renewed = r.received
			case !r.lease:
				last = max(last, r.received.Sub(renewed))
			}
		}
		t.Logf("%s: %d writes, the latest %s after the renewal before it (deadline %s); %d after another had taken the lease and before it was seen", attack.name, v.writes[w.name], last.Round(time.Millisecond), attackedDeadline, unaware)
		for _, line := range p.lines {
			if line != render.Sanitise(line) {
				t.Errorf("%s: it prints %q", attack.name, line)
			}
		}
		if err := c.client.CoordinationV1().Leases(scheduler.Namespace).Delete(t.Context(), scheduler.Name, metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
			t.Fatal(err)
		}
	}
}
