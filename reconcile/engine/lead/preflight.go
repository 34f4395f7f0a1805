package lead

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/scheduler"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Limits of what asks a cluster, as kubectl has them.
const (
	readQPS   = 50
	readBurst = 100
)

// Answer is what a cluster says before anything is written to it.
type Answer struct {
	Version string
	Lease   election.Held
}

// Preflight refuses what must not be tried: it reads, and asks what the user may.
func (c *Candidacy) Preflight(ctx context.Context) (Answer, error) {
	name, target, component := c.Context, c.Target, c.Component
	readOnly, err := guard.New(guard.Options{Mode: state.ModeReadOnly, Server: target.Server(), BasePath: target.Path()})
	if err != nil {
		return Answer{}, err
	}
	config, err := target.Config(readOnly.Wrap, connect.Limits{QPS: readQPS, Burst: readBurst})
	if err != nil {
		return Answer{}, err
	}
	if err := ActAsOne(c.Impersonate, config); err != nil {
		return Answer{}, err
	}
	client, err := kubernetes.NewForConfig(connect.ForQuestions(config))
	if err != nil {
		return Answer{}, fmt.Errorf("make a client for context %q: %w", name, err)
	}
	info, err := discovery.ToServerVersionInterfaceWithContext(client.Discovery()).ServerVersionWithContext(ctx)
	if err != nil {
		return Answer{}, explain.Error(err, fmt.Sprintf("ask the API server of context %q for its version", name))
	}
	if err := election.CheckServer(info); err != nil {
		return Answer{}, err
	}
	if err := checkNamespace(ctx, client, c.Namespace, name); err != nil {
		return Answer{}, err
	}
	lease := component.Generic.LeaderElection
	held, err := c.replaces().CheckLease(ctx, client, lease.ResourceNamespace, lease.ResourceName)
	if err != nil {
		return Answer{}, explain.Error(err, fmt.Sprintf("look at the lease of context %q", name))
	}
	loops, err := c.rights()
	if err != nil {
		return Answer{}, err
	}
	if err := c.someRun(client.Discovery()); err != nil {
		return Answer{}, err
	}
	needs := rights.OfLoops(loops, rights.Options{
		Mode: rights.Active, Impersonate: c.Impersonate,
		Lease: &rights.Lease{Namespace: lease.ResourceNamespace, Name: lease.ResourceName},
	})
	if err := Lacking(ctx, client.AuthorizationV1(), name, c.Namespace, needs, rights.Active, c.Scheduler); err != nil {
		return Answer{}, err
	}
	return Answer{info.GitVersion, held}, nil
}

// someRun refuses to lead where no controller could run: while this process held the
// lease, nobody would reconcile anything.
func (c *Candidacy) someRun(client discovery.DiscoveryInterface) error {
	if c.Scheduler {
		return nil
	}
	loops, off, err := controllers.Rights(c.Component, c.Namespace)
	if err != nil {
		return fmt.Errorf("--controllers: %w", err)
	}
	if len(loops) > 0 {
		absent, err := controllers.NotServed(client, loops)
		if err != nil {
			return explain.Error(err, "ask the API server for its types")
		}
		if len(absent) < len(loops) {
			return nil
		}
		off = append(off, absent...)
	}
	return noneToLead(off)
}

// noneToLead is the refusal of a lease under which no controller would run; off are
// those that were asked for, each with the reason.
func noneToLead(off []string) error {
	text := "--controllers selects no controller"
	if len(off) > 0 {
		text = "no selected controller can run: " + state.Few(off, "; ")
	}
	return errors.New(text + ": while this process held the lease, nothing would be reconciled: select others with --controllers; 'get controllers' lists them")
}

// rights are what the controllers, or kube-scheduler, need of an API server.
func (c *Candidacy) rights() ([]rights.Loop, error) {
	if c.Scheduler {
		return []rights.Loop{scheduler.Rights()}, nil
	}
	loops, _, err := controllers.Rights(c.Component, c.Namespace)
	if err != nil {
		return nil, fmt.Errorf("--controllers: %w", err)
	}
	return loops, nil
}
