package metrics

import (
	"math/bits"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	apiresource "k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/component-helpers/resource"
	metricsapi "k8s.io/metrics/pkg/apis/metrics"
)

// The annotations that set the usage of a pod.
const (
	CPUAnnotation    = "kctl-ctrl.dev/cpu-usage"
	MemoryAnnotation = "kctl-ctrl.dev/memory-usage"
)

// measured are the resources that metrics-server measures.
var measured = []struct {
	name       corev1.ResourceName
	annotation string
	format     apiresource.Format
}{
	{corev1.ResourceCPU, CPUAnnotation, apiresource.DecimalSI},
	{corev1.ResourceMemory, MemoryAnnotation, apiresource.BinarySI},
}

// containersOf is what the containers of a pod use. scaledBy is the autoscaler of the
// pod's owner, nil for none.
func containersOf(pod *corev1.Pod, scaledBy *autoscalingv2.HorizontalPodAutoscaler) []metricsapi.ContainerMetrics {
	var running []*corev1.Container
	for i := range pod.Spec.InitContainers {
		if c := &pod.Spec.InitContainers[i]; c.RestartPolicy != nil && *c.RestartPolicy == corev1.ContainerRestartPolicyAlways {
			running = append(running, c) // a sidecar: the autoscaler counts its requests too
		}
	}
	for i := range pod.Spec.Containers {
		running = append(running, &pod.Spec.Containers[i])
	}
	found := make([]metricsapi.ContainerMetrics, len(running))
	for i, c := range running {
		found[i] = metricsapi.ContainerMetrics{Name: c.Name, Usage: corev1.ResourceList{}}
	}
	for _, m := range measured {
		requests := make([]int64, len(running))
		for i, c := range running {
			requests[i] = amount(c.Resources.Requests[m.name], m.name)
		}
		for i, used := range usage(pod, running, requests, m.name, m.annotation, scaledBy) {
			q := apiresource.NewQuantity(used, m.format)
			if m.name == corev1.ResourceCPU {
				q = apiresource.NewMilliQuantity(used, m.format)
			}
			found[i].Usage[m.name] = *q
		}
	}
	return found
}

// usage is what each of the running containers uses of one resource.
func usage(pod *corev1.Pod, running []*corev1.Container, requests []int64, name corev1.ResourceName, annotation string,
	scaledBy *autoscalingv2.HorizontalPodAutoscaler) []int64 {
	if text, set := pod.Annotations[annotation]; set {
		if q, err := apiresource.ParseQuantity(text); err == nil && q.Sign() >= 0 {
			return split(amount(q, name), requests)
		}
	}
	if scaledBy == nil {
		return requests
	}
	used := requests
	for _, metric := range scaledBy.Spec.Metrics {
		if r := metric.Resource; metric.Type == autoscalingv2.ResourceMetricSourceType && r != nil && r.Name == name {
			used = split(meets(r.Target, podRequest(pod, requests, name), name), requests)
		}
	}
	for _, metric := range scaledBy.Spec.Metrics {
		r := metric.ContainerResource
		if metric.Type != autoscalingv2.ContainerResourceMetricSourceType || r == nil || r.Name != name {
			continue
		}
		for i, c := range running {
			if c.Name == r.Container {
				used = append([]int64(nil), used...)
				used[i] = meets(r.Target, requests[i], name)
			}
		}
	}
	return used
}

// meets is the usage of a pod, or of a container, at which an autoscaler leaves the
// number of replicas as it is.
func meets(target autoscalingv2.MetricTarget, request int64, name corev1.ResourceName) int64 {
	switch {
	case target.AverageUtilization != nil:
		return mulDiv(request, int64(*target.AverageUtilization), 100)
	case target.AverageValue != nil:
		return amount(*target.AverageValue, name)
	}
	return request
}

// podRequest is what the autoscaler takes for the request of a pod: that of the pod
// where it has any, or else the sum of its containers
// (k8s.io/kubernetes v1.37.1 pkg/controller/podautoscaler/replica_calculator.go).
func podRequest(pod *corev1.Pod, requests []int64, name corev1.ResourceName) int64 {
	if resource.IsPodLevelRequestsSet(pod) {
		return amount(resource.PodRequests(pod, resource.PodResourcesOptions{})[name], name)
	}
	var sum int64
	for _, r := range requests {
		sum += r
	}
	return sum
}

// amount is a quantity in the unit that is counted in: millicores, or bytes.
func amount(q apiresource.Quantity, name corev1.ResourceName) int64 {
	if name == corev1.ResourceCPU {
		return q.MilliValue()
	}
	return q.Value()
}

// split divides a total among containers in proportion to their requests, or evenly
// where none has any. The parts add up to the total.
func split(total int64, requests []int64) []int64 {
	parts := make([]int64, len(requests))
	var sum int64
	for _, r := range requests {
		sum += r
	}
	left := total
	for i, r := range requests {
		if sum == 0 {
			parts[i] = total / int64(len(requests))
		} else {
			parts[i] = mulDiv(total, r, sum)
		}
		parts[i] = min(parts[i], left)
		left -= parts[i]
	}
	if len(parts) > 0 {
		parts[0] += left
	}
	return parts
}

// mulDiv is a*b/c, to the nearest. None may be negative.
func mulDiv(a, b, c int64) int64 {
	hi, lo := bits.Mul64(uint64(a), uint64(b))
	lo, carry := bits.Add64(lo, uint64(c)/2, 0)
	hi += carry
	if c <= 0 || hi >= uint64(c) {
		return 0 // more than a quantity holds
	}
	quotient, _ := bits.Div64(hi, lo, uint64(c))
	return int64(quotient)
}
