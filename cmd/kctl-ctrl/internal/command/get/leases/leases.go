// Package leases is the command that says who holds the leases of a cluster.
package leases

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/complete"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/leases"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	cluster *genericclioptions.ConfigFlags
	printer *printing.Printer
	now     func() time.Time

	names         []string
	allNamespaces bool
	selector      string
	expired       bool
	nodes         bool
	watch         bool
	renewals      bool
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{
		IOStreams: streams, cluster: genericclioptions.NewConfigFlags(true), printer: printing.New(), now: time.Now,
	}
	cmd := &cobra.Command{
		Use:     "leases [NAME...]",
		Aliases: []string{"lease"},
		Short:   "Say who holds the leases of a cluster, and for how long still",
		Long: `List Leases (coordination.k8s.io): the Pod or Node that holds each, when it was
renewed, when it expires, how often it changed hands, and the candidates of
coordinated leader election where the cluster serves them. Expired leases come
first, then the control plane's; the leases that are the heartbeats of nodes are
one row unless --nodes or their namespace asks for them.

Holders are strings that their writers made up: -o wide says by what each was
recognised. Times are told by the API server's clock.

With --expired, the exit code is 1 if a lease has expired, and 0 if none has.`,
		Example: `  # Who leads the control plane, and since when?
  kctl-ctrl get leases -n kube-system -o wide

  # Say when a leader changes or stops renewing
  kctl-ctrl get leases -A --watch

  # A check for a script: is anything without a leader?
  kctl-ctrl get leases -A --expired`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.names = args
			return o.Run(cmd.Context())
		},
		ValidArgsFunction: complete.Names(schema.GroupVersionResource{Group: "coordination.k8s.io", Version: "v1", Resource: "leases"}, ""),
	}
	flags := cmd.Flags()
	flags.BoolVarP(&o.allNamespaces, "all-namespaces", "A", false, "the leases of all namespaces")
	flags.StringVarP(&o.selector, "selector", "l", "", "only leases with these labels")
	flags.BoolVar(&o.expired, "expired", false, "only those that have expired; exit with 1 if there is one")
	flags.BoolVar(&o.nodes, "nodes", false, "a row for each node's lease")
	flags.BoolVarP(&o.watch, "watch", "w", false, "after the list, print what becomes of the leases: new holders, expiry, release")
	flags.BoolVar(&o.renewals, "renewals", false, "with --watch, print each renewal as well")
	o.printer.AddFlags(cmd)
	cliflags.AddCluster(o.cluster, flags)
	return cmd
}

