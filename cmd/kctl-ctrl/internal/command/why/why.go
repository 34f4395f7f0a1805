// Package why is the command that says why an object is as it is.
package why

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/complete"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/ownerflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/diagnosis"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	ownerflags.Flags
	printer *printing.Printer
	now     func() time.Time

	loops   bool
	dryRun  string
	timeout time.Duration
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{
		IOStreams: streams, printer: printing.New("text"), now: time.Now,
		Flags: ownerflags.Flags{Cluster: genericclioptions.NewConfigFlags(true), Concurrency: 12, MaxRequests: 5000, PageSize: 500},
	}
	cmd := &cobra.Command{
		Use:   "why (TYPE/NAME | TYPE NAME)",
		Short: "Say why an object is as it is, with evidence, and what the loops would do",
		Long: `Say why an object does not become what it should, or does not go away.

What is around it is read, and held against the causes that are known: a pause, a
selector that matches nothing, a quota, a refusal by admission, pods that no node
takes, images, volumes, budgets, finalizers that nobody serves, owners that are
gone, APIs that do not answer, and more. Each finding has the fields that it is
read from, the next step, and says whether it is certain or likely. The one
nearest to the root comes first.

Then the loops that decide about the object, its controllers and what it owns run
dry, here, with the keys of these objects alone let through to their workers: which
events put which keys into which queues, and what their syncs would write. That is
the first hop: nothing is written, so nothing reacts to it. With --dry-run=server
the API server judges the writes, quotas and admission included, and stores none.

Loops need to list and watch the types that they work with, in the object's
namespace or, for some, in the whole cluster. Without the right why says which one
is missing; --loops=false leaves the loops out.`,
		Example: `  kctl-ctrl why deployment/web -n shop
  kctl-ctrl why pod/web-7c9d-x2x
  kctl-ctrl why namespace/old
  kctl-ctrl why pvc/data -o json | jq '.findings[0]'`,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.Args = args
			return o.Run(cmd.Context())
		},
		ValidArgsFunction: completeWhy(),
	}
	flags := cmd.Flags()
	flags.BoolVar(&o.loops, "loops", true, "run the loops concerned, dry, and tell what they would do")
	flags.StringVar(&o.dryRun, "dry-run", "client", "client: the loops' writes are answered in this program; server: they are sent with dryRun=All")
	flags.DurationVar(&o.timeout, "timeout", 30*time.Second, "time limit for reading, and again for the controllers to settle; the answer has what is there by then")
	_ = cmd.RegisterFlagCompletionFunc("dry-run", cobra.FixedCompletions([]string{"client", "server"}, cobra.ShellCompDirectiveNoFileComp))
	o.printer.AddFlags(cmd)
	cliflags.AddCluster(o.Cluster, flags)
	o.Set = flags
	return cmd
}

// completeWhy completes TYPE/NAME for the types that people ask about.
func completeWhy() complete.Func {
	types := complete.TypesThatOwn()
	types["horizontalpodautoscaler"] = schema.GroupVersionResource{Group: "autoscaling", Version: "v2", Resource: "horizontalpodautoscalers"}
	types["poddisruptionbudget"] = schema.GroupVersionResource{Group: "policy", Version: "v1", Resource: "poddisruptionbudgets"}
	types["persistentvolumeclaim"] = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumeclaims"}
	types["persistentvolume"] = schema.GroupVersionResource{Version: "v1", Resource: "persistentvolumes"}
	types["namespace"] = schema.GroupVersionResource{Version: "v1", Resource: "namespaces"}
	types["ingress"] = schema.GroupVersionResource{Group: "networking.k8s.io", Version: "v1", Resource: "ingresses"}
	types["customresourcedefinition"] = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	return complete.Objects{Usual: types}.Complete
}

