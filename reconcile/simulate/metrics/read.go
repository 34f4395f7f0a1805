package metrics

import (
	"context"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	metricsapi "k8s.io/metrics/pkg/apis/metrics"
)

// source reads what metrics are computed from.
type source struct {
	client kubernetes.Interface
	now    func() time.Time
}

// pods are the metrics of the running pods of a namespace, or of all, that a label
// selector matches; it may be empty.
func (s source) pods(ctx context.Context, namespace, selector string) ([]metricsapi.PodMetrics, error) {
	pods, err := s.running(ctx, namespace, selector)
	if err != nil || len(pods) == 0 {
		return nil, err
	}
	r, err := s.relations(ctx, namespace, pods)
	if err != nil {
		return nil, err
	}
	// The autoscaler passes over samples that were taken before a pod was ready: the
	// window is zero, and the time is when the pods were read.
	now := metav1.NewTime(s.now())
	found := make([]metricsapi.PodMetrics, len(pods))
	for i := range pods {
		pod := &pods[i]
		found[i] = metricsapi.PodMetrics{
			ObjectMeta: metav1.ObjectMeta{Namespace: pod.Namespace, Name: pod.Name, Labels: pod.Labels, CreationTimestamp: now},
			Timestamp:  now, Containers: containersOf(pod, r.autoscalerOf(pod)),
		}
	}
	return found, nil
}

// running are the pods that a kubelet would have metrics of.
func (s source) running(ctx context.Context, namespace, selector string) ([]corev1.Pod, error) {
	list, err := s.client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Status.Phase != corev1.PodRunning }), nil
}

// relations reads the autoscalers, and of the owners that stand between a pod and
// what is scaled those of the types that some of the pods have.
func (s source) relations(ctx context.Context, namespace string, pods []corev1.Pod) (relations, error) {
	autoscalers, err := s.client.AutoscalingV2().HorizontalPodAutoscalers(namespace).List(ctx, metav1.ListOptions{})
	if err != nil || len(autoscalers.Items) == 0 {
		return relations{}, err
	}
	between := map[object]metav1.Object{}
	if ownedBy(pods, "ReplicaSet") {
		list, err := s.client.AppsV1().ReplicaSets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return relations{}, err
		}
		for i := range list.Items {
			o := &list.Items[i]
			between[object{o.Namespace, "apps", "ReplicaSet", o.Name}] = o
		}
	}
	if ownedBy(pods, "StatefulSet") { // a custom resource may own it
		list, err := s.client.AppsV1().StatefulSets(namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return relations{}, err
		}
		for i := range list.Items {
			o := &list.Items[i]
			between[object{o.Namespace, "apps", "StatefulSet", o.Name}] = o
		}
	}
	return newRelations(autoscalers.Items, between), nil
}

func ownedBy(pods []corev1.Pod, kind string) bool {
	return slices.ContainsFunc(pods, func(p corev1.Pod) bool {
		owner, owned := controllerOf(&p)
		return owned && owner.group == "apps" && owner.kind == kind
	})
}

// nodes are the metrics of nodes: the sum of what the pods on each use.
func (s source) nodes(ctx context.Context, selector string) ([]metricsapi.NodeMetrics, error) {
	nodes, err := s.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector})
	if err != nil || len(nodes.Items) == 0 {
		return nil, err
	}
	pods, err := s.running(ctx, metav1.NamespaceAll, "")
	if err != nil {
		return nil, err
	}
	r, err := s.relations(ctx, metav1.NamespaceAll, pods)
	if err != nil {
		return nil, err
	}
	used := map[string]corev1.ResourceList{}
	for i := range pods {
		pod := &pods[i]
		sum := used[pod.Spec.NodeName]
		if sum == nil {
			sum = corev1.ResourceList{}
			used[pod.Spec.NodeName] = sum
		}
		for _, c := range containersOf(pod, r.autoscalerOf(pod)) {
			for name, q := range c.Usage {
				q.Add(sum[name])
				sum[name] = q
			}
		}
	}
	now := metav1.NewTime(s.now())
	found := make([]metricsapi.NodeMetrics, len(nodes.Items))
	for i := range nodes.Items {
		n := &nodes.Items[i]
		usage := used[n.Name]
		if usage == nil {
			usage = containersOf(&corev1.Pod{Spec: corev1.PodSpec{Containers: make([]corev1.Container, 1)}}, nil)[0].Usage
		}
		found[i] = metricsapi.NodeMetrics{
			ObjectMeta: metav1.ObjectMeta{Name: n.Name, Labels: n.Labels, CreationTimestamp: now}, Timestamp: now, Usage: usage,
		}
	}
	return found, nil
}
