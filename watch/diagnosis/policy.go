package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// autoscalers finds why a HorizontalPodAutoscaler does not scale.
func autoscalers(f *Facts) []*draft {
	var out []*draft
	for i := range f.Autoscalers {
		h := &f.Autoscalers[i]
		r := refOf("autoscaling", "v2", "horizontalpodautoscalers", h)
		target := h.Spec.ScaleTargetRef
		from := len(out)
		for _, c := range h.Status.Conditions {
			if c.Type == autoscalingv2.ScalingLimited && c.Status == corev1.ConditionTrue && c.Reason == "TooManyReplicas" {
				out = append(out, because("AtMaxReplicas", r, "the autoscaler is limited by its maxReplicas of %d", h.Spec.MaxReplicas).
					see(r, "spec.maxReplicas", h.Spec.MaxReplicas).see(r, "status.conditions[type=ScalingLimited]", joinWords(c.Reason, "", c.Message)).
					next("raise maxReplicas, or find the cause of the load: kubectl get hpa %s%s", word(h.Name), in(h.Namespace)))
			}
			if c.Status != corev1.ConditionFalse || c.Type == autoscalingv2.ScalingLimited {
				continue
			}
			path := "status.conditions[type=" + string(c.Type) + "]"
			words := joinWords(c.Reason, "", c.Message)
			switch {
			case c.Reason == "ScalingDisabled":
				out = append(out, because("TargetAtZero", r, "%s %s has 0 replicas: autoscaling is disabled", target.Kind, target.Name).
					see(r, path, words).next("scale it to at least 1 replica to enable autoscaling"))
			case c.Type == autoscalingv2.AbleToScale && c.Reason == "FailedGetScale":
				d := because("TargetMissing", r, "the autoscaler cannot find its scale target: %s %s", target.Kind, target.Name).
					see(r, "spec.scaleTargetRef", target.APIVersion+" "+target.Kind+" "+target.Name).see(r, path, words)
				if f.exists(target.Kind, target.Name, h.Namespace) {
					d.likely()
					d.Text = fmt.Sprintf("the autoscaler could not find its scale target %s %s, which exists now: it retries every 15s", target.Kind, target.Name)
				}
				out = append(out, d.next("correct the name, or create it: %s", kubectl("edit", r)))
			case c.Reason == "AmbiguousSelector":
				out = append(out, because("AmbiguousSelector", r, "several autoscalers select the same pods, so none of them scales: %s", c.Message).
					see(r, path, words).next("change the selectors of their targets so that they do not overlap: kubectl get hpa%s", in(h.Namespace)))
			case missingRequest.MatchString(c.Message):
				m := missingRequest.FindStringSubmatch(c.Message)
				out = append(out, because("MissingRequest", r, "the autoscaler cannot compute %s utilization: %s sets no request for it", m[1], m[2]).
					see(r, path, words).next("set resources.requests.%s in the template of %s %s", m[1], target.Kind, target.Name))
			case c.Type == autoscalingv2.ScalingActive && strings.HasPrefix(c.Reason, "FailedGet"):
				group, next := metricsGroup(c.Reason, h.Namespace)
				d := because("NoMetrics", r, "the autoscaler gets no metrics and cannot scale without them").see(r, path, words)
				served := false
				for _, s := range f.APIServices {
					if s.Group == group {
						served = true
						d.see(state.Ref{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices", Name: s.Name}, "status.conditions[type=Available]", joinWords(s.Available, s.Reason, s.Message))
					}
				}
				if f.Known["apiservices.apiregistration.k8s.io"] && !served {
					d.Text = "the autoscaler gets no metrics: no API serves " + group + " in this cluster"
				}
				out = append(out, d.next("%s", next))
			default:
				out = append(out, because("CannotScale", r, "the autoscaler cannot scale: %s", words).see(r, path, words).next("%s", kubectl("describe", r)))
			}
		}
		for _, d := range out[from:] {
			if string(h.UID) != f.Target.UID {
				// It does not explain the state of the workload's pods.
				d.remark().Text = fmt.Sprintf("autoscaler %s of %s %s: %s", h.Name, target.Kind, target.Name, d.Text)
			}
		}
	}
	return out
}

// metricsGroup returns the API group from which an autoscaler could not get metrics, by
// the reason of its condition, and what to check.
func metricsGroup(reason, namespace string) (group, next string) {
	switch reason {
	case "FailedGetPodsMetric", "FailedGetObjectMetric":
		return "custom.metrics.k8s.io", "check that the custom metrics adapter is running: kubectl get apiservices"
	case "FailedGetExternalMetric":
		return "external.metrics.k8s.io", "check that the external metrics adapter is running: kubectl get apiservices"
	}
	return "metrics.k8s.io", "check that metrics-server is running and that the pods set requests: kubectl top pods" + in(namespace)
}

// missingRequest matches the autoscaler's message about pods without requests
// (k8s.io/kubernetes v1.37.1 pkg/controller/podautoscaler/replica_calculator.go).
var missingRequest = regexp.MustCompile(`missing (?:pod-level )?request for (\S+) in ((?:container \S+ of )?Pod \S+)`)

// exists reports whether an object of the kind was found in the namespace.
func (f *Facts) exists(kind, name, namespace string) bool {
	return slices.ContainsFunc(f.Graph.Objects(), func(o *owners.Object) bool {
		return o.Kind == kind && o.Name == name && o.Namespace == namespace
	})
}

// drainBlocked finds why a cordoned node cannot be drained.
func drainBlocked(f *Facts) []*draft {
	if n, _ := f.node(f.Target.Name); !f.targetIs("nodes") || n == nil || !n.Spec.Unschedulable {
		return nil
	}
	return slices.DeleteFunc(disruptionBudgets(f), func(d *draft) bool { return d.Role != document.RoleCause })
}

// budgets finds PodDisruptionBudgets that allow no disruptions now or select no pods.
func budgets(f *Facts) []*draft {
	if len(drainBlocked(f)) > 0 {
		return nil
	}
	return disruptionBudgets(f)
}

func disruptionBudgets(f *Facts) []*draft {
	var out []*draft
	for i := range f.Budgets {
		b := &f.Budgets[i]
		r := refOf("policy", "v1", "poddisruptionbudgets", b)
		target := string(b.UID) == f.Target.UID
		selector, err := metav1.LabelSelectorAsSelector(b.Spec.Selector)
		if err != nil || !target && !f.covers(selector, b.Namespace) {
			continue
		}
		switch {
		case target && b.Status.ExpectedPods == 0 && b.Status.ObservedGeneration >= b.Generation:
			out = append(out, because("BudgetMatchesNothing", r, "PodDisruptionBudget %s selects no pods", b.Name).
				see(r, "spec.selector", selector.String()).see(r, "status.expectedPods", 0).next("kubectl get pods --show-labels%s", in(b.Namespace)))
		case b.Status.DisruptionsAllowed == 0 && b.Status.ExpectedPods > 0:
			d := because("NoDisruptionAllowed", r, "PodDisruptionBudget %s allows no disruptions now: %d of its pods are healthy, and at least %d must be", b.Name, b.Status.CurrentHealthy, b.Status.DesiredHealthy).
				see(r, "status.disruptionsAllowed", 0).see(r, specOfBudget(b), budgetValue(b)).
				see(r, "status", fmt.Sprintf("currentHealthy %d, desiredHealthy %d, expectedPods %d", b.Status.CurrentHealthy, b.Status.DesiredHealthy, b.Status.ExpectedPods))
			if b.Status.DesiredHealthy >= b.Status.ExpectedPods {
				d.Text = fmt.Sprintf("PodDisruptionBudget %s never allows a disruption: all %d of its pods must be healthy", b.Name, b.Status.ExpectedPods)
				d.next("add replicas or relax the budget; otherwise draining their nodes never completes")
			} else {
				d.next("check why pods are not healthy: kubectl get pods -l %s%s", word(selector.String()), in(b.Namespace))
			}
			if !target && !f.targetIs("nodes") {
				d.remark() // it blocks evictions, not the object
			}
			out = append(out, d)
		}
	}
	return out
}

func (f *Facts) covers(selector labels.Selector, namespace string) bool {
	for i := range f.Pods {
		if p := &f.Pods[i]; p.Namespace == namespace && selector.Matches(labels.Set(p.Labels)) {
			return true
		}
	}
	return false
}

func specOfBudget(b *policyv1.PodDisruptionBudget) string {
	if b.Spec.MinAvailable != nil {
		return "spec.minAvailable"
	}
	return "spec.maxUnavailable"
}

func budgetValue(b *policyv1.PodDisruptionBudget) string {
	switch {
	case b.Spec.MinAvailable != nil:
		return b.Spec.MinAvailable.String()
	case b.Spec.MaxUnavailable != nil:
		return b.Spec.MaxUnavailable.String()
	}
	return "none"
}