func (o *Options) check() (state.Mode, error) {
	modes := map[string]state.Mode{"client": state.ModeDryRunClient, "server": state.ModeDryRunServer}
	mode, known := modes[o.dryRun]
	switch {
	case !known:
		return "", fmt.Errorf("unknown --dry-run %q: use client or server", o.dryRun)
	case o.timeout <= 0:
		return "", errors.New("--timeout must be more than 0")
	case len(o.Args) == 0, len(o.Args) > 2, len(o.Args) == 2 && strings.Contains(o.Args[0], "/"), strings.Contains(strings.Join(o.Args, " "), ","):
		return "", errors.New("name one object, as in deployment/web or namespace old")
	case len(o.Args) == 1 && !strings.Contains(o.Args[0], "/"):
		return "", fmt.Errorf("which %s? name one, as %s/NAME", o.Args[0], o.Args[0])
	}
	if err := cliflags.RefuseNoEffect(o.Set, cliflags.NoEffect{In: !o.loops, Flags: []string{"dry-run", "timeout"}, Why: "with --loops=false, which runs no controllers: leave one of them out"}); err != nil {
		return "", err
	}
	return mode, o.Flags.Check()
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	mode, err := o.check()
	if err != nil {
		return err
	}
	if err := o.printer.Complete(o.Out); err != nil {
		return err
	}
	var why document.Why
	started := o.now()
	o.Within = o.timeout + time.Second // for requests that take no context
	err = o.InOne(ctx, o.IOStreams, "an object is in one cluster", func(ctx context.Context, c *ownerflags.Cluster, progress func(string)) error {
		answer, err := o.answer(ctx, c, mode, progress)
		why = answer
		return err
	})
	if err != nil {
		return err
	}
	why.Cost.Duration = o.now().Sub(started)
	return o.show(why)
}

// answer reads what is around the object, runs the loops, and judges both.
func (o *Options) answer(ctx context.Context, c *ownerflags.Cluster, mode state.Mode, progress func(string)) (document.Why, error) {
	reading, cancel := context.WithTimeoutCause(ctx, o.timeout, tooSlow(o.timeout))
	defer cancel()
	targets, err := o.Targets(reading, c)
	if err != nil {
		return document.Why{}, explain.Cause(reading, err)
	}
	if len(targets) != 1 {
		return document.Why{}, errors.New("name one object, as in deployment/web or namespace old")
	}
	target := targets[0]
	progress("reading what is around it")
	reader, err := diagnosis.NewReader(c.Config, c.Reader)
	if err != nil {
		return document.Why{}, err
	}
	facts, err := reader.Read(reading, target)
	if cause := context.Cause(reading); cause != nil {
		return document.Why{}, cause
	}
	if err != nil {
		return document.Why{}, explain.Error(err, "read what is around "+target.Ref.String())
	}
	cancel()
	if o.loops {
		run := whyLoops{mode: mode, timeout: o.timeout, flags: c.Flags, streams: o.IOStreams}
		if facts.Story, err = run.tell(ctx, facts.Graph, facts.Target, progress); err != nil {
			return document.Why{}, err
		}
	}
	return document.Why{
		APIVersion: about.APIVersion, Kind: document.WhyKind, Context: c.ContextName(),
		Object: facts.Target.OwnedObject, Status: facts.Status,
		Findings: diagnosis.Findings(facts), Checks: diagnosis.Causes(), Story: facts.Story,
		Gaps: gapsOf(c.Reader, facts), Cost: c.Cost(),
	}, nil
}

// tooSlow is why an answer was not waited for.
func tooSlow(within time.Duration) error {
	return fmt.Errorf("the API server has not answered within %s: allow more with --timeout", within)
}

// gapsOf joins what the two readers could not read, each once.
func gapsOf(r *owners.Reader, facts *diagnosis.Facts) []document.ReadGap {
	gaps := r.Gaps()
	for _, g := range facts.Gaps {
		if !slices.ContainsFunc(gaps, func(have document.ReadGap) bool {
			return have.Type == g.Type && have.Namespace == g.Namespace && have.Reason == g.Reason
		}) {
			gaps = append(gaps, g)
		}
	}
	return gaps
}

func (o *Options) show(why document.Why) error {
	err := o.printer.Print(o.Out, printing.Found{
		Document: func() any { return why },
		Names:    func() []string { return render.WhyNames(why) },
		Text: func(w io.Writer, _ string) error {
			return render.WriteWhy(w, why, render.WhyOptions{Wide: o.printer.Format() == "wide", Color: o.printer.Color})
		},
	})
	if err != nil {
		return err
	}
	for _, line := range render.ReadSummary(why.Cost, why.Gaps) {
		fmt.Fprintln(o.ErrOut, line)
	}
	return nil
}
