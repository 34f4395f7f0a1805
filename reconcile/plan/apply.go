package plan

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
)

// FieldManager is the owner of the fields that Apply sets.
const FieldManager = "kctl-ctrl"

// parallel is the number of concurrent requests of one phase.
const parallel = 8

// Action is the effect of an apply or a delete on one object.
type Action string

const (
	Created   Action = "created"
	Changed   Action = "changed"
	Unchanged Action = "unchanged"
	Deleted   Action = "deleted"
	// Implied is like Created, without a manifest: a namespace or a class that objects
	// name and no manifest defines.
	Implied Action = "implied"
	// Skipped was not sent; Note has the reason.
	Skipped Action = "skipped"
)

// Result is the result for one object.
type Result struct {
	Action Action
	// Manifest is the object as given, with the namespace to which it was applied; nil
	// for implied ones.
	Manifest map[string]any
	Source   Position
	// Mapping is its type on the API server.
	Mapping *meta.RESTMapping
	// Before is the object just before the request, nil if it did not exist; After is
	// the server's response.
	Before, After map[string]any
	// Note describes how the sent object differs from the manifest and why, or why it
	// was not sent.
	Note string
}

// object is the identity of the result's object.
func (r Result) object() map[string]any {
	for _, content := range []map[string]any{r.Manifest, r.After, r.Before} {
		if content != nil {
			return content
		}
	}
	return nil
}

// Applied is the result of one Apply or Delete.
type Applied struct {
	// Results has one result per object, in the order of application.
	Results []Result
	// Warnings are the API server's, sorted.
	Warnings []string
	// Fired are the Jobs created for CronJobs due at Options.At.
	Fired []Result
	// Displaced are the UIDs of the sandbox's own objects that manifests replaced: for
	// a plan they did not exist before.
	Displaced []string
}

// Options control an Apply.
type Options struct {
	// Namespace is for objects that name none; "default" if empty.
	Namespace string
	// At runs the CronJobs that are due in the minute of At. The zero time runs none.
	At time.Time
	// Timeout bounds each wait: for a CustomResourceDefinition to be served,
	// for a namespace's ServiceAccount "default", for a quota's status. It is
	// 30 s if zero.
	Timeout time.Duration
	// NoServiceAccountWait and NoQuotaWait are for clusters without the serviceaccount
	// or the resourcequota controller, where the waits would never end.
	NoServiceAccountWait, NoQuotaWait bool
}

// Apply applies objects by server-side apply, in phases, and waits for what the next
// phase depends on. The order of objects does not matter.
//
// The error is a Problems with every object that the server rejected or whose type it
// does not serve; the other objects are applied nevertheless, so that all problems of
// the manifests are reported at once. A wait that times out or a canceled context ends
// Apply immediately.
func (c *Cluster) Apply(ctx context.Context, objects []Object, options Options) (*Applied, error) {
	if options.Namespace == "" {
		options.Namespace = metav1.NamespaceDefault
	}
	if options.Timeout == 0 {
		options.Timeout = 30 * time.Second
	}
	a := &applying{cluster: c, options: options, applied: &Applied{}}
	c.warnings.take()
	err := a.run(ctx, objects)
	a.applied.Warnings = c.warnings.take()
	if err == nil {
		err = a.problems.err()
	}
	return a.applied, err
}

type applying struct {
	cluster *Cluster
	options Options

	mu       sync.Mutex
	applied  *Applied
	problems Problems
	// parameters are those of the set's admission policies.
	parameters parameters
	// autoscaled names the set's autoscalers by what they scale.
	autoscaled map[identity]string
}

func (a *applying) fail(o Object, err error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.problems = append(a.problems, &Problem{At: o.Source, Object: o.String(), Err: err})
}

// request is an object and what is known about it before it is sent.
type request struct {
	Object
	mapping *meta.RESTMapping
	// implied is why there is a request without a manifest; empty for others.
	implied string
}

func (a *applying) run(ctx context.Context, objects []Object) error {
	var definitions, rest []Object
	for _, o := range objects {
		if gvk := o.GroupVersionKind(); phaseOf(gvk.Group, gvk.Kind, true) == phaseDefinitions {
			definitions = append(definitions, o)
		} else {
			rest = append(rest, o)
		}
	}
	if err := a.phase(ctx, a.resolve(definitions)); err != nil {
		return err
	}
	if err := a.waitForDefinitions(ctx); err != nil {
		return err
	}
	requests := a.resolve(rest)
	a.duplicates(requests)
	classes, err := a.impliedClasses(ctx, requests)
	if err != nil {
		return err
	}
	podClasses, err := a.impliedPodClasses(ctx, requests)
	if err != nil {
		return err
	}
	requests = slices.Concat(requests, a.impliedNamespaces(requests), classes, podClasses)
	if err := a.yieldDefault(ctx, requests); err != nil {
		return err
	}
	a.autoscaled = autoscaledBy(requests)
	first, requests := a.parametersFirst(requests)
	for _, requests := range [][]request{first, requests} {
		if err := a.phases(ctx, requests); err != nil {
			return err
		}
	}
	return a.fireCronJobs(ctx)
}

// phases applies requests phase by phase, definitions apart.
func (a *applying) phases(ctx context.Context, requests []request) error {
	for phase := range phases {
		if phase == phaseDefinitions {
			continue
		}
		var now []request
		for _, r := range requests {
			gvk := r.GroupVersionKind()
			if phaseOf(gvk.Group, gvk.Kind, r.mapping.Scope.Name() == meta.RESTScopeNameNamespace) == phase {
				now = append(now, r)
			}
		}
		if err := a.waitBefore(ctx, phase, now); err != nil {
			return err
		}
		if err := a.phase(ctx, now); err != nil {
			return err
		}
	}
	return nil
}

