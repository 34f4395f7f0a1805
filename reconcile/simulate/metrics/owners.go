package metrics

import (
	"cmp"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// object names an object of a namespace, whatever its version.
type object struct{ namespace, group, kind, name string }

func controllerOf(o metav1.Object) (object, bool) {
	owner := metav1.GetControllerOf(o)
	if owner == nil {
		return object{}, false
	}
	return object{o.GetNamespace(), groupOf(owner.APIVersion), owner.Kind, owner.Name}, true
}

func groupOf(apiVersion string) string {
	group, _, found := strings.Cut(apiVersion, "/")
	if !found {
		return ""
	}
	return group
}

// relations tell which autoscaler scales the owner of a pod.
type relations struct {
	// owners are the controllers of what controls pods: the Deployment of a ReplicaSet.
	owners map[object]object
	// scaled are the autoscalers by what they scale.
	scaled map[object]*autoscalingv2.HorizontalPodAutoscaler
}

func newRelations(autoscalers []autoscalingv2.HorizontalPodAutoscaler, between map[object]metav1.Object) relations {
	r := relations{owners: map[object]object{}, scaled: map[object]*autoscalingv2.HorizontalPodAutoscaler{}}
	for id, o := range between {
		if owner, owned := controllerOf(o); owned {
			r.owners[id] = owner
		}
	}
	// Where several scale one object, the answer must not depend on the order.
	byName := slices.SortedFunc(slices.Values(autoscalers), func(a, b autoscalingv2.HorizontalPodAutoscaler) int {
		return cmp.Compare(b.Name, a.Name)
	})
	for i := range byName {
		h := &byName[i]
		target := h.Spec.ScaleTargetRef
		r.scaled[object{h.Namespace, groupOf(target.APIVersion), target.Kind, target.Name}] = h
	}
	return r
}

// maxOwners bounds the way from a pod to what an autoscaler scales.
const maxOwners = 5

// autoscalerOf is the autoscaler of the pod's nearest owner that has one, or nil.
func (r relations) autoscalerOf(pod metav1.Object) *autoscalingv2.HorizontalPodAutoscaler {
	owner, owned := controllerOf(pod)
	for range maxOwners {
		if !owned {
			return nil
		}
		if h := r.scaled[owner]; h != nil {
			return h
		}
		owner, owned = r.owners[owner]
	}
	return nil
}
