package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
)

// pollEvery is how often a condition is checked. It is short compared with the requests
// of a phase, on a server without other clients.
const pollEvery = 20 * time.Millisecond

// until calls check until it returns no reason to wait, fails, or times out.
func (a *applying) until(ctx context.Context, check func(context.Context) (reason string, err error)) error {
	var last string
	err := wait.PollUntilContextTimeout(ctx, pollEvery, a.options.Timeout, true, func(ctx context.Context) (bool, error) {
		reason, err := check(ctx)
		if err == nil && reason != "" {
			last = reason
		}
		return reason == "", err
	})
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return context.Cause(ctx)
	case wait.Interrupted(err) || last != "" && errors.Is(err, context.DeadlineExceeded):
		// The deadline shows as an error of its own where it falls into a
		// request: what was waited for says more.
		return fmt.Errorf("gave up after %s: %s", a.options.Timeout, last)
	default:
		return err
	}
}

// notYet recognises rejections that end by themselves: the admission plugins of
// kube-apiserver v1.37.1 read quotas and service accounts from caches, which may be
// behind what Apply has already waited for (plugin/resourcequota/controller.go "status
// unknown for quota", plugin/pkg/admission/serviceaccount/admission.go). Mutating
// policies read the schemas of custom resources every 5 s
// (k8s.io/apiserver/pkg/admission/plugin/policy/mutating/dispatcher.go).
func notYet(err error) bool {
	if apierrors.IsServiceUnavailable(err) && strings.Contains(err.Error(), "between when CustomResourceDefinitions are created and when they are available") {
		return true
	}
	return apierrors.IsForbidden(err) &&
		(strings.Contains(err.Error(), "status unknown for quota") || strings.Contains(err.Error(), `serviceaccount "default" not found`))
}

// waitForDefinitions returns when the CustomResourceDefinitions applied so far
// are established and their types can be used.
func (a *applying) waitForDefinitions(ctx context.Context) error {
	if len(a.applied.Results) == 0 {
		return nil
	}
	for _, r := range a.applied.Results {
		if err := a.established(ctx, r); err != nil {
			return fmt.Errorf("%s: wait for %s to be established: %w", r.Source, describe(r.Manifest), err)
		}
	}
	a.cluster.mapper.Reset()
	for _, r := range a.applied.Results {
		spec, _ := r.After["spec"].(map[string]any)
		group, _ := spec["group"].(string)
		kind, _, _ := unstructured.NestedString(spec, "names", "kind")
		plural, _, _ := unstructured.NestedString(spec, "names", "plural")
		versions, _ := spec["versions"].([]any)
		for _, v := range versions {
			version, _ := v.(map[string]any)
			if served, _ := version["served"].(bool); !served {
				continue
			}
			name, _ := version["name"].(string)
			if err := a.served(ctx, schema.GroupVersionKind{Group: group, Version: name, Kind: kind}, plural); err != nil {
				return fmt.Errorf("%s: wait for %s.%s to be served as %s: %w", r.Source, plural, group, name, err)
			}
		}
	}
	return nil
}

func (a *applying) established(ctx context.Context, r Result) error {
	client := a.cluster.client(r.Mapping, "")
	name := (&unstructured.Unstructured{Object: r.Manifest}).GetName()
	return a.until(ctx, func(ctx context.Context) (string, error) {
		definition, err := client.Get(ctx, name, metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		conditions := conditionsOf(definition.Object)
		if c := conditions["NamesAccepted"]; c.status == "False" {
			return "", fmt.Errorf("its names are not accepted: %s", c.message)
		}
		if conditions["Established"].status == "True" {
			return "", nil
		}
		return "it is not established", nil
	})
}

func (a *applying) served(ctx context.Context, gvk schema.GroupVersionKind, plural string) error {
	return a.until(ctx, func(ctx context.Context) (string, error) {
		if _, err := a.cluster.mapper.RESTMapping(gvk.GroupKind(), gvk.Version); err != nil {
			a.cluster.mapper.Reset()
			return "discovery does not list it", nil
		}
		_, err := a.cluster.objects.Resource(gvk.GroupVersion().WithResource(plural)).List(ctx, metav1.ListOptions{Limit: 1})
		if apierrors.IsNotFound(err) {
			return "the API server does not serve it yet", nil
		}
		return "", err
	})
}

// waitBefore waits for what a phase needs from the controllers.
func (a *applying) waitBefore(ctx context.Context, phase int, requests []request) error {
	if phase == phaseQuotas+1 && !a.options.NoQuotaWait {
		for _, r := range a.applied.Results {
			if r.Mapping.GroupVersionKind.GroupKind() == (schema.GroupKind{Kind: "ResourceQuota"}) {
				if err := a.quotaKnown(ctx, r); err != nil {
					return fmt.Errorf("%s: wait for the status of %s (the resourcequota controller writes it): %w", r.Source, describe(r.Manifest), err)
				}
			}
		}
	}
	if phase >= phasePods && !a.options.NoServiceAccountWait {
		namespaces := map[string]bool{}
		for _, r := range requests {
			gvk := r.GroupVersionKind()
			t := typeName(gvk.Group, gvk.Kind)
			if _, ok := makesPods[t]; ok || t == "Pod" {
				namespaces[r.GetNamespace()] = true
			}
		}
		for _, ns := range slices.Sorted(maps.Keys(namespaces)) {
			if err := a.serviceAccount(ctx, ns); err != nil {
				return fmt.Errorf("wait for ServiceAccount %s/default (the serviceaccount controller makes it): %w", ns, err)
			}
		}
	}
	return nil
}

var serviceAccounts = schema.GroupVersionResource{Version: "v1", Resource: "serviceaccounts"}

func (a *applying) serviceAccount(ctx context.Context, ns string) error {
	return a.until(ctx, func(ctx context.Context) (string, error) {
		_, err := a.cluster.objects.Resource(serviceAccounts).Namespace(ns).Get(ctx, "default", metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return "it does not exist", nil
		}
		return "", err
	})
}

// quotaKnown returns when the quota's status covers its spec: until then, admission
// rejects what the quota counts.
func (a *applying) quotaKnown(ctx context.Context, r Result) error {
	u := unstructured.Unstructured{Object: r.Manifest}
	client := a.cluster.client(r.Mapping, u.GetNamespace())
	return a.until(ctx, func(ctx context.Context) (string, error) {
		quota, err := client.Get(ctx, u.GetName(), metav1.GetOptions{})
		if err != nil {
			return "", err
		}
		hard, _, _ := unstructured.NestedStringMap(quota.Object, "spec", "hard")
		known, _, _ := unstructured.NestedStringMap(quota.Object, "status", "hard")
		for _, name := range slices.Sorted(maps.Keys(hard)) {
			if !sameQuantity(hard[name], known[name]) {
				return fmt.Sprintf("status.hard lacks %s", name), nil
			}
		}
		return "", nil
	})
}

func sameQuantity(a, b string) bool {
	x, err := resource.ParseQuantity(a)
	if err != nil {
		return a == b
	}
	y, err := resource.ParseQuantity(b)
	return err == nil && x.Cmp(y) == 0
}

type condition struct{ status, reason, message string }

// conditionsOf are status.conditions by type.
func conditionsOf(content map[string]any) map[string]condition {
	status, _ := content["status"].(map[string]any)
	list, _ := status["conditions"].([]any)
	conditions := map[string]condition{}
	for _, item := range list {
		c, _ := item.(map[string]any)
		text := func(field string) string {
			s, _ := c[field].(string)
			return s
		}
		conditions[text("type")] = condition{text("status"), text("reason"), text("message")}
	}
	return conditions
}
