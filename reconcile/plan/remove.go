package plan

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/wait"
)

// Removed are the objects that were applied before and are not among those applied
// after, regardless of API versions. A namespace that still contains objects is kept.
func Removed(before, after *Applied) []Result {
	keep := map[identity]bool{}
	for _, r := range after.Results {
		id := identityOf(r.object())
		keep[id] = true
		keep[identity{kind: "Namespace", name: id.namespace}] = true
	}
	var removed []Result
	for _, r := range before.Results {
		if r.Action != Implied && r.Action != Skipped && !keep[identityOf(r.object())] {
			removed = append(removed, r)
		}
	}
	return removed
}

// Delete deletes objects with background propagation, in the reverse order of creation.
// Objects that do not exist count as deleted. The error is a Problems.
func (c *Cluster) Delete(ctx context.Context, objects []Result) (*Applied, error) {
	c.warnings.take()
	applied := &Applied{}
	var problems Problems
	objects = slices.Clone(objects)
	slices.SortStableFunc(objects, func(a, b Result) int { return cmp.Compare(phaseOfResult(b), phaseOfResult(a)) })
	background := metav1.DeletePropagationBackground
	for _, o := range objects {
		u := unstructured.Unstructured{Object: o.object()}
		client := c.client(o.Mapping, u.GetNamespace())
		result := Result{Action: Deleted, Manifest: o.Manifest, Source: o.Source, Mapping: o.Mapping}
		before, err := client.Get(ctx, u.GetName(), metav1.GetOptions{})
		if err == nil {
			result.Before = before.Object
			err = client.Delete(ctx, u.GetName(), metav1.DeleteOptions{PropagationPolicy: &background})
		}
		if ctx.Err() != nil {
			return applied, fmt.Errorf("delete %s: %w", describe(u.Object), context.Cause(ctx))
		}
		if err != nil && !apierrors.IsNotFound(err) {
			problems = append(problems, &Problem{At: o.Source, Object: describe(u.Object), Err: fmt.Errorf("delete: %w", message(err))})
			continue
		}
		applied.Results = append(applied.Results, result)
	}
	applied.Warnings = c.warnings.take()
	if err := c.definitionsGone(ctx, applied.Results); err != nil {
		return applied, err
	}
	return applied, problems.err()
}

// deletionTimeout bounds the wait for objects of deleted definitions: finalizers may
// keep them forever.
const deletionTimeout = 10 * time.Second

// definitionsGone returns when the API server has deleted definitions with the objects
// of their kinds, which it does asynchronously, or at the timeout: the plan then shows
// what is left.
func (c *Cluster) definitionsGone(ctx context.Context, deleted []Result) error {
	for _, r := range deleted {
		gvk := r.Mapping.GroupVersionKind
		if phaseOf(gvk.Group, gvk.Kind, true) != phaseDefinitions {
			continue
		}
		name := (&unstructured.Unstructured{Object: r.object()}).GetName()
		err := wait.PollUntilContextTimeout(ctx, pollEvery, deletionTimeout, true, func(ctx context.Context) (bool, error) {
			_, err := c.client(r.Mapping, "").Get(ctx, name, metav1.GetOptions{})
			return apierrors.IsNotFound(err), nil
		})
		if ctx.Err() != nil {
			return fmt.Errorf("delete %s: %w", describe(r.object()), context.Cause(ctx))
		}
		if err != nil {
			return nil
		}
	}
	return nil
}

func phaseOfResult(r Result) int {
	gvk := r.Mapping.GroupVersionKind
	return phaseOf(gvk.Group, gvk.Kind, r.Mapping.Scope.Name() == meta.RESTScopeNameNamespace)
}
