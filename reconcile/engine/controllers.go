package engine

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"

	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// work is what an engine runs: controllers, or kube-scheduler. Both are looked at on any
// goroutine that writes.
type work struct {
	manager   atomic.Pointer[controllers.Manager]
	scheduler atomic.Pointer[scheduling]
	// component are the controllers' options on a cluster.
	component *kubectrlmgrconfig.KubeControllerManagerConfiguration
}

// StartControllers runs the selected controllers until the engine stops.
func (e *Engine) StartControllers(ctx context.Context, c controllers.Config) error {
	c.REST, _ = e.connection.get()
	c.Taps, c.Recorder, c.Logger = e.tap, e.journal, e.logger
	c.InformerName, c.Impersonate = "kctl-ctrl", e.spec.Impersonate
	c.Untapped = c.Untapped || e.spec.Controllers != nil && e.spec.Controllers.Untapped()
	manager, err := controllers.New(c)
	if err != nil {
		return err
	}
	e.work.manager.Store(manager)
	e.stops.add(manager.Stop)
	if gate := e.approvals.gate; gate != nil && !e.approvals.ofCommand {
		e.stops.add(func(context.Context) error { gate.Close(); return nil }) // no worker stands there when it is to end
	}
	if err := manager.Start(ctx); err != nil {
		return err
	}
	e.addProbe(manager)
	e.Note("controllers", "%s", describe(manager.Statuses()))
	return nil
}

// describe says in a sentence which loops run and which do not, of those
// that were asked for.
func describe(statuses []state.ControllerChanged) string {
	on, off := sortControllers(statuses)
	text := fmt.Sprintf("%d controllers run", len(on))
	if len(on) == 1 {
		text = "1 controller runs"
	}
	if len(on) > 0 && len(on) <= 8 {
		text += ": " + strings.Join(on, ", ")
	}
	if len(off) > 0 {
		text += "; off: " + strings.Join(off, ", ")
	}
	return text
}

// sortControllers names those that run and, with the reason, those that were asked for
// and do not.
func sortControllers(statuses []state.ControllerChanged) (on, off []string) {
	for _, status := range statuses {
		name := state.ShortName(status.Controller)
		switch {
		case status.Status == state.ControllerFailed:
			off = append(off, fmt.Sprintf("%s (failed: %s)", name, status.Reason))
		case status.Status != state.ControllerOff:
			on = append(on, name)
		case status.Reason != controllers.NotSelected && status.Reason != controllers.OffByDefault:
			off = append(off, fmt.Sprintf("%s (%s)", name, status.Reason))
		}
	}
	return on, off
}

// noneRuns is an error where loops were asked for and not one of them runs: who
// looks at none must not take that for loops that have nothing to do.
func noneRuns(statuses []state.ControllerChanged) error {
	on, off := sortControllers(statuses)
	if len(on) > 0 || len(off) == 0 {
		return nil
	}
	text := "no controller runs: " + state.Few(off, ", ")
	if len(Forbidden(statuses)) > 0 {
		text += ": ask for a role that allows it: 'rbac' prints the minimal Role and your missing permissions"
	}
	return errors.New(text)
}

// Forbidden are the loops that are off for want of a right, with the right.
func Forbidden(statuses []state.ControllerChanged) []string {
	_, off := sortControllers(slices.DeleteFunc(slices.Clone(statuses), func(c state.ControllerChanged) bool {
		return c.Status != state.ControllerOff || !strings.HasPrefix(c.Reason, controllers.MayNot)
	}))
	return off
}

// startWork runs what the engine is for: the selected loops or kube-scheduler.
func (e *Engine) startWork(ctx context.Context, component *kubectrlmgrconfig.KubeControllerManagerConfiguration, namespace string) error {
	if e.spec.Scheduler {
		return e.startScheduler(ctx, component.Generic.ClientConnection)
	}
	if err := e.StartControllers(ctx, controllers.Config{Component: component, Namespace: namespace, CheckAccess: true}); err != nil {
		return err
	}
	return noneRuns(e.Manager().Statuses())
}

// stopWork ends what startWork started, if anything, and waits for its end.
func (e *Engine) stopWork(ctx context.Context) error {
	if manager := e.work.manager.Load(); manager != nil {
		return manager.Stop(ctx)
	}
	if work := e.work.scheduler.Load(); work != nil {
		return work.Stop(ctx)
	}
	return nil
}
