package main

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/kubernetes"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
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
	config, err := target.Config(readOnly.Wrap, connect.Limits{QPS: cliflags.ReadQPS, Burst: cliflags.ReadBurst})
	if err != nil {
		return answered{}, err
	}
	if err := actAsOne(o.impersonate, config); err != nil {
		return answered{}, err
	}
	client, err := kubernetes.NewForConfig(connect.ForQuestions(config))
	if err != nil {
		return answered{}, fmt.Errorf("make a client for context %q: %w", name, err)
	}
	info, err := discovery.ToServerVersionInterfaceWithContext(client.Discovery()).ServerVersionWithContext(ctx)
	if err != nil {
		return answered{}, explain.Error(err, fmt.Sprintf("ask the API server of context %q for its version", name))
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
		return answered{}, explain.Error(err, fmt.Sprintf("look at the lease of context %q", name))
	}
	loops, err := o.loopRights(component)
	if err != nil {
		return answered{}, err
	}
	if err := o.someRun(client.Discovery(), component); err != nil {
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

// someRun refuses to lead where no controller could run: while this process held the
// lease, nobody would reconcile anything.
func (o *runOptions) someRun(client discovery.DiscoveryInterface, component *kubectrlmgrconfig.KubeControllerManagerConfiguration) error {
	if o.scheduler {
		return nil
	}
	loops, off, err := controllers.Rights(component, *o.kubeconfig.Namespace)
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
		text = "no selected controller can run: " + fewBy(off, "; ")
	}
	return errors.New(text + ": while this process held the lease, nothing would be reconciled: select others with --controllers; 'get controllers' lists them")
}
