package main

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/proxy"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// startProxy connects to the sandbox or the current context, opens the proxy and
// writes the kubeconfig that leads to it.
func (o *execOptions) startProxy(ctx context.Context, s *session, mode state.Mode, objects []plan.Object, progress func(string)) (kubeconfig string, err error) {
	var way *proxyWay
	if o.sandboxed {
		way, err = o.wayToSandbox(ctx, s, mode, objects, progress)
	} else {
		way, err = o.wayToCluster(ctx, s, mode, progress)
	}
	if err != nil {
		return "", err
	}
	p, err := proxy.Start(proxy.Options{
		Upstream: way.transport, Server: way.config.Host, Clients: way.clients, Recorder: s.hub, Deletions: way.deletions,
		Impersonates: way.config.Impersonate.UserName != "" || way.config.Impersonate.UID != "" || len(way.config.Impersonate.Groups) > 0,
	})
	if err != nil {
		return "", err
	}
	s.onStop(func(context.Context) error { return p.Close() })
	if gate := s.approval.gate; gate != nil {
		s.onStop(func(context.Context) error { gate.Close(); return nil }) // no request stands there when the proxy ends
	}
	dir, err := sandbox.NewPrivateDir()
	if err != nil {
		return "", fmt.Errorf("make a directory for the kubeconfig: %w", err)
	}
	s.onStop(func(context.Context) error { return dir.Remove() })
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
func guardedWay(s *session, o guard.Options, namespace string, connectBy func(connect.Wrap) (*rest.Config, error)) (*proxyWay, error) {
	way := &proxyWay{clients: proxy.NewClients(s.nameTaken()), namespace: namespace}
	o.Writer, o.Local, o.Before = way.clients.Of, proxy.NewLeases(s.hub, nil), s.approval.ofTheCommand()
	o.ReadsBefore = true
	if o.Mode != state.ModeActive {
		advice := "'exec --sandbox' carries deletions out"
		if s.sandbox != nil {
			advice = "without --dry-run it is deleted"
		}
		way.deletions = proxy.NewDeletions(s.hub, advice)
		o.OnWrite = way.deletions.Wrote
	}
	wrap, err := s.guarded(o)
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

// nameTaken reports the names that this session's own writers bear in the journal.
func (s *session) nameTaken() func(string) bool {
	taken := []string{
		"apply", "approve", "attach", "controllers", "election", "exec", "guard", "hub", "kctl-ctrl", "kube-scheduler", "recording",
		"sandbox", "session", "settle", "simulated-nodes", "simulated-provisioner", "simulation", "why",
	}
	if manager := s.manager.Load(); manager != nil {
		for _, status := range manager.Statuses() {
			taken = append(taken, status.Controller)
		}
	}
	return func(name string) bool { return slices.Contains(taken, name) }
}

// wayToSandbox starts a sandbox, with its loops at work, and applies manifests.
func (o *execOptions) wayToSandbox(ctx context.Context, s *session, mode state.Mode, objects []plan.Object, progress func(string)) (*proxyWay, error) {
	namespace := *o.kubeconfig.Namespace
	s.hub.Record(o.started(mode, "sandbox", sandbox.LinkedVersion))
	if err := s.startSandbox(ctx, o.sandbox, o.controllers, "", state.ModeActive, progress); err != nil {
		return nil, err
	}
	s.mode = mode // of what the session is about
	if len(objects) > 0 {
		if err := s.apply(ctx, objects, namespace); err != nil {
			return nil, err
		}
	}
	endpoint := s.sandbox.Endpoint()
	options := guard.Options{Mode: mode, Server: endpoint.URL}
	var err error
	switch mode {
	case state.ModeActive:
		options.Grant, err = guard.GrantSandbox(endpoint.URL, endpoint.CA, sandbox.Recognise)
	case state.ModeDryRunServer:
		options.TrustsDryRun, err = localGroupsOf(ctx, s.world)
	}
	if err != nil {
		return nil, err
	}
	return guardedWay(s, options, namespace, func(wrap connect.Wrap) (*rest.Config, error) {
		return connect.Server(connect.Endpoint(endpoint), wrap, connect.Limits{QPS: -1})
	})
}

// wayToCluster goes to the current context, and asks it for its version.
func (o *execOptions) wayToCluster(ctx context.Context, s *session, mode state.Mode, progress func(string)) (*proxyWay, error) {
	loader := o.kubeconfig.ToRawKubeConfigLoader()
	target, err := connect.TargetOf(loader)
	if err != nil {
		return nil, err
	}
	raw, err := loader.RawConfig()
	if err != nil {
		return nil, connect.LoadError(err)
	}
	name := raw.CurrentContext
	if *o.kubeconfig.Context != "" {
		name = *o.kubeconfig.Context
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, connect.LoadError(err)
	}
	s.mode = mode
	progress("connecting to " + name)
	options := guard.Options{Mode: mode, Server: target.Server(), BasePath: target.Path()}
	switch mode {
	case state.ModeActive:
		options.Grant, err = guard.GrantSandbox(target.URL, target.CA, sandbox.Recognise)
		if err != nil {
			return nil, fmt.Errorf("%w\n--active writes for real and is allowed on a sandbox only: leave it out for a dry run, or use --sandbox", err)
		}
	case state.ModeDryRunServer:
		if options.TrustsDryRun, err = localGroups(ctx, target); err != nil {
			return nil, err
		}
	}
	way, err := guardedWay(s, options, namespace, func(wrap connect.Wrap) (*rest.Config, error) {
		return target.Config(wrap, connect.Limits{QPS: -1})
	})
	if err != nil {
		return nil, err
	}
	s.config = way.config
	client, err := discovery.NewDiscoveryClientForConfig(connect.ForQuestions(way.config))
	if err != nil {
		return nil, fmt.Errorf("make a client for context %q: %w", name, err)
	}
	version, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return nil, explain.Error(err, fmt.Sprintf("ask the API server of context %q for its version", name))
	}
	s.hub.Record(o.started(mode, name, version.GitVersion))
	return way, nil
}

func (o *execOptions) started(mode state.Mode, context, server string) state.SessionStarted {
	info := about.Version()
	return state.SessionStarted{
		Version: info.Version, Kubernetes: info.Kubernetes, Server: server, Context: context,
		Mode: mode, Sandbox: o.sandboxed, Namespace: *o.kubeconfig.Namespace,
	}
}