// leaseCluster is one cluster whose leases are read.
type leaseCluster struct {
	named    bool // the namespace was named, and is not the context's
	name     string
	query    leases.Query
	reader   *leases.Reader
	resolver *leases.Resolver
	clock    *leases.Clock

	items           []state.LeaseStatus
	candidates      []state.LeaseCandidate
	resourceVersion string
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	if o.renewals && !o.watch {
		return errors.New("--renewals goes with --watch")
	}
	if err := o.printer.Complete(o.Out); err != nil {
		return err
	}
	contexts, err := cliflags.Clusters(o.cluster)
	if err != nil {
		return err
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopped")
	defer cancel()

	progress := console.NewProgress(o.ErrOut)
	progress.Line("reading leases")
	clusters := make([]*leaseCluster, len(contexts))
	failures := make([]error, len(contexts))
	var wg sync.WaitGroup
	for i, c := range contexts {
		wg.Go(func() { clusters[i], failures[i] = o.read(ctx, c) })
	}
	wg.Wait()
	progress.Done()
	clusters = slices.DeleteFunc(clusters, func(c *leaseCluster) bool { return c == nil })
	failure := errors.Join(failures...)
	if len(clusters) == 0 {
		return explain.Cause(ctx, failure)
	}
	some, err := o.show(clusters, len(contexts) > 1)
	if err != nil {
		return err
	}
	if o.watch {
		if err := errors.Join(failure, o.follow(ctx, clusters, len(contexts) > 1)); err != nil {
			return err
		}
		return context.Cause(ctx)
	}
	switch {
	case failure != nil:
		return failure
	case o.expired && some:
		return exit.ErrChanged
	}
	return nil
}

// read lists the leases of a cluster and finds their holders.
func (o *Options) read(ctx context.Context, in cliflags.Cluster) (*leaseCluster, error) {
	c := &leaseCluster{name: in.Name, clock: leases.NewClock(o.now)}
	c.query = leases.Query{Names: o.names, Selector: o.selector}
	var err error
	if !o.allNamespaces {
		if c.query.Namespace, err = cliflags.NamespaceOf(in.Flags); err != nil {
			return nil, err
		}
		c.named = cliflags.ValueOf(in.Flags.Namespace) != ""
	}
	config, err := cliflags.ReadOnlyConfig(in.Flags)
	if err != nil {
		return nil, err
	}
	config.Wrap(c.clock.Wrap)
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	c.reader = leases.NewReader(client)
	c.resolver = leases.NewResolver(c.reader)
	what := "list leases " + explain.Scope(c.query.Namespace) + in.Suffix()
	if c.items, c.resourceVersion, err = c.reader.List(ctx, c.query); err != nil {
		return nil, explain.Error(err, what)
	}
	if missing := leases.Missing(c.query, c.items); len(missing) > 0 && !o.watch {
		notFound := apierrors.NewNotFound(schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}, strings.Join(missing, ", "))
		return nil, explain.Error(notFound, "get leases "+explain.Scope(c.query.Namespace)+in.Suffix())
	}
	var wg sync.WaitGroup
	wg.Go(func() { c.resolver.Resolve(ctx, c.items) })
	wg.Go(func() {
		var err error
		if c.candidates, err = c.reader.Candidates(ctx, c.query); err != nil {
			fmt.Fprintln(o.ErrOut, "candidates are not shown:", explain.Error(err, "list leasecandidates"+in.Suffix()))
		}
	})
	wg.Wait()
	now := c.clock.Now()
	for i := range c.items {
		c.items[i] = c.items[i].At(now)
		c.items[i].Context = in.Name
	}
	for i := range c.candidates {
		c.candidates[i].Context = in.Name
	}
	o.remark(c, in)
	return c, nil
}

// remark says on standard error what the reader of the table should know.
func (o *Options) remark(c *leaseCluster, in cliflags.Cluster) {
	for what, err := range c.resolver.Gaps() {
		fmt.Fprintf(o.ErrOut, "holders are not looked for among %s: %v\n", what, explain.Error(err, "list "+what+in.Suffix()))
	}
	if offset := c.clock.Offset(); offset != 0 {
		where := "ahead of"
		if offset > 0 {
			where = "behind"
		}
		fmt.Fprintf(o.ErrOut, "this machine's clock is %s %s the API server's%s; times are told by the latter\n", offset.Abs(), where, in.Suffix())
	}
}

// show prints the leases and reports whether there was one.
func (o *Options) show(clusters []*leaseCluster, several bool) (bool, error) {
	list := state.LeaseList{APIVersion: about.APIVersion, Kind: "LeaseList", Items: []state.LeaseStatus{}}
	for _, c := range clusters {
		list.Items = append(list.Items, c.items...)
		list.Candidates = append(list.Candidates, c.candidates...)
	}
	if o.expired {
		list.Items = slices.DeleteFunc(list.Items, func(l state.LeaseStatus) bool { return l.State != state.LeaseExpired })
		list.Candidates = nil
	}
	leases.Sort(list.Items)
	if len(list.Items) == 0 {
		o.nothing(clusters)
	}
	if o.watch && !o.printer.ForPeople() {
		for _, l := range list.Items {
			if err := o.printChange(leases.Change{Lease: l}, several); err != nil {
				return false, err
			}
		}
		return len(list.Items) > 0, nil
	}
	options := o.tableOptions(clusters, several)
	err := o.printer.Print(o.Out, printing.Found{
		Document: func() any { return list },
		Names:    func() []string { return leaseNames(list.Items) },
		Table: func(wide bool) render.Table {
			options.Wide = wide
			if o.watch {
				options.Changes = make([]string, len(list.Items))
			}
			return render.Leases(list.Items, options)
		},
	})
	if err == nil && o.printer.ForPeople() && len(list.Candidates) > 0 {
		err = o.showCandidates(list.Candidates, options)
	}
	return len(list.Items) > 0, err
}

