package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
)

// kubelet says of every pod that it is ready, from the moment it is let to.
func (c *contested) kubelet(t *testing.T) (let func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	begin := make(chan struct{})
	var works sync.WaitGroup
	works.Go(func() {
		select {
		case <-begin:
		case <-ctx.Done():
			return
		}
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			pods, err := c.client.CoreV1().Pods("default").List(ctx, metav1.ListOptions{})
			if err != nil {
				continue
			}
			for _, pod := range pods.Items {
				if pod.Status.Phase != corev1.PodPending {
					continue
				}
				now := metav1.Now()
				pod.Status = corev1.PodStatus{
					Phase: corev1.PodRunning, StartTime: &now,
					Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue, LastTransitionTime: now}},
				}
				_, _ = c.client.CoreV1().Pods("default").UpdateStatus(ctx, &pod, metav1.UpdateOptions{})
			}
		}
	})
	t.Cleanup(func() { cancel(); works.Wait() })
	return sync.OnceFunc(func() { close(begin) })
}

// startManager runs kube-controller-manager itself.
func (w *way) startManager(t *testing.T) *exec.Cmd {
	t.Helper()
	return w.startUpstream(t, "kube-controller-manager", "--controllers=deployment-controller,replicaset-controller")
}

// startUpstream runs a component of upstream's, built from the module.
func (w *way) startUpstream(t *testing.T, component string, args ...string) *exec.Cmd {
	t.Helper()
	built, err := exec.CommandContext(t.Context(), "go", "tool", "-n", "k8s.io/kubernetes/cmd/"+component).Output()
	if err != nil {
		t.Fatalf("build %s: %v", component, err)
	}
	args = append(append([]string{
		"--kubeconfig=" + w.kubeconfig, "--secure-port=0", "--kube-api-qps=1000", "--kube-api-burst=2000",
	}, electionArgs()...), args...)
	command := exec.Command(strings.TrimSpace(string(built)), args...)
	log, err := os.Create(filepath.Join(t.TempDir(), component+".log"))
	if err != nil {
		t.Fatal(err)
	}
	command.Stderr = log
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = command.Process.Kill()
		_ = command.Wait()
		if t.Failed() {
			text, _ := os.ReadFile(log.Name())
			t.Logf("%s says:\n%s", component, text[max(0, len(text)-3000):])
		}
		_ = log.Close()
	})
	return command
}

// leads waits until an instance holds the lease, by the API server's records.
func (c *contested) leads(t *testing.T, who string) {
	t.Helper()
	await(t, who+" leads", func() bool {
		terms := rule(c.requests(t), shortDeadline).terms
		return len(terms) > 0 && terms[len(terms)-1] == who
	})
}

// TestUpstream shares a cluster with kube-controller-manager: while it leads, this
// program stands by; when it is killed in the middle of a rollout, this program
// takes over and finishes that; when it comes back, it waits; and when this program
// ends, it leads again.
func TestUpstream(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	let := c.kubelet(t)
	labels := map[string]string{"app": "web"}
	deployments := c.client.AppsV1().Deployments("default")
	const replicas = 3

	kcm := c.way(t, "kcm")
	first := kcm.startManager(t)
	c.leads(t, "kcm")
	web, err := deployments.Create(t.Context(), &appsv1.Deployment{
		ObjectMeta: metav1.ObjectMeta{Name: "web"},
		Spec: appsv1.DeploymentSpec{
			Replicas: ptr.To[int32](replicas), Selector: &metav1.LabelSelector{MatchLabels: labels},
			Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Labels: labels}, Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "web", Image: "web:1"}}}},
		},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	status := func() appsv1.DeploymentStatus {
		d, err := deployments.Get(t.Context(), web.Name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		web = d
		if d.Status.ObservedGeneration < d.Generation {
			return appsv1.DeploymentStatus{}
		}
		return d.Status
	}
	await(t, "kube-controller-manager has made the pods", func() bool { return status().Replicas == replicas })

	ours := c.way(t, "a").start(t, "--controllers=deployment,replicaset")
	ours.says(t, " leads since ")

	// A rollout that nobody's kubelet lets go on.
	web.Spec.Template.Spec.Containers[0].Image = "web:2"
	if web, err = deployments.Update(t.Context(), web, metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	await(t, "the rollout is under way", func() bool { return status().UpdatedReplicas > 0 })
	if s := status(); s.UpdatedReplicas == replicas && s.Replicas == replicas {
		t.Fatalf("the rollout is over: %+v", s)
	}
	if n := rule(c.requests(t), shortDeadline).writes["a"]; n != 0 {
		t.Errorf("%d writes while kube-controller-manager led", n)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	let()
	ours.says(t, "acquired")
	await(t, "the rollout is finished", func() bool {
		s := status()
		return s.UpdatedReplicas == replicas && s.Replicas == replicas && s.AvailableReplicas == replicas
	})

	kcm.startManager(t)
	before := len(c.requests(t))
	await(t, "this program renews beside it", func() bool {
		renewals := 0
		for _, r := range c.requests(t)[before:] {
			if r.lease && r.who == "a" && r.code == 200 {
				renewals++
			}
		}
		return renewals > 2*int(shortLease/shortRetry)
	})
	if terms := rule(c.requests(t), shortDeadline).terms; terms[len(terms)-1] != "a" {
		t.Errorf("the lease was held by %q", terms)
	}
	if err := ours.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	ours.exits(t, exit.OK)
	c.leads(t, "kcm")
	// And works: it makes the pod that is missing.
	pods, err := c.client.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{})
	if err != nil || len(pods.Items) == 0 {
		t.Fatal(err, "no pods")
	}
	gone := pods.Items[0]
	if err := c.client.CoreV1().Pods("default").Delete(t.Context(), gone.Name, metav1.DeleteOptions{GracePeriodSeconds: ptr.To[int64](0)}); err != nil {
		t.Fatal(err)
	}
	await(t, "kube-controller-manager replaces a pod", func() bool {
		s := status()
		return s.AvailableReplicas == replicas && kcmCreated(c.requests(t))
	})

	v := rule(c.requests(t), shortDeadline)
	if v.writes["a"] == 0 {
		t.Error("we have not written")
	}
	checkLate(t, v, ours.way)
}

// kcmCreated reports whether kube-controller-manager has created a pod after the
// last term of another.
func kcmCreated(requests []auditedWrite) bool {
	created := false
	for _, r := range requests {
		switch {
		case r.lease && r.who != "kcm":
			created = false
		case r.who == "kcm" && strings.HasPrefix(r.what, "create /api/v1/namespaces/default/pods"):
			created = true
		}
	}
	return created
}
