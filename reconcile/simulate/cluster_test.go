package simulate_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/nodes"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// world is a running simulation and a namespace in it.
type world struct {
	t         testing.TB
	client    kubernetes.Interface
	cluster   *simulate.Cluster
	namespace string
}

func start(t testing.TB, options simulate.Options) *world {
	t.Helper()
	options.Config = config(t)
	client := kubernetes.NewForConfigOrDie(options.Config)
	namespace, err := client.CoreV1().Namespaces().Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{GenerateName: "test-"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(quiet(t))
	cluster, err := simulate.Start(ctx, options)
	if err != nil {
		cancel()
		t.Fatal(err)
	}
	w := &world{t: t, client: client, cluster: cluster, namespace: namespace.Name}
	t.Cleanup(func() {
		w.clear()
		cancel()
		cluster.Wait()
	})
	return w
}

// clear removes pods and nodes, for the next test to begin with none.
func (w *world) clear() {
	now, ctx := int64(0), context.Background()
	pods := w.client.CoreV1().Pods(w.namespace)
	list, err := pods.List(ctx, metav1.ListOptions{})
	if err != nil {
		w.t.Error(err)
		return
	}
	for _, pod := range list.Items {
		if len(pod.Finalizers) > 0 {
			_, err := pods.Patch(ctx, pod.Name, types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`), metav1.PatchOptions{})
			if err != nil && !apierrors.IsNotFound(err) {
				w.t.Error(err)
			}
		}
		if err := pods.Delete(ctx, pod.Name, metav1.DeleteOptions{GracePeriodSeconds: &now}); err != nil && !apierrors.IsNotFound(err) {
			w.t.Error(err)
		}
	}
	if err := w.client.CoreV1().Nodes().DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{}); err != nil {
		w.t.Error(err)
	}
}

func (w *world) create(pod *corev1.Pod) *corev1.Pod {
	w.t.Helper()
	pod.Namespace = w.namespace
	created, err := w.client.CoreV1().Pods(w.namespace).Create(w.t.Context(), pod, metav1.CreateOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return created
}

func (w *world) pod(name string) *corev1.Pod {
	w.t.Helper()
	pod, err := w.client.CoreV1().Pods(w.namespace).Get(w.t.Context(), name, metav1.GetOptions{})
	if err != nil {
		w.t.Fatal(err)
	}
	return pod
}

// settle waits until the cluster has followed the server as far as version and
// is idle.
func (w *world) settle(ref state.Ref, version string) {
	w.t.Helper()
	eventually(w.t, "settle", func() string {
		if !w.cluster.Seen(ref, version) {
			return fmt.Sprintf("%s at %s has not come", ref, version)
		}
		return strings.Join(w.cluster.Busy(), "; ")
	})
}

func (w *world) settlePod(pod *corev1.Pod) {
	w.t.Helper()
	w.settle(state.Ref{Version: "v1", Resource: "pods", Namespace: pod.Namespace, Name: pod.Name}, pod.ResourceVersion)
}

func newPod(name string, change ...func(*corev1.Pod)) *corev1.Pod {
	pod := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PodSpec{Containers: []corev1.Container{{
			Name: "main", Image: "registry.example/main:1",
		}}},
	}
	for _, c := range change {
		c(pod)
	}
	return pod
}

func restart(policy corev1.RestartPolicy) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Spec.RestartPolicy = policy }
}

func ofJob(pod *corev1.Pod) {
	yes := true
	pod.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "batch/v1", Kind: "Job", Name: "job", UID: "1f0b2cb2-8c6a-4f0e-9a52-1a9b4a3d1c00", Controller: &yes,
	}}
}

func finalizer(name string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) { pod.Finalizers = append(pod.Finalizers, name) }
}

func needs(cpu string) func(*corev1.Pod) {
	return func(pod *corev1.Pod) {
		pod.Spec.Containers[0].Resources.Requests = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu)}
	}
}

func isReady(pod *corev1.Pod) bool {
	return slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.PodReady && c.Status == corev1.ConditionTrue
	})
}

func TestNodesBecomeReady(t *testing.T) {
	w := start(t, simulate.Options{Nodes: 4, Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("3")}})
	eventually(t, "nodes", func() string { return strings.Join(w.cluster.Busy(), "; ") })
	list, err := w.client.CoreV1().Nodes().List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	addresses := map[string]bool{}
	for _, node := range list.Items {
		ready := slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
		})
		got = append(got, fmt.Sprintf("%s zone=%s cpu=%s pods=%s ready=%v taints=%d", node.Name,
			node.Labels[corev1.LabelTopologyZone], node.Status.Allocatable.Cpu(), node.Status.Allocatable.Pods(),
			ready, len(node.Spec.Taints)))
		for _, address := range node.Status.Addresses {
			addresses[address.Address] = true
		}
		if node.Status.NodeInfo.KubeletVersion == "" || strings.Contains(node.Status.NodeInfo.KubeletVersion, "kwok") {
			t.Errorf("%s: kubeletVersion %q is not the server's", node.Name, node.Status.NodeInfo.KubeletVersion)
		}
	}
	want := []string{
		"node-1 zone=a cpu=3 pods=110 ready=true taints=0",
		"node-2 zone=b cpu=3 pods=110 ready=true taints=0",
		"node-3 zone=c cpu=3 pods=110 ready=true taints=0",
		"node-4 zone=a cpu=3 pods=110 ready=true taints=0",
	}
	if !slices.Equal(got, want) {
		t.Errorf("nodes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if len(addresses) != 8 { // an address and a host name each
		t.Errorf("addresses %v: some are shared", addresses)
	}
	eventually(t, "leases", func() string {
		leases, err := w.client.CoordinationV1().Leases(corev1.NamespaceNodeLease).List(t.Context(), metav1.ListOptions{})
		if err != nil {
			return err.Error()
		}
		if len(leases.Items) != 4 {
			return fmt.Sprintf("%d leases, not 4", len(leases.Items))
		}
		for _, lease := range leases.Items {
			if lease.Spec.RenewTime == nil || len(lease.OwnerReferences) != 1 {
				return lease.Name + " has no renewTime or no owner"
			}
		}
		return ""
	})
}

func TestPodsRun(t *testing.T) {
	w := start(t, simulate.Options{Nodes: 3, Scheduler: true})
	var last *corev1.Pod
	for i := range 5 {
		last = w.create(newPod(fmt.Sprintf("web-%d", i)))
	}
	w.settlePod(last)
	addresses := map[string]bool{}
	for i := range 5 {
		pod := w.pod(fmt.Sprintf("web-%d", i))
		if pod.Spec.NodeName == "" || pod.Status.Phase != corev1.PodRunning || !isReady(pod) {
			t.Errorf("%s: on %q, phase %s, ready %v", pod.Name, pod.Spec.NodeName, pod.Status.Phase, isReady(pod))
		}
		if pod.Status.PodIP == "" || pod.Status.HostIP == "" || addresses[pod.Status.PodIP] {
			t.Errorf("%s: address %q on host %q", pod.Name, pod.Status.PodIP, pod.Status.HostIP)
		}
		addresses[pod.Status.PodIP] = true
	}

	// Deleted pods go, with the grace period of a pod that still runs.
	if err := w.client.CoreV1().Pods(w.namespace).Delete(t.Context(), "web-0", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "deletion", func() string {
		_, err := w.client.CoreV1().Pods(w.namespace).Get(t.Context(), "web-0", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return ""
		}
		return fmt.Sprintf("web-0 is still there (%v)", err)
	})
	eventually(t, "rest", func() string { return strings.Join(w.cluster.Busy(), "; ") })
}

func TestJobPodsSucceed(t *testing.T) {
	w := start(t, simulate.Options{Nodes: 1, Scheduler: true})
	never := w.create(newPod("never", ofJob, restart(corev1.RestartPolicyNever)))
	onFailure := w.create(newPod("on-failure", ofJob, restart(corev1.RestartPolicyOnFailure)))
	w.settlePod(onFailure)
	for _, name := range []string{never.Name, onFailure.Name} {
		if pod := w.pod(name); pod.Status.Phase != corev1.PodSucceeded {
			t.Errorf("%s: phase %s, not Succeeded", name, pod.Status.Phase)
		}
	}
}

func TestFinalizersHoldDeletedPods(t *testing.T) {
	w := start(t, simulate.Options{Nodes: 1, Scheduler: true})
	const foreign = "example.com/hold"
	held := w.create(newPod("held", finalizer(foreign)))
	job := w.create(newPod("job", finalizer("batch.kubernetes.io/job-tracking")))
	w.settlePod(job)
	for _, pod := range []*corev1.Pod{held, job} {
		if err := w.client.CoreV1().Pods(w.namespace).Delete(t.Context(), pod.Name, metav1.DeleteOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	w.settlePod(w.pod("job"))
	// Idle, although both are there: the finalizers are not ours.
	if pod := w.pod("held"); pod.DeletionTimestamp == nil || *pod.DeletionGracePeriodSeconds != 0 {
		t.Errorf("held: deletionTimestamp %v: the kubelet's part of the deletion is not done", pod.DeletionTimestamp)
	}
	if pod := w.pod("job"); pod.Status.Phase != corev1.PodFailed || *pod.DeletionGracePeriodSeconds != 0 {
		t.Errorf("job: phase %s, not Failed as the Job controller wants to see it", pod.Status.Phase)
	}
}

func TestPodBehaviours(t *testing.T) {
	waiting := func(pod *corev1.Pod) string {
		if s := pod.Status.ContainerStatuses; len(s) == 1 && s[0].State.Waiting != nil {
			return s[0].State.Waiting.Reason
		}
		return ""
	}
	t.Run("pending", func(t *testing.T) {
		w := start(t, simulate.Options{Nodes: 1, Scheduler: true, Pods: nodes.PodsPending})
		w.settlePod(w.create(newPod("web")))
		if pod := w.pod("web"); pod.Status.Phase != corev1.PodPending || waiting(pod) != "ContainerCreating" || pod.Spec.NodeName == "" {
			t.Errorf("phase %s, waiting for %q on %q", pod.Status.Phase, waiting(pod), pod.Spec.NodeName)
		}
	})
	t.Run("failing", func(t *testing.T) {
		w := start(t, simulate.Options{Nodes: 1, Scheduler: true, Pods: nodes.PodsFailing})
		w.create(newPod("web"))
		w.settlePod(w.create(newPod("once", restart(corev1.RestartPolicyNever))))
		if pod := w.pod("web"); pod.Status.Phase != corev1.PodRunning || isReady(pod) || waiting(pod) != "CrashLoopBackOff" {
			t.Errorf("web: phase %s, ready %v, waiting for %q", pod.Status.Phase, isReady(pod), waiting(pod))
		}
		pod := w.pod("once")
		if s := pod.Status.ContainerStatuses; pod.Status.Phase != corev1.PodFailed || s[0].State.Terminated == nil || s[0].State.Terminated.ExitCode != 1 {
			t.Errorf("once: phase %s, containers %+v", pod.Status.Phase, s)
		}
	})
}

func TestUnschedulablePodIsIdleAndReported(t *testing.T) {
	w := start(t, simulate.Options{Nodes: 2, Scheduler: true})
	w.create(newPod("foreign", func(pod *corev1.Pod) { pod.Spec.SchedulerName = "mine" }))
	big := w.create(newPod("big", needs("1k")))
	w.settlePod(big)
	eventually(t, "verdict", func() string {
		var got []string
		for _, u := range w.cluster.Unschedulable() {
			if u.Namespace == w.namespace {
				got = append(got, u.Name+" "+u.Reason+" "+u.Message)
			}
		}
		if len(got) == 2 && strings.Contains(got[0], "big Unschedulable 0/2 nodes are available: 2 Insufficient cpu") &&
			strings.Contains(got[1], `foreign OtherScheduler scheduler "mine" is not simulated`) {
			return ""
		}
		return fmt.Sprintf("%q", got)
	})
	// A node that is big enough wakes it.
	node := &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "mainframe"}, Status: corev1.NodeStatus{
		Capacity: corev1.ResourceList{corev1.ResourceCPU: resource.MustParse("2k"), corev1.ResourcePods: resource.MustParse("10")},
	}}
	if _, err := w.client.CoreV1().Nodes().Create(t.Context(), node, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	eventually(t, "second try", func() string {
		if pod := w.pod("big"); pod.Status.Phase != corev1.PodRunning {
			return fmt.Sprintf("phase %s; %v", pod.Status.Phase, w.cluster.Busy())
		}
		return ""
	})
}

// Without a node the scheduler tries for ever; that is no work.
func TestNoNodes(t *testing.T) {
	w := start(t, simulate.Options{Scheduler: true})
	w.settlePod(w.create(newPod("web")))
	eventually(t, "verdict", func() string {
		list := w.cluster.Unschedulable()
		if len(list) == 1 && list[0].Name == "web" && strings.Contains(list[0].Message, "no nodes available") {
			return ""
		}
		return fmt.Sprintf("%+v", list)
	})
	for range 30 { // over the first retries
		if busy := w.cluster.Busy(); len(busy) > 0 {
			t.Errorf("busy: %q", busy)
		}
		time.Sleep(100 * time.Millisecond)
	}
}
