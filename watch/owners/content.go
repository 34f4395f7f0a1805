package owners

import (
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// A deleted Namespace is gone when everything in it is, and a deleted
// CustomResourceDefinition when every object of its type is. Both delete their
// content in the background, whatever the policy of the request: the namespace
// controller pods first and the rest when no pod is left (k8s.io/kubernetes
// v1.37.1 pkg/controller/namespace/deletion/namespaced_resources_deleter.go), the
// API server all at once (k8s.io/apiextensions-apiserver v0.37.1
// pkg/controller/finalizer/crd_finalizer.go).

// contentFinalizer represents what keeps such an object until it is empty: a
// namespace's spec.finalizers, and crdFinalizer.
const (
	contentFinalizer = "\x00content"
	crdFinalizer     = "customresourcecleanup.apiextensions.k8s.io"
)

func (o *Object) isNamespace() bool { return o.Group == "" && o.Resource == "namespaces" }

func (o *Object) isCRD() bool {
	return o.Group == "apiextensions.k8s.io" && o.Resource == "customresourcedefinitions"
}

// typeOf is the group and resource that a CustomResourceDefinition defines; its name
// contains both.
func (o *Object) typeOf() (group, resource string) {
	resource, group, _ = strings.Cut(o.Name, ".")
	return group, resource
}

// contains reports whether a Namespace or CustomResourceDefinition contains the object.
func (o *Object) contains(item *Object) bool {
	switch {
	case o.isNamespace():
		return item.Namespace == o.Name
	case o.isCRD():
		group, resource := o.typeOf()
		return item.Group == group && item.Resource == resource
	}
	return false
}

// empties starts the deletion of a deleted object's content.
func (p *play) empties(n *node) {
	if !n.isNamespace() && !n.isCRD() || n.has(contentFinalizer) {
		return
	}
	n.finalizers = append(slices.DeleteFunc(n.finalizers, func(f string) bool { return f == crdFinalizer }), contentFinalizer)
	for _, item := range sorted(p.nodes) {
		if n.contains(item.Object) {
			n.content = append(n.content, item)
			p.within[item.UID] = append(p.within[item.UID], n)
		}
	}
	p.add(n)
}

// empty is one round of the namespace controller, or of the API server, over a deleted
// object's content.
func (p *play) empty(n *node) {
	left, pods := 0, 0
	for _, item := range n.content {
		switch {
		case !item.gone:
			left++
			if n.isNamespace() && item.isPod() {
				pods++
			}
		case item.step == p.step:
			p.add(n) // the next round reacts to it
			return
		}
	}
	if left == 0 {
		if n.isNamespace() && len(p.graph.kinds.Failed()) > 0 {
			return // it finishes once every type can be discovered
		}
		n.finalizers = slices.DeleteFunc(n.finalizers, func(f string) bool { return f == contentFinalizer })
		if !p.finalize(n) {
			p.add(n)
		}
		return
	}
	why := "its namespace is being deleted"
	if n.isCRD() {
		why = "its CustomResourceDefinition is being deleted"
	}
	for _, item := range n.content {
		switch {
		case item.gone || pods > 0 && !item.isPod():
		case item.deleting:
			p.mark(item)
			if item.foreground() {
				p.add(item)
			}
		default:
			p.delete(item, document.CascadeBackground, why)
		}
	}
}

func (o *Object) isPod() bool { return o.Group == "" && o.Resource == "pods" }

// emptied notifies the container of a deleted object.
func (p *play) emptied(n *node) {
	for _, around := range p.within[n.UID] {
		p.add(around)
	}
}

// waitForContent are those that wait for an object because they contain it, or
// because it is a pod of their namespace.
func (p *play) waitForContent(n *node) []*node {
	var waiting []*node
	for _, around := range p.within[n.UID] {
		if around.gone {
			continue
		}
		waiting = append(waiting, around)
		if !around.isNamespace() || !n.isPod() {
			continue
		}
		for _, item := range around.content {
			if !item.gone && !item.deleting {
				waiting = append(waiting, item)
			}
		}
	}
	return waiting
}

// held are the objects that kept their container from being deleted.
func (n *node) held() []*node {
	var held []*node
	for _, item := range n.content {
		if len(item.heldBy) > 0 {
			held = append(held, item)
		}
	}
	return held
}
