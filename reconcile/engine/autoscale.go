package engine

import (
	"context"
	"time"

	controllernames "k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
)

const (
	// maxScalings bounds the rounds of autoscalers that scale each other's targets.
	maxScalings = 20
	// maxScalingWait bounds the wait for an autoscaler that its policies limit; of
	// longer periods the plan tells.
	maxScalingWait = 30 * time.Second
	// scalingInterval is the time between two syncs of such an autoscaler.
	scalingInterval = time.Second
)

// settleScaled waits until the controllers have settled and the autoscalers scale
// nothing any more. Their keys are retried at once: upstream looks at them every 15 s.
func (e *Engine) settleScaled(ctx context.Context, cluster *plan.Cluster, timeout time.Duration) ([]settle.Due, error) {
	later, err := e.WaitSettled(ctx, timeout)
	scaled := time.Now()
	for round := 0; err == nil && round < maxScalings; {
		before := e.scalings.Load()
		if !e.hurryAutoscalers(later) {
			break
		}
		if later, err = e.WaitSettled(ctx, timeout); err != nil {
			break
		}
		if e.scalings.Load() != before {
			scaled = time.Now()
			round++
			continue
		}
		period, err := cluster.ScalesOn(ctx)
		if err != nil {
			return nil, err
		}
		// A second more: an autoscaler counts what it did within the period.
		if period == 0 || time.Since(scaled) > min(period, maxScalingWait)+scalingInterval {
			break
		}
		select {
		case <-time.After(scalingInterval):
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
	return later, err
}

// hurryAutoscalers makes the keys ready that the HorizontalPodAutoscaler
// controller looks at again every 15 s, and reports whether there were any.
func (e *Engine) hurryAutoscalers(later []settle.Due) bool {
	hurried := false
	for _, due := range later {
		if due.Controller == controllernames.HorizontalPodAutoscalerController {
			// A key that became due meanwhile needs no hurrying.
			_ = e.tap.RetryNow(due.Controller, due.Queue, due.Key)
			hurried = true
		}
	}
	return hurried
}
