package main

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/spf13/pflag"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/tuibackend"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// eventually waits for a condition.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !condition(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within a minute: %s", what)
		}
	}
}

// TestScreenLoops holds the real deployment controller before its write on a
// sandbox: the ReplicaSet comes with the step and not before. The ReplicaSet
// controller is started beside it. What is held keeps the session from nothing.
func TestScreenLoops(t *testing.T) {
	testbed.WithControllers(t)
	options, err := controllers.NewOptions()
	if err != nil {
		t.Fatal(err)
	}
	flags := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddFlags(flags)
	if err := flags.Parse([]string{"--controllers=deployment"}); err != nil {
		t.Fatal(err)
	}
	s, err := testEngine(t, engine.Spec{Controllers: options, Horizon: time.Second, Sandbox: &engine.Sandbox{}})
	if err != nil {
		t.Fatal(err)
	}
	stopped := false
	t.Cleanup(func() {
		if !stopped {
			_ = s.Stop(context.Background())
		}
	})
	loops := tuibackend.NewLoops(s)
	const deployment, replicaset = "deployment-controller", "replicaset-controller"
	if err := loops.Pause(deployment); err == nil || !strings.Contains(err.Error(), "not ready") {
		t.Errorf("pause before the session has begun: %v", err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	client, err := kubernetes.NewForConfig(s.Config())
	if err != nil {
		t.Fatal(err)
	}
	replicaSets := func() int {
		list, err := client.AppsV1().ReplicaSets("default").List(t.Context(), metav1.ListOptions{})
		if err != nil {
			t.Fatal(err)
		}
		return len(list.Items)
	}
	create := func(name string) {
		t.Helper()
		labels := map[string]string{"app": name}
		one := int32(1)
		_, err := client.AppsV1().Deployments("default").Create(t.Context(), &appsv1.Deployment{
			ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: appsv1.DeploymentSpec{Replicas: &one, Selector: &metav1.LabelSelector{MatchLabels: labels}, Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labels},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "registry.example/web:1"}}},
			}},
		}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
	}
	// What is held is told by the journal.
	held := func() []*state.BreakpointHit {
		snap := s.Journal().Flush()
		var all []*state.BreakpointHit
		for _, b := range snap.Controls.Breakpoints.All() {
			all = append(all, snap.HoldsAt(b.Number)...)
		}
		return all
	}
	eventually(t, "the loop runs", func() bool { return loops.Pause(deployment) == nil })
	if err := loops.Resume(deployment); err != nil {
		t.Error(err)
	}
	if err := loops.Resume(deployment); err == nil {
		t.Error("a loop that is not paused is resumed")
	}
	for _, off := range []string{replicaset, "nosuch"} {
		if err := loops.Break(port.Breakpoint{Controller: off}); err == nil {
			t.Errorf("a breakpoint on %s, which does not run", off)
		}
	}

	if err := loops.Break(port.Breakpoint{Controller: deployment, Key: "default/*", BeforeWrite: true}); err != nil {
		t.Fatal(err)
	}
	create("web")
	eventually(t, "the first write is held", func() bool { return len(held()) > 0 })
	h := held()[0]
	if h.Key != "default/web" || !strings.HasPrefix(h.Write, "create replicasets.apps default/web-") && !strings.HasPrefix(h.Write, "update deployments.apps") {
		t.Errorf("held %+v", h)
	}
	if n, paused := replicaSets(), s.Journal().Flush().Paused(deployment); n != 0 || !paused {
		t.Errorf("%d ReplicaSets are there before the step; paused %v", n, paused)
	}
	eventually(t, "the ReplicaSet comes, step by step", func() bool {
		for _, h := range held() {
			if err := loops.Step(deployment, h.Queue, h.Key); err != nil {
				t.Fatal(err)
			}
		}
		return replicaSets() == 1
	})

	// A key at a breakpoint, in a queue that holds it.
	if err := loops.Unbreak(1); err != nil {
		t.Fatal(err)
	}
	if err := loops.Resume(deployment); err != nil {
		t.Fatal(err)
	}
	if err := loops.Break(port.Breakpoint{Controller: deployment, Key: "default/api"}); err != nil {
		t.Fatal(err)
	}
	create("api")
	eventually(t, "the key is held", func() bool { return len(held()) == 1 })
	if h := held()[0]; h.Key != "default/api" || h.Write != "" {
		t.Errorf("held %+v", h)
	}
	if err := loops.Step(deployment, "deployment", "default/nosuch"); err == nil || strings.Contains(err.Error(), "step") {
		t.Errorf("step of a key that is not there: %v", err)
	}
	if err := loops.Step(deployment, "deployment", "default/api"); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the second ReplicaSet comes", func() bool { return replicaSets() == 2 })
	if err := loops.Resume(deployment); err != nil {
		t.Fatal(err)
	}

	// The next loop is started by the user; its Pods need no ServiceAccount here.
	if err := loops.Start(t.Context(), replicaset); err != nil {
		t.Fatal(err)
	}
	eventually(t, "the loop that was started makes Pods", func() bool {
		list, err := client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
		return err == nil && len(list.Items) == 2
	})
	if err := loops.Start(t.Context(), replicaset); err == nil || err.Error() != "it is running" {
		t.Errorf("a second start: %v", err)
	}

	// The end does not wait for what is held.
	if err := loops.Break(port.Breakpoint{Controller: deployment, BeforeWrite: true}); err != nil {
		t.Fatal(err)
	}
	create("last")
	eventually(t, "a write is held", func() bool { return len(held()) > 0 })
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	stopped = true
	if err := s.Stop(ctx); err != nil {
		t.Errorf("stop while a write is held: %v", err)
	}
	if len(held()) > 0 {
		t.Errorf("still held: %+v", held())
	}
}
