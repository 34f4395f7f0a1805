package revisions

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// AllLimits bound ReadAll, in objects. Zero means no limit.
type AllLimits struct {
	// Objects applies to the objects with a history and to the revisions, per type;
	// Pods applies to pods.
	Objects, Pods int
}

// errTooMany ends a list at its limit.
var errTooMany = errors.New("limit reached: more")

// pageSize is the number of objects in a response.
const pageSize = 500

// ReadAll reads the histories of all Deployments, StatefulSets and DaemonSets of a
// namespace, or of all namespaces if it is empty, ordered by namespace, kind and name.
// It sends six lists, in pages, regardless of their number.
//
// The errors describe what could not be read: the histories of a type are missing, or
// lack their pods, or exceed the limits. The last error means that nothing could be
// read.
func (r *Reader) ReadAll(ctx context.Context, namespace string, limits AllLimits) ([]*History, []error, error) {
	var gaps []error
	var histories []*History
	records := map[types.UID][]*unstructured.Unstructured{}
	unread := map[schema.GroupVersionResource]bool{}
	for _, resource := range []schema.GroupVersionResource{replicaSets, controllerRevisions} {
		list, err := r.all(ctx, resource, namespace, limits.Objects)
		if err != nil {
			gaps = append(gaps, err)
			unread[resource] = len(list) == 0
		}
		for _, record := range list {
			if owner := metav1.GetControllerOfNoCopy(record); owner != nil {
				records[owner.UID] = append(records[owner.UID], record)
			}
		}
	}
	failed := 0
	for _, k := range []kind{deployments, statefulSets, daemonSets} {
		list, err := r.all(ctx, k.resource, namespace, limits.Objects)
		if err != nil {
			gaps = append(gaps, err)
			failed++
		}
		for _, object := range list {
			h := &History{
				target:  Target{Resource: k.resource, Kind: k.name, Namespace: object.GetNamespace(), Name: object.GetName()},
				object:  object,
				records: records[object.GetUID()],
			}
			if !unread[h.recordType()] {
				histories = append(histories, h)
			}
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, nil, err
	}
	if failed == 3 && len(histories) == 0 {
		return nil, nil, gaps[len(gaps)-1]
	}
	slices.SortStableFunc(histories, func(a, b *History) int {
		return cmp.Or(cmp.Compare(a.target.Namespace, b.target.Namespace), cmp.Compare(a.target.Kind, b.target.Kind), cmp.Compare(a.target.Name, b.target.Name))
	})
	if err := r.addPods(ctx, histories, namespace, limits.Pods); err != nil {
		gaps = append(gaps, err)
	}
	return histories, gaps, ctx.Err()
}

// addPods adds the pods to each history, or none if not all could be read.
func (r *Reader) addPods(ctx context.Context, histories []*History, namespace string, limit int) error {
	if len(histories) == 0 {
		return nil
	}
	owners := map[types.UID]*History{}
	for _, h := range histories {
		owners[h.object.GetUID()] = h
		if h.isDeployment() {
			for _, record := range h.records {
				owners[record.GetUID()] = h
			}
		}
	}
	what := "list pods " + whereIn(namespace)
	pods := map[*History][]*metav1.PartialObjectMetadata{}
	options, read := metav1.ListOptions{Limit: pageSize}, 0
	for {
		page, err := r.metadata.Resource(podsResource).Namespace(namespace).List(ctx, options)
		if err != nil {
			return podsUnknown(histories, &ReadError{what, err})
		}
		for i := range page.Items {
			pod := &page.Items[i]
			if owner := metav1.GetControllerOfNoCopy(pod); owner != nil {
				if h := owners[owner.UID]; h != nil {
					pods[h] = append(pods[h], pod)
				}
			}
		}
		read += len(page.Items)
		if options.Continue = page.Continue; options.Continue == "" {
			break
		}
		if limit > 0 && read >= limit {
			return podsUnknown(histories, &ReadError{what, fmt.Errorf("%w than %d exist, so they are not counted", errTooMany, limit)})
		}
	}
	for _, h := range histories {
		h.pods, h.podsKnown = pods[h], true
	}
	return nil
}

func podsUnknown(histories []*History, err error) error {
	for _, h := range histories {
		h.PodsError = err
	}
	return err
}

// all lists a type in pages. On an error, it also returns the pages before it.
func (r *Reader) all(ctx context.Context, resource schema.GroupVersionResource, namespace string, limit int) ([]*unstructured.Unstructured, error) {
	what := fmt.Sprintf("list %s %s", resource.GroupResource(), whereIn(namespace))
	var found []*unstructured.Unstructured
	options := metav1.ListOptions{Limit: pageSize}
	for restarted := false; ; {
		page, err := r.objects.Resource(resource).Namespace(namespace).List(ctx, options)
		if apierrors.IsResourceExpired(err) && options.Continue != "" && !restarted {
			found, options.Continue, restarted = nil, "", true
			continue
		}
		if err != nil {
			return found, &ReadError{what, err}
		}
		for i := range page.Items {
			found = append(found, &page.Items[i])
		}
		if options.Continue = page.GetContinue(); options.Continue == "" {
			return found, nil
		}
		if limit > 0 && len(found) >= limit {
			return found, &ReadError{what, fmt.Errorf("%w than %d exist, the rest is missing", errTooMany, limit)}
		}
	}
}

func whereIn(namespace string) string {
	if namespace == "" {
		return "in all namespaces"
	}
	return "in namespace " + namespace
}