func (o *Options) showCandidates(list []state.LeaseCandidate, options render.LeaseOptions) error {
	if _, err := io.WriteString(o.Out, "\n"); err != nil {
		return err
	}
	return render.LeaseCandidates(list, options).Write(o.Out, render.TableOptions{NoHeaders: o.printer.NoHeaders, Color: o.printer.Color})
}

func (o *Options) nothing(clusters []*leaseCluster) {
	what, where := "leases", "in any namespace"
	if o.expired {
		what = "expired leases"
	}
	if namespace := clusters[0].query.Namespace; namespace != "" {
		where = explain.Scope(namespace)
	}
	hint := ""
	if !o.allNamespaces && !clusters[0].named && clusters[0].query.Namespace != "kube-system" {
		hint = " Those of the control plane are in kube-system: -n kube-system, or -A for all."
	}
	fmt.Fprintf(o.ErrOut, "No %s found %s.%s\n", what, where, hint)
}

func (o *Options) tableOptions(clusters []*leaseCluster, several bool) render.LeaseOptions {
	return render.LeaseOptions{
		Times:      render.Times{Now: o.now(), Ages: console.IsTerminal(o.Out)},
		Context:    several,
		Namespace:  o.allNamespaces,
		GroupNodes: !o.nodes && len(o.names) == 0 && clusters[0].query.Namespace != leases.NodeNamespace,
	}
}

func leaseNames(list []state.LeaseStatus) []string {
	names := make([]string, len(list))
	for i, l := range list {
		names[i] = "lease.coordination.k8s.io/" + l.Name
	}
	return names
}

// leaseChange is what --watch prints for programs: one for each change.
type leaseChange struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	state.LeaseStatus
	// Change is empty for what was there at the start.
	Change string `json:"change,omitempty"`
}

func (o *Options) printChange(change leases.Change, several bool) error {
	return o.printer.Print(o.Out, printing.Found{
		Document: func() any {
			return leaseChange{APIVersion: about.APIVersion, Kind: "Lease", LeaseStatus: change.Lease, Change: change.What}
		},
		Names: func() []string { return leaseNames([]state.LeaseStatus{change.Lease}) },
		Table: func(wide bool) render.Table {
			return render.Leases([]state.LeaseStatus{change.Lease}, render.LeaseOptions{
				Times: render.Times{Now: o.now(), Ages: console.IsTerminal(o.Out)}, Wide: wide,
				Context: several, Namespace: o.allNamespaces, Changes: []string{change.What},
			})
		},
	})
}

// follow prints what becomes of the leases until the user has enough.
func (o *Options) follow(ctx context.Context, clusters []*leaseCluster, several bool) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var printing sync.Mutex
	failures := make([]error, len(clusters))
	var wg sync.WaitGroup
	for i, c := range clusters {
		wg.Go(func() {
			in := cliflags.Cluster{Name: c.name}
			err := c.reader.Follow(ctx, c.query, c.items, c.resourceVersion, leases.FollowOptions{
				Now: c.clock.Now, After: time.After,
				Lost: func(err error) {
					fmt.Fprintln(o.ErrOut, "lost, trying again:", explain.Error(err, "watch leases "+explain.Scope(c.query.Namespace)+in.Suffix()))
				},
			}, func(change leases.Change) error {
				if change.Renewal && !o.renewals || o.expired && change.Lease.State != state.LeaseExpired {
					return nil
				}
				resolved := []state.LeaseStatus{change.Lease}
				if !change.Deleted {
					c.resolver.Resolve(ctx, resolved)
				}
				change.Lease = resolved[0]
				change.Lease.Context = c.name
				printing.Lock()
				defer printing.Unlock()
				return o.printChange(change, several)
			})
			if failures[i] = explain.Error(err, "watch leases "+explain.Scope(c.query.Namespace)+in.Suffix()); err != nil {
				cancel()
			}
		})
	}
	wg.Wait()
	return errors.Join(failures...)
}
