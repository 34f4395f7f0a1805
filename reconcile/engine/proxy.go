package engine

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/proxy"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// StartProxy opens a proxy to the sandbox, or to the cluster of the context, for a program
// of the user's own (Spec.Command), and writes the kubeconfig that leads to it. What goes
// through it passes the guard in the mode of the engine. namespace is the kubeconfig's.
func (e *Engine) StartProxy(ctx context.Context, namespace string) (kubeconfig string, err error) {
	wayThere := e.wayToCluster
	if e.world.sandbox != nil {
		wayThere = e.wayToSandbox
	}
	way, err := wayThere(ctx, namespace)
	if err != nil {
		return "", err
	}
	p, err := proxy.Start(proxy.Options{
		Upstream: way.transport, Server: way.config.Host, Clients: way.clients, Recorder: e.journal, Deletions: way.deletions,
		Impersonates: way.config.Impersonate.UserName != "" || way.config.Impersonate.UID != "" || len(way.config.Impersonate.Groups) > 0,
	})
	if err != nil {
		return "", err
	}
	e.stops.add(func(context.Context) error { return p.Close() })
	if gate := e.approvals.gate; gate != nil {
		e.stops.add(func(context.Context) error { gate.Close(); return nil }) // no request stands there when the proxy ends
	}
	dir, err := sandbox.NewPrivateDir()
	if err != nil {
		return "", fmt.Errorf("make a directory for the kubeconfig: %w", err)
	}
	e.stops.add(func(context.Context) error { return dir.Remove() })
	return dir.Write("kubeconfig", p.Kubeconfig(way.namespace))
}

// proxyWay is how the proxy reaches an API server: guarded, as the user.
type proxyWay struct {
	config    *rest.Config
	transport http.RoundTripper
	clients   *proxy.Clients
	// deletions are those of a dry run, which are not carried out.
	deletions *proxy.Deletions
	namespace string
}

// guardedWay makes the guard of a proxy and, with connect, the way through it.
func (e *Engine) guardedWay(o guard.Options, namespace string, connectBy func(connect.Wrap) (*rest.Config, error)) (*proxyWay, error) {
	way := &proxyWay{clients: proxy.NewClients(e.nameTaken()), namespace: namespace}
	o.Writer, o.Local, o.Before = way.clients.Of, proxy.NewLeases(e.journal, nil), e.approvals.ofTheCommand()
	o.ReadsBefore = true
	if o.Mode != state.ModeActive {
		advice := "'exec --sandbox' carries deletions out"
		if e.world.sandbox != nil {
			advice = "without --dry-run it is deleted"
		}
		way.deletions = proxy.NewDeletions(e.journal, advice)
		o.OnWrite = way.deletions.Wrote
	}
	wrap, err := e.Guarded(o)
	if err != nil {
		return nil, err
	}
	if way.config, err = connectBy(wrap); err != nil {
		return nil, err
	}
	if way.transport, err = rest.TransportFor(way.config); err != nil {
		return nil, fmt.Errorf("make a transport to %s: %w", way.config.Host, err)
	}
	return way, nil
}

// nameTaken reports the names that this engine's own writers bear in the journal.
func (e *Engine) nameTaken() func(string) bool {
	taken := []string{
		"apply", "approve", "attach", "controllers", "election", "exec", "guard", "hub", "kctl-ctrl", "kube-scheduler", "recording",
		"sandbox", "session", "settle", "simulated-nodes", "simulated-provisioner", "simulation", "why",
	}
	if manager := e.work.manager.Load(); manager != nil {
		for _, status := range manager.Statuses() {
			taken = append(taken, status.Controller)
		}
	}
	return func(name string) bool { return slices.Contains(taken, name) }
}

// wayToSandbox is that of a sandbox which has been started, with its controllers at work.
func (e *Engine) wayToSandbox(ctx context.Context, namespace string) (way *proxyWay, err error) {
	endpoint := e.world.sandbox.Endpoint()
	options := guard.Options{Mode: e.spec.Mode, Server: endpoint.URL}
	switch e.spec.Mode {
	case state.ModeActive:
		options.Grant, err = guard.GrantSandbox(endpoint.URL, endpoint.CA, sandbox.Recognise)
	case state.ModeDryRunServer:
		options.TrustsDryRun, err = LocalGroups(ctx, e.world.config)
	}
	if err != nil {
		return nil, err
	}
	return e.guardedWay(options, namespace, func(wrap connect.Wrap) (*rest.Config, error) {
		return connect.Server(connect.Endpoint(endpoint), wrap, connect.Limits{QPS: -1})
	})
}

// wayToCluster goes to the cluster of the context, and asks it for its version.
func (e *Engine) wayToCluster(ctx context.Context, namespace string) (way *proxyWay, err error) {
	c, mode := e.spec.Cluster, e.spec.Mode
	options := guard.Options{Mode: mode, Server: c.Target.Server(), BasePath: c.Target.Path()}
	switch mode {
	case state.ModeActive:
		options.Grant, err = guard.GrantSandbox(c.Target.URL, c.Target.CA, sandbox.Recognise)
		if err != nil {
			return nil, fmt.Errorf("%w\n--active writes for real and is allowed on a sandbox only: leave it out for a dry run, or use --sandbox", err)
		}
	case state.ModeDryRunServer:
		if options.TrustsDryRun, err = localGroupsAt(ctx, c.Target); err != nil {
			return nil, err
		}
	}
	way, err = e.guardedWay(options, namespace, func(wrap connect.Wrap) (*rest.Config, error) {
		return c.Target.Config(wrap, connect.Limits{QPS: -1})
	})
	if err != nil {
		return nil, err
	}
	e.connection.set(way.config, mode)
	version, err := e.connect(ctx, way.config)
	if err != nil {
		return nil, err
	}
	e.journal.Record(e.started(mode, c.Context, version))
	return way, nil
}
