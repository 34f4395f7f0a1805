package diagnosis

import (
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func (f *Facts) namespaceCondition(t corev1.NamespaceConditionType) *corev1.NamespaceCondition {
	if f.Namespace == nil {
		return nil
	}
	for i := range f.Namespace.Status.Conditions {
		if c := &f.Namespace.Status.Conditions[i]; c.Type == t && c.Status == corev1.ConditionTrue {
			return c
		}
	}
	return nil
}

// namespaceDiscovery reports incomplete discovery: the namespace controller deletes
// only what it can discover, and does not finish before discovery is complete
// (k8s.io/kubernetes v1.37.1
// pkg/controller/namespace/deletion/namespaced_resources_deleter.go).
func namespaceDiscovery(f *Facts) []*draft {
	if !f.deleting() || !f.targetIs("namespaces") {
		return nil
	}
	c := f.namespaceCondition(corev1.NamespaceDeletionDiscoveryFailure)
	var down []APIService
	for _, s := range f.APIServices {
		if s.Available != "" && s.Available != "True" {
			down = append(down, s)
		}
	}
	if c == nil && len(down) == 0 {
		return nil
	}
	d := because("APIServiceUnavailable", f.Target.Ref, "API discovery is incomplete, and a namespace is deleted only after all types in it were checked")
	if len(down) > 0 {
		names := make([]string, len(down))
		for i, s := range down {
			names[i] = s.Name
		}
		d.Text = fmt.Sprintf("APIService %s is unavailable, and a namespace is deleted only after all types in it were checked", few(names))
	}
	for _, s := range down {
		r := state.Ref{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices", Name: s.Name}
		d.see(r, "status.conditions[type=Available]", strings.TrimSpace(s.Available+" "+s.Reason+": "+s.Message))
		if s.Service != "" {
			d.see(r, "spec.service", s.Service)
		}
	}
	if len(down) > 0 {
		d.next("restore the server behind it, or, if the API is no longer needed: kubectl delete apiservice %s", word(down[0].Name))
	} else {
		d.likely().next("kubectl get apiservices")
	}
	if c == nil {
		d.likely() // the namespace controller has not confirmed it
	} else {
		d.see(f.Target.Ref, "status.conditions[type="+string(c.Type)+"]", c.Reason+": "+c.Message)
	}
	return one(d)
}

// apiServiceItself finds why an aggregated API is unavailable.
func apiServiceItself(f *Facts) []*draft {
	if !f.targetIs("apiservices.apiregistration.k8s.io") {
		return nil
	}
	for _, s := range f.APIServices {
		if s.Name != f.Target.Name || s.Available == "True" || s.Available == "" {
			continue
		}
		d := because("APIServiceUnavailable", f.Target.Ref, "the server behind APIService %s is unavailable: its types cannot be used, and no namespace can be deleted", s.Name).
			see(f.Target.Ref, "status.conditions[type=Available]", joinWords(s.Available, s.Reason, s.Message))
		if s.Service != "" {
			d.see(f.Target.Ref, "spec.service", s.Service)
			namespace, name, _ := strings.Cut(s.Service, "/")
			return one(d.next("kctl-ctrl why %s%s", word("service/"+name), in(namespace)))
		}
		return one(d.next("%s", kubectl("describe", f.Target.Ref)))
	}
	return nil
}

// maxNamed bounds the objects that a finding names.
const maxNamed = 5

// namespaceContent reports what remains in the namespace and what holds it.
func namespaceContent(f *Facts) []*draft {
	if !f.deleting() || !f.targetIs("namespaces") {
		return nil
	}
	type held struct {
		objects []*owners.Object
	}
	byFinalizer := map[string]*held{}
	var order []string
	var unmarked []*owners.Object
	for _, o := range f.Graph.Objects() {
		if o.Namespace != f.Target.Name {
			continue
		}
		if o.Deleting.IsZero() {
			unmarked = append(unmarked, o)
			continue
		}
		for _, name := range o.Finalizers {
			if byFinalizer[name] == nil {
				byFinalizer[name] = &held{}
				order = append(order, name)
			}
			byFinalizer[name].objects = append(byFinalizer[name].objects, o)
		}
	}
	// Finalizers that no Kubernetes controller removes come first: users must act on
	// them.
	slices.SortStableFunc(order, func(a, b string) int { return served(a) - served(b) })
	c := f.namespaceCondition(corev1.NamespaceFinalizersRemaining)
	var out []*draft
	for _, name := range order {
		list := byFinalizer[name].objects
		d := because("FinalizerInNamespace", f.Target.Ref, "%s in it %s being deleted and held by finalizer %s: %s",
			plural(len(list), "object", "objects"), areOrIs(len(list)), name, whoServes(name, list[0].SetBy(name)))
		for _, o := range list[:min(len(list), maxNamed)] {
			d.see(o.Ref, "metadata.finalizers", strings.Join(o.Finalizers, ", "))
		}
		if c != nil {
			d.see(f.Target.Ref, "status.conditions[type="+string(c.Type)+"]", c.Message)
		}
		out = append(out, d.next("%s", adviceOnFinalizer(name, list[0])))
	}
	if c := f.namespaceCondition(corev1.NamespaceDeletionContentFailure); c != nil {
		out = append(out, because("ContentRemaining", f.Target.Ref, "the namespace controller could not delete everything in it").
			see(f.Target.Ref, "status.conditions[type="+string(c.Type)+"]", c.Message).
			next("check which request failed, and whether a webhook or missing permissions reject it"))
	}
	if len(unmarked) > 0 && len(out) == 0 {
		d := because("ContentRemaining", f.Target.Ref, "%s in it not marked for deletion: the namespace controller has not processed them yet", plural(len(unmarked), "object is", "objects are")).likely()
		for _, o := range unmarked[:min(len(unmarked), maxNamed)] {
			d.see(o.Ref, "metadata.deletionTimestamp", "none")
		}
		out = append(out, d.next("%s", "check that kube-controller-manager is running: kctl-ctrl get leases"+in("kube-system")))
	}
	return out
}
