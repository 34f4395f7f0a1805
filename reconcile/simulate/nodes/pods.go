package nodes

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/cache"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// nodeIndex groups pods by their node; unassigned is the group of those that
// wait for one. Pods at their end are in no group.
const (
	nodeIndex  = "node"
	unassigned = ""
)

func indexByNode(obj any) ([]string, error) {
	pod, ok := obj.(*corev1.Pod)
	if !ok || (finished(pod) && pod.DeletionTimestamp == nil) {
		return nil, nil
	}
	if pod.Spec.NodeName == unassigned && pod.DeletionTimestamp != nil {
		return nil, nil
	}
	return []string{pod.Spec.NodeName}, nil
}

func dropManagedFields(obj any) (any, error) {
	if object, err := meta.Accessor(obj); err == nil {
		object.SetManagedFields(nil)
	}
	return obj, nil
}

func finished(pod *corev1.Pod) bool {
	return pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed
}

func (n *Nodes) podPlayer() (*player[*corev1.Pod], error) {
	stages, err := podStages(n.options.Pods)
	if err != nil {
		return nil, err
	}
	// A kwok stage compiles itself at its first use, without a lock.
	if _, err := stages.ListAllPossible(context.Background(), &lifecycle.Event{Data: &corev1.Pod{}}); err != nil {
		return nil, fmt.Errorf("compile pod stages: %w", err)
	}
	p := &player[*corev1.Pod]{
		kind:   "pod",
		stages: stages,
		renderer: gotpl.NewRenderer(gotpl.FuncMap{
			"NodeIPsWith": n.nodeIPs,
			"PodIPsWith":  n.podIPs,
		}),
		get: func(key string) (*corev1.Pod, bool) {
			obj, ok, err := n.podIndex.GetByKey(key)
			if err != nil || !ok {
				return nil, false
			}
			return obj.(*corev1.Pod), true
		},
		idle:    n.podIdle,
		patch:   n.patchPod,
		remove:  n.removePod,
		warn:    n.warn,
		changed: n.options.OnChange,
	}
	p.init(n.options.Clock)
	return p, nil
}

// podIdle reports whether a kubelet has nothing to do with the pod.
func (n *Nodes) podIdle(pod *corev1.Pod) bool {
	if pod.Spec.NodeName == unassigned {
		return true
	}
	if pod.DeletionTimestamp == nil {
		if finished(pod) {
			return true
		}
	} else if grace := pod.DeletionGracePeriodSeconds; grace != nil && *grace == 0 && len(pod.Finalizers) > 0 {
		// The kubelet's part of the deletion is done. Who put the finalizers there
		// does the rest; the Job controller wants to see the pod fail before.
		return finished(pod) || !slices.Contains(pod.Finalizers, batchv1.JobTrackingFinalizer)
	}
	node, err := n.nodeLister.Get(pod.Spec.NodeName)
	return err != nil || n.options.Leave(node) // no node, no kubelet
}

func (n *Nodes) podHandler() cache.ResourceEventHandler {
	keep := func(obj any) {
		pod := obj.(*corev1.Pod)
		if pod.Spec.HostNetwork || finished(pod) {
			return
		}
		ips := make([]string, 0, len(pod.Status.PodIPs))
		for _, ip := range pod.Status.PodIPs {
			ips = append(ips, ip.IP)
		}
		n.addresses.note(pod.UID, ips)
	}
	play := n.pods.handler()
	return cache.ResourceEventHandlerFuncs{
		AddFunc: func(obj any) {
			keep(obj)
			play.OnAdd(obj, false)
		},
		UpdateFunc: func(old, obj any) {
			if old, pod := old.(*corev1.Pod), obj.(*corev1.Pod); old.UID != pod.UID || finished(pod) {
				n.addresses.release(old.UID)
			}
			keep(obj)
			play.OnUpdate(old, obj)
		},
		DeleteFunc: func(obj any) {
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			if pod, ok := obj.(*corev1.Pod); ok {
				n.addresses.release(pod.UID)
			}
			play.OnDelete(obj)
		},
	}
}

func (n *Nodes) patchPod(ctx context.Context, pod *corev1.Pod, patch *lifecycle.Patch) (*corev1.Pod, error) {
	data, err := precondition(patch, pod.UID)
	if err != nil {
		return nil, err
	}
	return n.client.CoreV1().Pods(pod.Namespace).Patch(ctx, pod.Name, patch.Type, data,
		metav1.PatchOptions{FieldManager: Name}, subresources(patch)...)
}

func (n *Nodes) removePod(ctx context.Context, pod *corev1.Pod) error {
	now := int64(0)
	return n.client.CoreV1().Pods(pod.Namespace).Delete(ctx, pod.Name, metav1.DeleteOptions{
		GracePeriodSeconds: &now,
		Preconditions:      &metav1.Preconditions{UID: &pod.UID},
	})
}

// nodeIPs is kwok's template function of the name NodeIPsWith.
func (n *Nodes) nodeIPs(nodeName string) []string {
	node, err := n.nodeLister.Get(nodeName)
	if err != nil {
		return nil
	}
	var ips []string
	for _, address := range node.Status.Addresses {
		if address.Type == corev1.NodeInternalIP {
			ips = append(ips, address.Address)
		}
	}
	return ips
}

// podIPs is kwok's template function of the name PodIPsWith.
func (n *Nodes) podIPs(nodeName string, hostNetwork bool, uid, _, _ string) []string {
	if hostNetwork {
		return n.nodeIPs(nodeName)
	}
	var cidrs []string
	if node, err := n.nodeLister.Get(nodeName); err == nil {
		cidrs = node.Spec.PodCIDRs
	}
	return n.addresses.take(types.UID(uid), cidrs)
}

// precondition makes a merge patch fail with a conflict if the name stands for
// another object by now.
func precondition(patch *lifecycle.Patch, uid types.UID) ([]byte, error) {
	switch patch.Type {
	case types.MergePatchType, types.StrategicMergePatchType:
	default:
		return patch.Data, nil
	}
	var body map[string]json.RawMessage
	if err := json.Unmarshal(patch.Data, &body); err != nil {
		return nil, fmt.Errorf("read rendered patch: %w", err)
	}
	if _, ok := body["metadata"]; ok {
		return patch.Data, nil
	}
	id, err := json.Marshal(map[string]types.UID{"uid": uid})
	if err != nil {
		return nil, err
	}
	body["metadata"] = id
	return json.Marshal(body)
}

func subresources(patch *lifecycle.Patch) []string {
	if patch.Subresource == "" {
		return nil
	}
	return []string{patch.Subresource}
}
