package revisions

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/tools/pager"
)

var (
	replicaSets         = apps("replicasets")
	controllerRevisions = apps("controllerrevisions")
	podsResource        = schema.GroupVersionResource{Version: "v1", Resource: "pods"}
)

// Reader reads the revisions of objects in one cluster. It is safe for concurrent use.
type Reader struct {
	objects  dynamic.Interface
	metadata metadata.Interface
}

// NewReader makes a Reader.
func NewReader(objects dynamic.Interface, metadata metadata.Interface) *Reader {
	return &Reader{objects: objects, metadata: metadata}
}

// ReadError describes what could not be read. It wraps the server's error.
type ReadError struct {
	// What is the attempt: "list replicasets in namespace shop".
	What string
	Err  error
}

func (e *ReadError) Error() string { return e.What + ": " + e.Err.Error() }
func (e *ReadError) Unwrap() error { return e.Err }

// Read reads an object's history. If pods cannot be listed, History.PodsError is set;
// everything else is required.
func (r *Reader) Read(ctx context.Context, target Target) (*History, error) {
	object, err := r.objects.Resource(target.Resource).Namespace(target.Namespace).Get(ctx, target.Name, metav1.GetOptions{})
	if err != nil {
		return nil, &ReadError{fmt.Sprintf("get %s %s", target.Resource.Resource, where(target)), err}
	}
	h := &History{target: target, object: object, versions: map[string]string{}}
	h.versions["object"] = object.GetResourceVersion()
	selector, err := selectorOf(object)
	if err != nil {
		return nil, fmt.Errorf("parse the selector of %s %s: %w", target.Kind, where(target), err)
	}
	if err := r.records(ctx, h, selector); err != nil {
		return nil, err
	}
	if selector.Empty() {
		return h, nil // without a selector its pods are unknown
	}
	h.pods, h.versions["pods"], err = r.pods(ctx, target.Namespace, selector)
	if err != nil {
		if !apierrors.IsForbidden(err) {
			return nil, &ReadError{"list pods in namespace " + target.Namespace, err}
		}
		h.PodsError = &ReadError{"list pods in namespace " + target.Namespace, err}
	}
	h.podsKnown = err == nil
	return h, nil
}

// records reads the type in which the object's controller stores its revisions. Custom
// types need not label their ControllerRevisions by their selector; built-in types do.
func (r *Reader) records(ctx context.Context, h *History, selector labels.Selector) error {
	resource := h.recordType()
	options := metav1.ListOptions{}
	if _, _, known := WellKnown(h.target.Resource.GroupResource().String()); known {
		options.LabelSelector = selector.String()
	}
	list, err := r.objects.Resource(resource).Namespace(h.target.Namespace).List(ctx, options)
	if err != nil {
		return &ReadError{fmt.Sprintf("list %s in namespace %s", resource.Resource, h.target.Namespace), err}
	}
	h.versions["records"] = list.GetResourceVersion()
	for i := range list.Items {
		if item := &list.Items[i]; controlledBy(item, h.object) {
			h.records = append(h.records, item)
		}
	}
	return nil
}

func (r *Reader) pods(ctx context.Context, namespace string, selector labels.Selector) (found []*metav1.PartialObjectMetadata, resourceVersion string, err error) {
	list := pager.New(func(ctx context.Context, options metav1.ListOptions) (runtime.Object, error) {
		page, err := r.metadata.Resource(podsResource).Namespace(namespace).List(ctx, options)
		if err == nil {
			resourceVersion = page.ResourceVersion
		}
		return page, err
	})
	err = list.EachListItem(ctx, metav1.ListOptions{LabelSelector: selector.String()}, func(object runtime.Object) error {
		found = append(found, object.(*metav1.PartialObjectMetadata))
		return nil
	})
	return found, resourceVersion, err
}

// selectorOf is spec.selector; an object without one selects nothing.
func selectorOf(object *unstructured.Unstructured) (labels.Selector, error) {
	fields, found, err := unstructured.NestedMap(object.Object, "spec", "selector")
	if err != nil || !found {
		return labels.Everything(), err
	}
	var selector metav1.LabelSelector
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(fields, &selector); err != nil {
		return nil, err
	}
	return metav1.LabelSelectorAsSelector(&selector)
}

func controlledBy(object, owner metav1.Object) bool {
	ref := metav1.GetControllerOfNoCopy(object)
	return ref != nil && ref.UID == owner.GetUID()
}

func where(t Target) string {
	if t.Namespace == "" {
		return t.Name
	}
	return fmt.Sprintf("%s in namespace %s", t.Name, t.Namespace)
}
