package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
)

// screenActive is the leadership of an engine in the hands of the screen, with what the
// flags and the configuration have to say of it.
type screenActive struct {
	*engine.Leadership
	o       *Options
	cluster *engine.Cluster
}

var _ port.Active = screenActive{}

// newScreenActive is for an engine that runs dry on a context.
func newScreenActive(o *Options, e *engine.Engine, c *engine.Cluster) screenActive {
	return screenActive{e.NewLeadership(*o.Election(c.Context)), o, c}
}

// allowed refuses what the flags and the configuration do not allow.
func (a screenActive) allowed() error {
	switch again := a.Again(); {
	case again != "":
		return errors.New(again)
	case !engineflags.Elects(a.o.Set, a.cluster.Target):
		return fmt.Errorf("context %q leads to a sandbox of yours, where writing takes no election: use 'run --active', or start the screen with --leader-elect to hold one there", a.cluster.Context)
	}
	return a.o.Refuse(a.cluster.Context, true)
}

// Prepare implements port.Active.
func (a screenActive) Prepare(ctx context.Context, names []string) (port.ActivePlan, error) {
	if err := a.allowed(); err != nil {
		return port.ActivePlan{}, err
	}
	plan, err := a.Leadership.Prepare(ctx, names)
	if errors.Is(err, engine.ErrNoneNamed) {
		err = fmt.Errorf("no loop is named that is to write to context %q: start loops dry first, with s on page 1, or name them as in :active deployment,replicaset", a.cluster.Context)
	}
	return port.ActivePlan(plan), a.o.WithRole(err)
}

// Begin implements port.Active.
func (a screenActive) Begin(ctx context.Context, plan port.ActivePlan, typed string) error {
	if err := a.allowed(); err != nil {
		return err
	}
	return a.o.WithRole(a.Leadership.Begin(ctx, plan.Controllers, typed))
}

// namedLoops are those of --controllers; none where it is not set.
func (o *Options) namedLoops(e *engine.Engine) []string {
	if !o.Set.Changed("controllers") {
		return nil
	}
	return slices.Clone(e.Component().Generic.Controllers)
}
