package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/proxy"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// execOptions are exec's flags.
type execOptions struct {
	genericiooptions.IOStreams
	kubeconfig  *genericclioptions.ConfigFlags
	controllers *controllers.Options
	manifests   manifestFlags
	sandbox     sandboxFlags
	journal     journalFlags
	recording   recordFlags
	logs        logFlags
	// flags are the command's, to see which were set.
	flags *pflag.FlagSet

	sandboxed   bool
	dryRun      string
	active      bool
	journalFile string
}

func newExecCommand(streams genericiooptions.IOStreams) *cobra.Command {
	o := &execOptions{IOStreams: streams, kubeconfig: genericclioptions.NewConfigFlags(true)}
	cmd := &cobra.Command{
		Use:   "exec -- COMMAND [ARG...]",
		Short: "Start a controller of your own behind the guard, and show what it reads and writes",
		Long: `Start a command, an operator in any language, with a kubeconfig that leads to a
proxy in this program. What it lists, watches and writes appears in the journal
under its user agent, and passes the same guard as the loops of 'run': on the
current context its writes are answered here (--dry-run=client) or by the API
server without being stored (--dry-run=server); with --sandbox they are real, on
a control plane that is started for this command and removed with it.

In a dry run the command's leader election is answered here too: it is told that
the lease it asks for is free, and leads at once beside whoever really does.

The journal goes to standard error, or to the file of --journal-file; standard
output is the command's. So are its exit code and the signals that this program
gets. KUBECONFIG names the kubeconfig; the variables by which a program in a pod
finds its API server are taken away. This is no jail: a command that finds other
credentials, in ~/.kube/config for one, and uses them, goes past the proxy.`,
		Example: `  # What would this operator do to the cluster, beside the one that runs there?
  kctl-ctrl exec -- go run ./cmd/manager

  # Let it work, on a control plane of its own with its CRDs and real controllers
  kctl-ctrl exec --sandbox -f config/crd -- ./bin/manager

  # An operator that wants its kubeconfig as a flag; the journal as a recording
  kctl-ctrl exec --record op.jsonl.zst -- sh -c 'exec ./operator --kubeconfig="$KUBECONFIG"'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 && len(args) > 0 {
				return fmt.Errorf("unexpected argument %q: put the command to run after --", args[0])
			}
			if len(args) == 0 {
				return fmt.Errorf("name the command to run after --\nsee '%s --help'", cmd.CommandPath())
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error { return o.run(cmd.Context(), args) },
	}
	flags := cmd.Flags()
	o.flags = flags
	flags.BoolVar(&o.sandboxed, "sandbox", false, "run on an embedded control plane, with its loops, instead of the current context")
	flags.StringVar(&o.dryRun, "dry-run", "", "client: writes are answered in this program (the default on a cluster); server: they are sent with dryRun=All")
	flags.BoolVar(&o.active, "active", false, "write for real; only on a sandbox (the default with --sandbox)")
	flags.StringVar(&o.journalFile, "journal-file", "", "print the journal to this file instead of standard error")
	o.journal.addTo(flags)
	o.recording.addTo(flags)
	o.manifests.addTo(flags, "apply these manifests to the sandbox first")
	o.sandbox.addTo(flags)
	o.logs.addTo(flags)
	addControllerFlags(cmd, &o.controllers)
	o.kubeconfig.AddFlags(flags)
	return cmd
}

func (o *execOptions) check() (state.Mode, error) {
	mode, err := modeOf(o.active, o.dryRun, o.sandboxed)
	if err != nil {
		return "", err
	}
	if err := errors.Join(o.journal.check(), o.recording.check()); err != nil {
		return "", err
	}
	if o.sandboxed {
		return mode, nil
	}
	if o.manifests.given() {
		return "", errors.New("-f and -k apply manifests to a sandbox: add --sandbox, or apply them with kubectl")
	}
	described := pflag.NewFlagSet("sandbox", pflag.ContinueOnError)
	(&sandboxFlags{}).addTo(described)
	if set := changedOf(o.flags, described); set != "" {
		return "", fmt.Errorf("--%s describes a sandbox: add --sandbox", set)
	}
	loops, err := controllers.NewOptions()
	if err != nil {
		return "", err
	}
	described = pflag.NewFlagSet("loops", pflag.ContinueOnError)
	loops.AddFlags(described)
	if set := changedOf(o.flags, described); set != "" {
		return "", fmt.Errorf("--%s is for the loops of a sandbox: add --sandbox; on a cluster exec runs none", set)
	}
	return mode, nil
}

func (o *execOptions) run(ctx context.Context, args []string) error {
	mode, err := o.check()
	if err != nil {
		return err
	}
	var objects []plan.Object
	if o.manifests.given() {
		if objects, err = o.manifests.load(o.In); err != nil {
			return err
		}
	}
	lines, err := o.journalOut()
	if err != nil {
		return err
	}
	defer func() { _ = lines.Close() }()
	ctx, signals := passSignals(ctx, o.ErrOut)
	defer signals.stop()

	s, err := newSession(sessionOptions{logFile: o.logs.file, logVerbosity: o.logs.verbosity})
	if err != nil {
		return err
	}
	recorder, err := o.recording.start(s)
	if err != nil {
		s.shutDown(o.ErrOut)
		return err
	}
	streams := genericiooptions.IOStreams{In: o.In, Out: lines, ErrOut: o.ErrOut}
	printer := o.journal.printer(streams, s)

	err = o.work(ctx, s, signals, mode, objects, args)
	s.shutDown(o.ErrOut)
	recorder.wait()
	printer.wait()
	var ended *commandExit
	if err != nil && !errors.As(err, &ended) {
		return err
	}
	problem := errors.Join(printer.summary(s), recorder.report(o.ErrOut))
	if ended != nil {
		if problem != nil {
			fmt.Fprintln(o.ErrOut, "warning:", printable(problem))
		}
		return ended
	}
	return problem
}

// journalOut is where the journal is printed.
func (o *execOptions) journalOut() (io.WriteCloser, error) {
	if o.journalFile == "" {
		return keptOpen{o.ErrOut}, nil
	}
	file, err := os.OpenFile(o.journalFile, os.O_CREATE|os.O_WRONLY|os.O_TRUNC, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open the file for the journal: %w", err)
	}
	return file, nil
}

// keptOpen is a stream that is not ours to close.
type keptOpen struct{ io.Writer }

func (keptOpen) Close() error { return nil }

// work starts what the command needs, then the command, and waits for its end.
func (o *execOptions) work(ctx context.Context, s *session, signals *signalPasser, mode state.Mode, objects []plan.Object, args []string) error {
	progress := newProgress(o.ErrOut)
	defer progress.done()
	kubeconfig, err := o.startProxy(ctx, s, mode, objects, progress.line)
	if err != nil {
		return causeOf(ctx, err)
	}
	progress.done()
	if s.manager.Load() != nil { // there is something to look into
		s.attachable("exec")
	}
	s.note("exec", "starts %s", strings.Join(args, " "))
	command := userCommand{args: args, streams: o.IOStreams, env: clientEnvironment(os.Environ(), kubeconfig)}
	return command.run(ctx, signals, s.crashed(), s.crash)
}

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
		Upstream: way.transport, Server: way.config.Host, Clients: way.clients, Recorder: s.hub,
		Impersonates: way.config.Impersonate.UserName != "" || way.config.Impersonate.UID != "" || len(way.config.Impersonate.Groups) > 0,
	})
	if err != nil {
		return "", err
	}
	s.onStop(func(context.Context) error { return p.Close() })
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
	namespace string
}

// guardedWay makes the guard of a proxy and, with connect, the way through it.
func guardedWay(s *session, o guard.Options, namespace string, connectBy func(connect.Wrap) (*rest.Config, error)) (*proxyWay, error) {
	way := &proxyWay{clients: proxy.NewClients(s.nameTaken()), namespace: namespace}
	o.Writer, o.Local = way.clients.Of, proxy.NewLeases(s.hub, nil)
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
	taken := []string{"apply", "exec", "guard", "hub", "kctl-ctrl", "kube-scheduler", "session", "settle", "simulated-nodes", "simulated-provisioner"}
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
		return nil, fmt.Errorf("load kubeconfig: %w", err)
	}
	name := raw.CurrentContext
	if *o.kubeconfig.Context != "" {
		name = *o.kubeconfig.Context
	}
	namespace, _, err := loader.Namespace()
	if err != nil {
		return nil, fmt.Errorf("load kubeconfig: %w", err)
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
	client, err := discovery.NewDiscoveryClientForConfig(way.config)
	if err != nil {
		return nil, fmt.Errorf("make a client for context %q: %w", name, err)
	}
	version, err := client.ServerVersionWithContext(ctx)
	if err != nil {
		return nil, explain(err, fmt.Sprintf("ask the API server of context %q for its version", name))
	}
	s.hub.Record(o.started(mode, name, version.GitVersion))
	return way, nil
}

func (o *execOptions) started(mode state.Mode, context, server string) state.SessionStarted {
	info := programVersion()
	return state.SessionStarted{
		Version: info.Version, Kubernetes: info.Kubernetes, Server: server, Context: context,
		Mode: mode, Sandbox: o.sandboxed, Namespace: *o.kubeconfig.Namespace,
	}
}

// clientEnvironment has the way to the proxy and no other: without what leads a
// program in a pod to its API server, and past no web proxy.
func clientEnvironment(environ []string, kubeconfig string) []string {
	const loopback = "127.0.0.1"
	direct := map[string]string{"NO_PROXY": loopback, "no_proxy": loopback}
	env := make([]string, 0, len(environ)+3)
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		switch name {
		case "KUBECONFIG", "KUBERNETES_SERVICE_HOST", "KUBERNETES_SERVICE_PORT":
		case "NO_PROXY", "no_proxy":
			if value != "" && value != "*" {
				value += "," + loopback
			}
			if value != "" {
				direct[name] = value
			}
		default:
			env = append(env, variable)
		}
	}
	return append(env, "KUBECONFIG="+kubeconfig, "NO_PROXY="+direct["NO_PROXY"], "no_proxy="+direct["no_proxy"])
}
