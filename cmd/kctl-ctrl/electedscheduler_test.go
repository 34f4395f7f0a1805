package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// node makes a node that takes pods, though no kubelet is behind it.
func (c *contested) node(t *testing.T, name string) {
	t.Helper()
	nodes := c.client.CoreV1().Nodes()
	node, err := nodes.Create(t.Context(), &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	node.Spec.Taints = nil // admission's, for a node that is not ready
	if node, err = nodes.Update(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	room := corev1.ResourceList{
		corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("8Gi"), corev1.ResourcePods: resource.MustParse("50"),
	}
	node.Status.Capacity, node.Status.Allocatable = room, room
	if _, err = nodes.UpdateStatus(t.Context(), node, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
}

// pod makes a pod that waits for a node.
func (c *contested) pod(t *testing.T, name string) {
	t.Helper()
	_, err := c.client.CoreV1().Pods("default").Create(t.Context(), &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
}

// binds waits until a pod has a node, which has to be an instance's doing.
func (c *contested) binds(t *testing.T, who, pod string) {
	t.Helper()
	what := "create /api/v1/namespaces/default/pods/" + pod + "/binding"
	by := ""
	await(t, pod+" has a node", func() bool {
		for _, r := range c.requests(t) {
			if strings.HasPrefix(r.what, what) && r.code == 201 {
				by = r.who
			}
		}
		return by != ""
	})
	if by != who {
		t.Errorf("%s was bound by %q, not by %q", pod, by, who)
	}
}

// looks counts how often an instance has read the lease, by the audit log.
func (c *contested) looks(t *testing.T, who string) int {
	t.Helper()
	log, err := os.ReadFile(c.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range bytes.Lines(log[c.AuditFrom:]) {
		var event auditv1.Event
		if json.Unmarshal(line, &event) != nil {
			continue // it is being written
		}
		if o := event.ObjectRef; event.Stage == auditv1.StageResponseComplete && event.Verb == "get" && o != nil && o.Resource == "leases" &&
			event.ImpersonatedUser != nil && event.ImpersonatedUser.Username == who {
			n++
		}
	}
	return n
}

// usurped are the terms that began, by the server's times, before the lease of an
// upstream that was killed or lives had run out. It never gives its lease back.
func usurped(requests []auditedWrite, upstream string) []string {
	var early []string
	var renewed time.Time
	holder := ""
	for _, r := range requests {
		if !r.lease || r.code >= 300 {
			continue
		}
		if after := r.received.Sub(renewed); holder == upstream && r.who != holder && after < shortLease {
			early = append(early, fmt.Sprintf("%s took the lease %s after %s had renewed it", r.who, after, holder))
		}
		holder, renewed = r.who, r.received
	}
	return early
}

// TestUpstreamScheduler shares a cluster with kube-scheduler: while it leads, this
// program stands by; when it is killed, this program takes over once its lease has run
// out, and binds the pods that it has left; when it comes back, it waits; and when this
// program ends, it leads again. An election that takes a live lease must be seen.
func TestUpstreamScheduler(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	c.node(t, "node-1")
	upstream := c.way(t, "ks")
	first := upstream.startUpstream(t, "kube-scheduler")
	c.pod(t, "first")
	c.leads(t, "ks")
	ours := c.way(t, "a").start(t, "--scheduler")
	c.binds(t, "ks", "first")
	ours.says(t, " leads since ")
	c.pod(t, "second")
	c.binds(t, "ks", "second")
	if n := rule(c.requests(t), shortDeadline).writes["a"]; n != 0 {
		t.Errorf("%d writes while kube-scheduler led", n)
	}

	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait()
	left := []string{"left-1", "left-2", "left-3"}
	for _, pod := range left {
		c.pod(t, pod)
	}
	ours.says(t, "acquired")
	ours.says(t, "kube-scheduler runs")
	for _, pod := range left {
		c.binds(t, "a", pod)
	}

	upstream.startUpstream(t, "kube-scheduler")
	before := c.looks(t, "ks")
	await(t, "kube-scheduler stands by", func() bool { return c.looks(t, "ks") >= before+3 })
	c.pod(t, "beside")
	c.binds(t, "a", "beside")
	if err := ours.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ours.exits(t, exit.OK)
	c.leads(t, "ks")
	c.pod(t, "last")
	c.binds(t, "ks", "last")

	requests := c.requests(t)
	v := rule(requests, shortDeadline)
	if len(v.late) != 0 || len(v.stray) != 0 || v.writes["a"] == 0 || !slices.Equal(v.terms, []string{"ks", "a", "ks"}) {
		t.Errorf("terms %q, %d writes, late: %q, stray: %q", v.terms, v.writes["a"], v.late, v.stray)
	}
	if early := usurped(requests, "ks"); len(early) != 0 {
		t.Error(early)
	}

	c.takeLive(t)
	if early := usurped(c.requests(t), "ks"); len(early) == 0 {
		t.Error("an election that takes the lease from a live kube-scheduler was not seen")
	}
}

// takeLive stands for election by a way that hides the holder of the lease.
func (c *contested) takeLive(t *testing.T) {
	t.Helper()
	testbed.TakeControl(t)
	defer testbed.ReleaseControl()
	w := c.way(t, "broken")
	w.set(c.holderless(t))
	o := &engineflags.Options{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), Kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{}
	o.AddTo(cmd)
	o.AddScheduler(cmd.Flags())
	args := append([]string{"--active", "--scheduler", "--confirm=" + contestedContext, "--kubeconfig=" + w.kubeconfig}, electionArgs()...)
	if err := cmd.ParseFlags(args); err != nil {
		t.Fatal(err)
	}
	spec, err := o.Spec(state.ModeActive, engine.Approvals{})
	if err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	defer engineflags.ShutDown(s, os.Stderr)
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// holderless answers reads of a lease as if nobody held it, until it is written.
func (c *contested) holderless(t *testing.T) func(http.ResponseWriter, *http.Request) bool {
	var written atomic.Bool
	return func(w http.ResponseWriter, r *http.Request) bool {
		asked := request.Classify(r.Method, r.URL, r.Header)
		switch {
		case asked.Object.Resource != "leases" || asked.Object.Name == "" || written.Load():
			return false
		case r.Method != http.MethodGet:
			written.Store(true)
			return false
		}
		lease, err := c.client.CoordinationV1().Leases(asked.Object.Namespace).Get(r.Context(), asked.Object.Name, metav1.GetOptions{})
		if err != nil {
			return false
		}
		lease.Spec.HolderIdentity = nil
		lease.APIVersion, lease.Kind = "coordination.k8s.io/v1", "Lease"
		w.Header().Set("Content-Type", "application/json")
		if err := json.NewEncoder(w).Encode(lease); err != nil {
			t.Error(err)
		}
		return true
	}
}
