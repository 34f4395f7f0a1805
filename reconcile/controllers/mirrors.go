package controllers

//lint:file-ignore U1000 unread fields stand for upstream's

import (
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// The types here mirror key types of k8s.io/kubernetes@v1.37.1 pkg/controller
// that are unexported there, or whose package would be heavy to import. Each
// has the fields of the real one in the same order; behind a pointer the last
// ones may be missing. Attach compares them with the real type.

// gcNode mirrors garbagecollector.node. Upstream sets identity when it makes a
// node and changes it on a clone only.
type gcNode struct {
	identity gcReference
}

// gcReference mirrors garbagecollector.objectReference.
type gcReference struct {
	metav1.OwnerReference
	Namespace string
}

func (n *gcNode) describe() string {
	r := n.identity
	gv, _ := schema.ParseGroupVersion(r.APIVersion)
	return kindName(r.Kind, gv.Group) + " " + key(r.Namespace, r.Name)
}

// gcEvent mirrors garbagecollector.event.
type gcEvent struct {
	virtual   bool
	eventType int
	obj       any
	oldObj    any
	gvk       schema.GroupVersionKind
}

func (e *gcEvent) describe() string {
	what := kindName(e.gvk.Kind, e.gvk.Group) + " " + objectKey(e.obj)
	if e.virtual {
		return "virtual " + eventName(e.eventType) + " " + what
	}
	return eventName(e.eventType) + " " + what
}

// quotaEvent mirrors resourcequota.event.
type quotaEvent struct {
	eventType int
	obj       any
	oldObj    any
	gvr       schema.GroupVersionResource
}

func (e *quotaEvent) describe() string {
	return eventName(e.eventType) + " " + e.gvr.GroupResource().String() + " " + objectKey(e.obj)
}

// orphanPodKey mirrors job.orphanPodKey.
type orphanPodKey struct {
	kind      int
	namespace string
	value     string
}

func (k orphanPodKey) describe() string {
	const bySelector = 1
	if k.kind == bySelector {
		return k.namespace + "/{" + k.value + "}"
	}
	return key(k.namespace, k.value)
}

// serviceAccountKey mirrors serviceaccount.serviceAccountQueueKey.
type serviceAccountKey struct {
	namespace string
	name      string
	uid       types.UID
}

func (k serviceAccountKey) describe() string { return key(k.namespace, k.name) }

// secretKey mirrors serviceaccount.secretQueueKey.
type secretKey struct {
	namespace string
	name      string
	uid       types.UID
	saName    string
	saUID     types.UID
}

func (k secretKey) describe() string { return key(k.namespace, k.name) }

// lifecyclePod mirrors nodelifecycle.podUpdateItem.
type lifecyclePod struct {
	namespace string
	name      string
}

func (k lifecyclePod) describe() string { return key(k.namespace, k.name) }

// taintedNode mirrors tainteviction.nodeUpdateItem.
type taintedNode struct {
	nodeName string
}

func (k taintedNode) describe() string { return k.nodeName }

// taintedPod mirrors tainteviction.podUpdateItem.
type taintedPod struct {
	podName      string
	podNamespace string
	nodeName     string
}

func (k taintedPod) describe() string { return key(k.podNamespace, k.podName) }

// deviceTaintWork mirrors devicetainteviction.workItem. One of the two is set.
type deviceTaintWork struct {
	podRef  namespacedObject
	ruleRef namespacedObject
}

// namespacedObject mirrors tainteviction.NamespacedObject.
type namespacedObject struct {
	types.NamespacedName
	UID types.UID
}

func (k deviceTaintWork) describe() string {
	if k.podRef.Name != "" {
		return "pod " + key(k.podRef.Namespace, k.podRef.Name)
	}
	return "devicetaintrule " + k.ruleRef.Name
}

// podProjection mirrors util.PodProjectionKey of
// k8s.io/endpointslice@v0.37.1/util.
type podProjection struct {
	Namespace string
	Labels    labels.Set
	OldLabels labels.Set
}

func (k *podProjection) describe() string {
	return k.Namespace + "/{" + k.Labels.String() + "}"
}

// eventName names the constants that garbagecollector and resourcequota have
// for an event's type.
func eventName(eventType int) string {
	switch eventType {
	case 0:
		return "add"
	case 1:
		return "update"
	case 2:
		return "delete"
	default:
		return "event"
	}
}

func kindName(kind, group string) string {
	if group == "" {
		return kind
	}
	return kind + "." + group
}

func key(namespace, name string) string {
	if namespace == "" {
		return name
	}
	return namespace + "/" + name
}

func objectKey(obj any) string {
	o, err := meta.Accessor(obj)
	if err != nil {
		return "unknown"
	}
	return key(o.GetNamespace(), o.GetName())
}