// resolve finds the types of objects and gives each its namespace.
func (a *applying) resolve(objects []Object) []request {
	var requests []request
	for _, o := range objects {
		mapping, err := a.cluster.mapping(o.GroupVersionKind())
		if err != nil {
			a.fail(o, err)
			continue
		}
		o.Unstructured = o.DeepCopy()
		a.cluster.mu.Lock()
		a.cluster.named[typeName(mapping.GroupVersionKind.Group, mapping.GroupVersionKind.Kind)] = true
		a.cluster.mu.Unlock()
		switch {
		case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
			o.SetNamespace("")
		case o.GetNamespace() == "":
			o.SetNamespace(a.options.Namespace)
		}
		requests = append(requests, request{Object: o, mapping: mapping})
	}
	return requests
}

// duplicates finds objects that became equal once the default namespace was set.
func (a *applying) duplicates(requests []request) {
	first := map[identity]request{}
	for _, r := range requests {
		id := identityOf(r.Object.Object)
		if earlier, twice := first[id]; twice {
			a.fail(r.Object, fmt.Errorf("duplicate object, first at %s", earlier.Source))
			continue
		}
		first[id] = r
	}
}

// phase sends requests concurrently. Only a failure that does not concern a single
// object ends it.
func (a *applying) phase(ctx context.Context, requests []request) error {
	results := make([]*Result, len(requests))
	group, sending := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	for i, r := range requests {
		group.Go(func() error {
			result, err := a.send(sending, r)
			if sending.Err() != nil {
				return fmt.Errorf("apply %s: %w", r.Object, context.Cause(sending))
			}
			if err != nil {
				a.fail(r.Object, err)
				return nil
			}
			results[i] = result
			return nil
		})
	}
	err := group.Wait()
	for _, result := range results {
		if result != nil {
			a.applied.Results = append(a.applied.Results, *result)
		}
	}
	if err != nil {
		return err
	}
	return a.inForce(ctx, results)
}

// admissionReads are the types that built-in admission plugins read from caches.
var admissionReads = []string{
	"LimitRange", "ResourceQuota", "Namespace", "ServiceAccount", "PriorityClass.scheduling.k8s.io",
	"StorageClass.storage.k8s.io", "IngressClass.networking.k8s.io", "RuntimeClass.node.k8s.io",
}

// inForce returns when the API server uses what was applied: otherwise, a plan would
// depend on how long the rest of the set takes to apply.
func (a *applying) inForce(ctx context.Context, results []*Result) error {
	group, asking := errgroup.WithContext(ctx)
	group.SetLimit(parallel)
	policies := false
	for _, r := range results {
		if r == nil || r.After == nil || r.Action == Unchanged {
			continue
		}
		gvk := r.Mapping.GroupVersionKind
		policies = policies || gvk.Group == admissionGroup
		if slices.Contains(admissionReads, typeName(gvk.Group, gvk.Kind)) {
			group.Go(func() error {
				if err := a.admissionCache(asking, *r); err != nil {
					return fmt.Errorf("wait for %s to be in force: %w", describe(r.After), err)
				}
				return nil
			})
		}
	}
	if err := group.Wait(); err != nil || !policies {
		return err
	}
	return a.policiesInForce(ctx)
}

// send applies one object; the result is nil for an implied one that exists
// already.
func (a *applying) send(ctx context.Context, r request) (*Result, error) {
	client := a.cluster.client(r.mapping, r.GetNamespace())
	result := &Result{Manifest: r.Object.Object, Source: r.Source, Mapping: r.mapping}
	before, err := client.Get(ctx, r.GetName(), metav1.GetOptions{})
	switch {
	case err == nil && r.implied != "":
		return nil, nil
	case err == nil:
		result.Before = before.Object
	case !apierrors.IsNotFound(err):
		return nil, fmt.Errorf("read it before applying: %w", message(err))
	}
	if result.Before != nil && a.cluster.yields(result.Before) {
		displaced, err := a.makeRoom(ctx, r, result.Before)
		if err != nil {
			return nil, err
		}
		if displaced {
			result.Before = nil
		}
	}
	sent, note := sendable(r.Object)
	result.Note = note
	if sent == nil {
		result.Action = Skipped
		return result, nil
	}
	if result.Before != nil {
		result.Note = joinNotes(result.Note, a.keepScale(r, sent, result.Before))
	}
	body, err := json.Marshal(sent)
	if err != nil {
		return nil, fmt.Errorf("encode: %w", err)
	}
	force := true
	var after *unstructured.Unstructured
	err = a.until(ctx, func(ctx context.Context) (reason string, err error) {
		after, err = client.Patch(ctx, r.GetName(), types.ApplyPatchType, body, metav1.PatchOptions{
			FieldManager: FieldManager, Force: &force, FieldValidation: metav1.FieldValidationStrict,
		})
		if err != nil && notYet(err) {
			return err.Error(), nil
		}
		return "", err
	})
	if err != nil {
		return nil, message(err)
	}
	result.After = after.Object
	switch {
	case r.implied != "":
		result.Action, result.Manifest, result.Note = Implied, nil, r.implied
		if gvk := r.GroupVersionKind(); isClass[typeName(gvk.Group, gvk.Kind)] {
			a.cluster.mu.Lock()
			a.cluster.implied[uidOf(result.After)] = true
			a.cluster.mu.Unlock()
		}
	case result.Before == nil:
		result.Action = Created
	case sameSpec(result.Before, result.After):
		result.Action = Unchanged
	default:
		result.Action = Changed
	}
	return result, nil
}

// message returns a rejection in the server's own words.
func message(err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) {
		return err
	}
	return fmt.Errorf("rejected by the API server: %w", err)
}
