package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// Change is a change of manifests.
type Change struct {
	// Base is what is there, and Next what is to be there; see plan.Load.
	Base, Next []plan.Object
	// Namespace is that of objects that name none; empty is "default".
	Namespace string
	// At lets CronJobs fire that are due in this minute; in the zero time they are
	// suspended.
	At time.Time
	// Timeout bounds each wait for the controllers to settle; zero is no bound. Where it
	// runs out, the plan says what was still in progress.
	Timeout time.Duration
}

// Plan says what controllers do to a change, on a sandbox that is started for it and
// removed with it.
func Plan(ctx context.Context, spec Spec, change Change) (result *document.Plan, err error) {
	e, err := Start(ctx, spec)
	if err != nil {
		return nil, err
	}
	defer func() {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), startGrace)
		defer cancel()
		err = errors.Join(err, e.Stop(stopping))
	}()
	return e.Plan(ctx, change)
}

// Plan says what the controllers of a sandbox, in which nothing was applied yet, do to a
// change.
func (e *Engine) Plan(ctx context.Context, change Change) (*document.Plan, error) {
	cluster, err := plan.NewCluster(e.world.config)
	if err != nil {
		return nil, err
	}
	input := plan.Input{At: change.At, KubernetesVersion: sandbox.LinkedVersion}
	if e.spec.Sandbox.KubernetesVersion != "" {
		input.KubernetesVersion = e.spec.Sandbox.KubernetesVersion
	}
	options := e.world.apply
	options.Namespace = change.Namespace

	e.progress("waiting for the empty cluster to settle")
	if _, err := e.settleFor(ctx, cluster, &input, change.Timeout); err != nil {
		return nil, err
	}
	if input.Baseline, err = cluster.Capture(ctx); err != nil {
		return nil, err
	}
	input.Start = input.Baseline
	if len(change.Base) > 0 {
		e.progress("applying the base")
		if input.Before, err = cluster.Apply(ctx, change.Base, options); err != nil {
			return nil, fmt.Errorf("apply the base:\n%w", err)
		}
		e.progress("waiting for the base to settle")
		if _, err := e.settleFor(ctx, cluster, &input, change.Timeout); err != nil {
			return nil, err
		}
		if input.Start, err = cluster.Capture(ctx); err != nil {
			return nil, err
		}
	}

	e.progress("applying the change")
	options.At = change.At
	if input.After, err = cluster.Apply(ctx, change.Next, options); err != nil {
		return nil, fmt.Errorf("apply the change:\n%w", err)
	}
	if input.Before != nil {
		removed := plan.Removed(input.Before, input.After)
		if slices.ContainsFunc(removed, isNamespace) {
			e.settler.Horizon = max(e.settler.Horizon, namespaceGrace)
		}
		if input.Removed, err = cluster.Delete(ctx, removed); err != nil {
			return nil, fmt.Errorf("delete what only the base has:\n%w", err)
		}
	}
	e.progress("waiting for the change to settle")
	if input.Timers, err = e.settleFor(ctx, cluster, &input, change.Timeout); err != nil {
		return nil, err
	}
	if input.End, err = cluster.Capture(ctx); err != nil {
		return nil, err
	}
	result := plan.Compare(input)
	return &result, nil
}

// namespaceGrace is more than the time by which the namespace controller puts
// off each key: namespaceDeletionGracePeriod, 5 s, in
// k8s.io/kubernetes/pkg/controller/namespace/namespace_controller.go at v1.37.1.
const namespaceGrace = 6 * time.Second

func isNamespace(r plan.Result) bool {
	return r.Mapping != nil && r.Mapping.GroupVersionKind.GroupKind() == schema.GroupKind{Kind: "Namespace"}
}

// settleFor waits for rest and says in words which keys wait out a back-off. Other
// timers are told from the objects, where they do not depend on the time that
// this run took. Running out of time is not an error here: the plan then says
// what still moved.
func (e *Engine) settleFor(ctx context.Context, cluster *plan.Cluster, input *plan.Input, timeout time.Duration) (timers []string, err error) {
	later, err := e.settleScaled(ctx, cluster, timeout)
	for _, due := range later {
		if due.Retries > 0 {
			timers = append(timers, fmt.Sprintf("%s keeps retrying %s", due.Controller, due.Key))
		}
	}
	var unsettled *settle.UnsettledError
	if errors.As(err, &unsettled) {
		input.Unsettled = append(input.Unsettled, unsettled.Reasons...)
		return timers, nil
	}
	return timers, err
}
