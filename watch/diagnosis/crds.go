package diagnosis

import (
	"fmt"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// crdFinalizer is set by the API server on a CustomResourceDefinition and removed when
// all objects of its type are deleted (k8s.io/apiextensions-apiserver v0.37.1
// pkg/controller/finalizer/crd_finalizer.go).
const crdFinalizer = "customresourcecleanup.apiextensions.k8s.io"

// instancesHeld are the objects that finalizers hold, of the type of a
// CustomResourceDefinition that is being deleted.
func (f *Facts) instancesHeld() []*owners.Object {
	if f.CRD == nil || !f.deleting() {
		return nil
	}
	var held []*owners.Object
	for _, o := range f.CRD.Instances {
		if len(o.Finalizers) > 0 {
			held = append(held, o)
		}
	}
	return held
}

// crdItself finds why a CustomResourceDefinition is not deleted or not served.
func crdItself(f *Facts) []*draft {
	if f.CRD == nil {
		return nil
	}
	r := f.Target.Ref
	var out []*draft
	byFinalizer := map[string][]*owners.Object{}
	var order []string
	for _, o := range f.instancesHeld() {
		for _, name := range o.Finalizers {
			if byFinalizer[name] == nil {
				order = append(order, name)
			}
			byFinalizer[name] = append(byFinalizer[name], o)
		}
	}
	for _, name := range order {
		list := byFinalizer[name]
		d := because("InstancesHeld", r, "it is being deleted, and %s of its type %s held by finalizer %s: %s", plural(len(list), "object", "objects"), areOrIs(len(list)), name, whoServes(name, list[0].SetBy(name)))
		for _, o := range list[:min(len(list), maxNamed)] {
			value := strings.Join(o.Finalizers, ", ")
			if o.Deleting.IsZero() {
				value += ", not deleted yet"
				d.likely()
			}
			d.see(o.Ref, "metadata.finalizers", value)
		}
		for _, c := range f.CRD.Conditions {
			if c.Type == "Terminating" {
				d.see(r, "status.conditions[type=Terminating]", joinWords(string(c.Status), c.Reason, c.Message))
			}
		}
		out = append(out, d.next("%s", adviceOnFinalizer(name, list[0])))
	}
	for _, c := range f.CRD.Conditions {
		if c.Type == "NamesAccepted" && c.Status == "False" {
			out = append(out, because("NamesNotAccepted", r, "it is not served: its names are in use by another type: %s", c.Message).
				see(r, "status.conditions[type=NamesAccepted]", joinWords(string(c.Status), c.Reason, c.Message)).
				next("choose names that are not in use: kubectl api-resources"))
		}
		if c.Type == "Terminating" && c.Status == "True" && c.Reason == "InstanceDeletionFailed" {
			out = append(out, because("InstancesHeld", r, "it is being deleted, and the API server cannot delete the objects of its type: %s", c.Message).
				see(r, fmt.Sprintf("status.conditions[type=%s]", c.Type), joinWords(string(c.Status), c.Reason, c.Message)).next("check which request failed, and whether a webhook rejects it"))
		}
	}
	return out
}
