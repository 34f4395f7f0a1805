package plan

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

const autoscalerType = "HorizontalPodAutoscaler.autoscaling"

// scaleTargetOf is the object that a HorizontalPodAutoscaler scales.
func scaleTargetOf(autoscaler map[string]any) identity {
	target, _, _ := unstructured.NestedMap(autoscaler, "spec", "scaleTargetRef")
	apiVersion, _ := target["apiVersion"].(string)
	group, _, ok := strings.Cut(apiVersion, "/")
	if !ok {
		group = ""
	}
	kind, _ := target["kind"].(string)
	name, _ := target["name"].(string)
	return identity{group, kind, identityOf(autoscaler).namespace, name}
}

// autoscaledBy names the autoscalers of a set by what they scale.
func autoscaledBy(requests []request) map[identity]string {
	by := map[identity]string{}
	for _, r := range requests {
		if gvk := r.GroupVersionKind(); typeName(gvk.Group, gvk.Kind) == autoscalerType {
			by[scaleTargetOf(r.Object.Object)] = r.GetName()
		}
	}
	return by
}

// keepScale does not change spec.replicas of a target of an autoscaler of the set: an
// apply that resets it would only last until the autoscaler's next sync, and a plan
// compares settled states. Compare warns about it. The note is empty if the manifest
// does not differ otherwise.
func (a *applying) keepScale(r request, sent, before map[string]any) (note string) {
	autoscaler := a.autoscaled[identityOf(r.Object.Object)]
	live, scaled, _ := unstructured.NestedFieldCopy(before, "spec", "replicas")
	if autoscaler == "" || !scaled {
		return ""
	}
	if unstructured.SetNestedField(sent, live, "spec", "replicas") != nil {
		return "" // the server reports errors in spec better
	}
	if !asksForReplicas(r.Object.Object) || number(r.Object.Object, "spec", "replicas") == number(before, "spec", "replicas") {
		return ""
	}
	return "spec.replicas is left to HorizontalPodAutoscaler " + autoscaler
}

func asksForReplicas(manifest map[string]any) bool {
	value, set, _ := unstructured.NestedFieldNoCopy(manifest, "spec", "replicas")
	return set && value != nil
}

// autoscaled warns about manifests that set what an autoscaler sets, too.
func (w *world) autoscaled() []string {
	byIdentity := map[identity]*item{}
	for _, i := range w.items {
		byIdentity[i.identity] = i
	}
	var texts []string
	for _, i := range w.items {
		if i.typeName() != autoscalerType || i.manifest == nil || i.end == nil {
			continue
		}
		target := byIdentity[scaleTargetOf(i.end)]
		if target == nil || target.end == nil || !asksForReplicas(target.manifest) {
			continue
		}
		given := number(target.manifest, "spec", "replicas")
		text := fmt.Sprintf("the apply resets spec.replicas of %s %s/%s to %d, which HorizontalPodAutoscaler %s also sets",
			target.kind, target.namespace, target.name, given, i.name)
		if have := number(target.end, "spec", "replicas"); have != given {
			text += fmt.Sprintf(" (to %d here)", have)
		}
		texts = append(texts, text+": leave it out of the manifest")
	}
	return texts
}

// metersOthers reports whether an autoscaler uses metrics that the sandbox does not
// serve.
func metersOthers(autoscaler map[string]any) bool {
	metrics, _, _ := unstructured.NestedSlice(autoscaler, "spec", "metrics")
	return slices.ContainsFunc(metrics, func(metric any) bool {
		m, _ := metric.(map[string]any)
		return m["type"] == "Pods" || m["type"] == "Object" || m["type"] == "External"
	})
}

// defaultPeriod is the period of the default policies of an autoscaler.
const defaultPeriod = 15 * time.Second

// limitedBy reports whether an autoscaler would scale further if its policies allowed
// it, and after which time they do.
func limitedBy(autoscaler map[string]any) (time.Duration, bool) {
	c := conditionsOf(autoscaler)["ScalingLimited"]
	direction := map[string]string{"ScaleUpLimit": "scaleUp", "ScaleDownLimit": "scaleDown"}[c.reason]
	if c.status != "True" || direction == "" || fieldText(autoscaler, "spec", "behavior", direction, "selectPolicy") == "Disabled" {
		return 0, false
	}
	period := time.Duration(0)
	policies, _, _ := unstructured.NestedSlice(autoscaler, "spec", "behavior", direction, "policies")
	for _, policy := range policies {
		policy, _ := policy.(map[string]any)
		period = max(period, time.Duration(number(policy, "periodSeconds"))*time.Second)
	}
	if period == 0 {
		period = defaultPeriod
	}
	return period, true
}

var autoscalers = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}

// ScalesOn is how long it may take until an autoscaler limited by its policies scales
// further; 0 if there is none.
func (c *Cluster) ScalesOn(ctx context.Context) (time.Duration, error) {
	list, err := c.objects.Resource(autoscalers).List(ctx, metav1.ListOptions{})
	if err != nil {
		return 0, fmt.Errorf("list the autoscalers: %w", message(err))
	}
	longest := time.Duration(0)
	for _, autoscaler := range list.Items {
		period, _ := limitedBy(autoscaler.Object)
		longest = max(longest, period)
	}
	return longest, nil
}
