package main

import (
	"context"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// answered is what a cluster says before anything is written to it.
type answered struct {
	version string
	lease   election.Held
}

// preflight refuses what must not be tried: it reads, and asks what the user may.
func (o *runOptions) preflight(ctx context.Context, c standing) (answered, error) {
	name, target, component := c.context, c.target, c.component
	readOnly, err := guard.New(guard.Options{Mode: state.ModeReadOnly, Server: target.Server(), BasePath: target.Path()})
	if err != nil {
		return answered{}, err
	}
	config, err := target.Config(readOnly.Wrap, connect.Limits{QPS: readQPS, Burst: readBurst})
	if err != nil {
		return answered{}, err
	}
	if err := actAsOne(o.impersonate, config); err != nil {
		return answered{}, err
	}
	client, err := kubernetes.NewForConfig(forQuestions(config))
	if err != nil {
		return answered{}, fmt.Errorf("make a client for context %q: %w", name, err)
	}
	info, err := discovery.ToServerVersionInterfaceWithContext(client.Discovery()).ServerVersionWithContext(ctx)
	if err != nil {
		return answered{}, explain(err, fmt.Sprintf("ask the API server of context %q for its version", name))
	}
	if err := election.CheckServer(info); err != nil {
		return answered{}, err
	}
	if err := checkNamespace(ctx, client, *o.kubeconfig.Namespace, name); err != nil {
		return answered{}, err
	}
	lease := component.Generic.LeaderElection
	held, err := o.replaced().CheckLease(ctx, client, lease.ResourceNamespace, lease.ResourceName)
	if err != nil {
		return answered{}, explain(err, fmt.Sprintf("look at the lease of context %q", name))
	}
	loops, err := o.loopRights(component)
	if err != nil {
		return answered{}, err
	}
	needs := rights.OfLoops(loops, rights.Options{
		Mode: rights.Active, Impersonate: o.impersonate,
		Lease: &rights.Lease{Namespace: lease.ResourceNamespace, Name: lease.ResourceName},
	})
	if err := o.lacking(ctx, client.AuthorizationV1(), name, needs, rights.Active); err != nil {
		return answered{}, err
	}
	return answered{info.GitVersion, held}, nil
}
