package main

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
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
	client, err := kubernetes.NewForConfig(config)
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
	lease := component.Generic.LeaderElection
	held, err := election.CheckLease(ctx, client, lease.ResourceNamespace, lease.ResourceName)
	if err != nil {
		return answered{}, explain(err, fmt.Sprintf("look at the lease of context %q", name))
	}
	loops, _, err := controllers.Rights(component, *o.kubeconfig.Namespace)
	if err != nil {
		return answered{}, fmt.Errorf("--controllers: %w", err)
	}
	needs := rights.OfLoops(loops, rights.Options{
		Mode: rights.Active, Impersonate: o.impersonate,
		Lease: &rights.Lease{Namespace: lease.ResourceNamespace, Name: lease.ResourceName},
	})
	rules := rights.Merge(rights.Confine(needs, *o.kubeconfig.Namespace))
	var all []rights.Right
	for _, rule := range rules {
		all = append(all, rule.Rights()...)
	}
	missing, err := rights.Missing(ctx, client.AuthorizationV1(), all)
	if err != nil {
		return answered{}, explain(err, fmt.Sprintf("ask the API server of context %q what you may", name))
	}
	if len(missing) > 0 {
		var lacks []string
		for _, rule := range rights.Only(rules, missing) {
			lacks = append(lacks, strings.Join(rule.Verbs, ", ")+" "+rule.What()+" for "+rule.NeededBy())
		}
		return answered{}, fmt.Errorf("you may not do on context %q what these loops do: %s: 'rbac --mode=active --controllers=…' prints a role for it", name, few(lacks))
	}
	return answered{info.GitVersion, held}, nil
}
