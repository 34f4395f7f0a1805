package controllers

import (
	"fmt"
	"slices"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
)

// Info is what can be said of a controller without a cluster.
type Info struct {
	Name    string   `json:"name"`
	Aliases []string `json:"aliases,omitempty"`
	// Does is a clause with the controller as its subject.
	Does string `json:"does"`
	// OnByDefault: it runs with upstream's defaults on a cluster that serves
	// what it reads. Why says why not.
	OnByDefault bool   `json:"onByDefault"`
	Why         string `json:"why,omitempty"`
	// Loops are its parts, where it has several.
	Loops  []string `json:"loops,omitempty"`
	Queues []string `json:"queues"`
	// Informers are the types it reads: "deployments.apps"; "*" is each type
	// that discovery returns.
	Informers []string `json:"informers"`
	// Workers handle keys of one queue side by side.
	Workers int `json:"workers"`
	// NamespaceSafe: it may run with its informers confined to a namespace.
	NamespaceSafe bool `json:"namespaceSafe"`
	// FeatureGates must all be on.
	FeatureGates []string `json:"featureGates,omitempty"`
	// Needs are the flags and other things it cannot start without.
	Needs []string `json:"needs,omitempty"`
}

// List describes upstream's 49 controllers, sorted by name, with upstream's
// defaults and the feature gates of this process as they are now. It needs no
// cluster.
func List() ([]Info, error) {
	component, err := options.NewDefaultComponentConfig()
	if err != nil {
		return nil, fmt.Errorf("read kube-controller-manager's defaults: %w", err)
	}
	descriptors := Descriptors()
	selected, err := choose(descriptors, component.Generic.Controllers)
	if err != nil {
		return nil, err
	}
	f := &facts{component: &component, hasRootCA: true, selected: func(name string) bool { return selected[name] }}
	infos := make([]Info, len(descriptors))
	for i := range descriptors {
		infos[i] = descriptors[i].info(f)
	}
	return infos, nil
}

func (d *Descriptor) info(f *facts) Info {
	i := Info{
		Name: d.Name, Aliases: d.Aliases, Does: d.Does, Loops: d.Parts,
		Queues: d.queueNames(), Workers: d.workerCount(f.component), NamespaceSafe: d.NamespaceSafe,
		Informers: []string{},
	}
	for _, t := range d.informers() {
		i.Informers = append(i.Informers, typeName(t))
	}
	if d.ReadsAll {
		i.Informers = append(i.Informers, "*")
	}
	slices.Sort(i.Informers)
	for _, g := range d.Gates {
		i.FeatureGates = append(i.FeatureGates, string(g))
	}
	for _, n := range d.needs {
		i.Needs = append(i.Needs, n.what)
	}
	if d.OffByDefault {
		i.Why = "off by default in kube-controller-manager"
	}
	if reason := d.off(f); reason != "" {
		i.Why = reason
	}
	i.OnByDefault = i.Why == ""
	return i
}
