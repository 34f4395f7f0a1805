// Package revisions is the command that lists and compares the revisions of an object, and
// previews a rollback.
package revisions

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/complete"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/revisions"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Options are the command's, from its flags.
type Options struct {
	genericiooptions.IOStreams
	cluster *genericclioptions.ConfigFlags
	printer *printing.Printer
	now     func() time.Time

	typeWord, name string

	compare string
	undo    string
	watch   bool
}

// New makes the command.
func New(streams genericiooptions.IOStreams) *cobra.Command {
	o := &Options{
		IOStreams: streams, cluster: genericclioptions.NewConfigFlags(true), printer: printing.New(), now: time.Now,
	}
	usual, aliases := revisions.Types()
	cmd := &cobra.Command{
		Use:     "revisions TYPE/NAME",
		Aliases: []string{"revision", "history"},
		Short:   "List the revisions of an object, compare them, preview a rollback",
		Long: `List the revisions of a Deployment (its ReplicaSets), of a StatefulSet, a
DaemonSet or another object whose controller keeps ControllerRevisions: when each
was made, why, how many pods run it, and which one is current or being rolled
out. Nothing is written.

--diff 3..4 shows which fields of the template differ between two revisions,
--diff 3 what has changed since. --undo 3 shows what 'kubectl rollout undo
--to-revision=3' would change in the object; 0 is the revision before the newest.

With --diff and --undo, the exit code is 0 if nothing differs, 1 if something
does, more on an error.`,
		Example: `  # Which pods run what?
  kctl-ctrl revisions deployment/web -o wide

  # What did the last two rollouts change?
  kctl-ctrl revisions sts/db --diff 3..4

  # What would a rollback send?
  kctl-ctrl revisions deploy/web --undo 3

  # Follow a rollout
  kctl-ctrl revisions ds/agent -n kube-system --watch`,
		Args: func(_ *cobra.Command, args []string) error { return o.parse(args) },
		RunE: func(cmd *cobra.Command, _ []string) error {
			return o.Run(cmd.Context())
		},
		ValidArgsFunction: complete.Objects{Usual: usual, Aliases: aliases}.Complete,
	}
	flags := cmd.Flags()
	flags.StringVar(&o.compare, "diff", "", "compare two revisions, 3..4, or one with the object as it is, 3")
	flags.StringVar(&o.undo, "undo", "", "preview a rollback to this revision; 0 for the one before the newest")
	flags.BoolVarP(&o.watch, "watch", "w", false, "after the list, print the revisions that change")
	cmd.MarkFlagsMutuallyExclusive("diff", "undo", "watch")
	_ = cmd.RegisterFlagCompletionFunc("diff", completeRevisions(true))
	_ = cmd.RegisterFlagCompletionFunc("undo", completeRevisions(false))
	o.printer.AddFlags(cmd)
	cliflags.AddCluster(o.cluster, flags)
	return cmd
}

// parse reads TYPE/NAME or TYPE NAME.
func (o *Options) parse(args []string) error {
	switch {
	case len(args) == 1 && strings.Count(args[0], "/") == 1:
		o.typeWord, o.name, _ = strings.Cut(args[0], "/")
	case len(args) == 2 && !strings.Contains(args[0]+args[1], "/"):
		o.typeWord, o.name = args[0], args[1]
	}
	if o.typeWord == "" || o.name == "" {
		return errors.New("name one object, as in deployment/web or statefulset db")
	}
	return nil
}

// Run does what the flags say.
func (o *Options) Run(ctx context.Context) error {
	if err := o.printer.Complete(o.Out); err != nil {
		return err
	}
	var from, to string
	var undo int64
	var err error
	if o.compare != "" {
		if from, to, err = revisions.ParseRange(o.compare); err != nil {
			return fmt.Errorf("--diff: %w", err)
		}
	}
	if o.undo != "" {
		if undo, err = strconv.ParseInt(o.undo, 10, 64); err != nil || undo < 0 {
			return fmt.Errorf("--undo: %q is not a revision's number", o.undo)
		}
	}
	ctx, cancel := console.WithSignals(ctx, o.ErrOut, "stopped")
	defer cancel()

	progress := console.NewProgress(o.ErrOut)
	progress.Line("reading revisions")
	reader, history, err := o.read(ctx)
	progress.Done()
	switch {
	case err != nil:
		return explain.Cause(ctx, err)
	case o.compare != "":
		return o.showDiff(history, from, to)
	case o.undo != "":
		return o.showUndo(history, undo)
	}
	list, err := o.show(history)
	if err != nil || !o.watch {
		return err
	}
	if err := o.follow(ctx, reader, history, list); err != nil {
		return err
	}
	return context.Cause(ctx)
}

func (o *Options) read(ctx context.Context) (*revisions.Reader, *revisions.History, error) {
	namespace, err := cliflags.NamespaceOf(o.cluster)
	if err != nil {
		return nil, nil, err
	}
	config, err := cliflags.ReadOnlyConfig(o.cluster)
	if err != nil {
		return nil, nil, err
	}
	target := revisions.Target{Namespace: namespace, Name: o.name}
	if resource, kind, known := revisions.WellKnown(o.typeWord); known {
		target.Resource, target.Kind = resource, kind
	} else {
		mapping, err := mappingOf(config, o.typeWord)
		if err != nil {
			return nil, nil, explain.Error(err, fmt.Sprintf("find the type %q", o.typeWord))
		}
		target.Resource, target.Kind = mapping.Resource, mapping.GroupVersionKind.Kind
		if mapping.Scope.Name() == meta.RESTScopeNameRoot {
			return nil, nil, fmt.Errorf("%s are not in a namespace, as ControllerRevisions are: they have no revisions", target.Resource.Resource)
		}
		if target.Resource.GroupResource() == (schema.GroupResource{Group: "apps", Resource: "replicasets"}) {
			return nil, nil, errors.New("a ReplicaSet is a revision of its Deployment and has none of its own: ask for deployment/NAME")
		}
	}
	reader, err := revisions.ForConfig(config)
	if err != nil {
		return nil, nil, err
	}
	history, err := reader.Read(ctx, target)
	if err != nil {
		return nil, nil, revisions.Explain(err)
	}
	return reader, history, nil
}

// mappingOf finds a type by any of its words, as kubectl does: plural, singular,
// short name, with or without group.
func mappingOf(config *rest.Config, word string) (*meta.RESTMapping, error) {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	cached := memory.NewMemCacheClient(client)
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(cached), cached, nil)
	full, resource := schema.ParseResourceArg(strings.ToLower(word))
	var kind schema.GroupVersionKind
	if full != nil {
		kind, _ = mapper.KindFor(*full)
	}
	if kind.Empty() {
		if kind, err = mapper.KindFor(resource.WithVersion("")); err != nil {
			return nil, err
		}
	}
	return mapper.RESTMapping(kind.GroupKind(), kind.Version)
}

// list is the history with what marks it as a document.
func (o *Options) list(h *revisions.History) state.RevisionList {
	list := h.List()
	list.APIVersion, list.Kind = about.APIVersion, "RevisionList"
	return list
}

func (o *Options) show(h *revisions.History) (state.RevisionList, error) {
	list := o.list(h)
	if h.PodsError != nil {
		fmt.Fprintln(o.ErrOut, "pods are not counted:", revisions.Explain(h.PodsError))
	}
	if len(list.Items) == 0 {
		fmt.Fprintf(o.ErrOut, "No revisions found for %s %s.\n", o.typeWord+"/"+o.name, explain.Scope(list.Object.Namespace))
		if _, _, known := revisions.WellKnown(o.typeWord); !known {
			fmt.Fprintln(o.ErrOut, "Of Kubernetes' own types, Deployments, StatefulSets and DaemonSets keep revisions.")
		}
	}
	if o.watch && !o.printer.ForPeople() {
		for _, r := range list.Items {
			if err := o.printChanges(list, []revisions.Change{{Revision: r}}); err != nil {
				return list, err
			}
		}
		return list, nil
	}
	err := o.printer.Print(o.Out, printing.Found{
		Document: func() any { return list },
		Names:    func() []string { return revisionNames(list.Items) },
		Table: func(wide bool) render.Table {
			options := o.tableOptions(list, wide)
			if o.watch {
				options.Changes = make([]string, len(list.Items))
			}
			return render.Revisions(list.Items, options)
		},
	})
	if o.printer.ForPeople() {
		for _, remark := range list.Remarks {
			fmt.Fprintln(o.ErrOut, render.Sanitise(remark))
		}
	}
	return list, err
}

func (o *Options) tableOptions(list state.RevisionList, wide bool) render.RevisionOptions {
	return render.RevisionOptions{
		Times: render.Times{Now: o.now(), Ages: console.IsTerminal(o.Out)}, Wide: wide, PodsUnknown: !list.PodsKnown,
	}
}

func revisionNames(list []state.Revision) []string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = strings.TrimSuffix(r.Object.Resource, "s") + "." + r.Object.Group + "/" + r.Object.Name
	}
	return names
}

// revisionChange is what --watch prints for programs: one for each change.
type revisionChange struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	state.Revision
	// Change is empty for what was there at the start.
	Change string `json:"change,omitempty"`
}

// printChanges prints revisions with what became of them.
func (o *Options) printChanges(list state.RevisionList, changes []revisions.Change) error {
	if o.printer.ForPeople() {
		rows, words := make([]state.Revision, len(changes)), make([]string, len(changes))
		for i, change := range changes {
			rows[i], words[i] = change.Revision, change.What
		}
		return o.printer.Print(o.Out, printing.Found{Table: func(wide bool) render.Table {
			options := o.tableOptions(list, wide)
			options.Changes = words
			return render.Revisions(rows, options)
		}})
	}
	for _, change := range changes {
		err := o.printer.Print(o.Out, printing.Found{
			Document: func() any {
				return revisionChange{APIVersion: about.APIVersion, Kind: "Revision", Revision: change.Revision, Change: change.What}
			},
			Names: func() []string { return revisionNames([]state.Revision{change.Revision}) },
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// follow prints what becomes of the revisions until the user has enough.
func (o *Options) follow(ctx context.Context, reader *revisions.Reader, h *revisions.History, last state.RevisionList) error {
	options := revisions.FollowOptions{
		After: time.After,
		Lost: func(err error) {
			fmt.Fprintln(o.ErrOut, "lost, trying again:", revisions.Explain(err))
		},
	}
	err := reader.Follow(ctx, h, options, func(h *revisions.History) error {
		next := o.list(h)
		changes := revisions.Changes(last, next)
		last = next
		if len(changes) == 0 {
			return nil
		}
		return o.printChanges(next, changes)
	})
	return revisions.Explain(err)
}

func (o *Options) showDiff(h *revisions.History, from, to string) error {
	diff, err := h.Diff(from, to)
	if err != nil {
		return err
	}
	diff.APIVersion, diff.Kind = about.APIVersion, "RevisionDiff"
	return o.showChange(diff.HasChanges, diff, func(w io.Writer, options render.FieldsOptions) error {
		return render.WriteRevisionDiff(w, diff, options)
	})
}

func (o *Options) showUndo(h *revisions.History, to int64) error {
	undo, err := h.Undo(to)
	if err != nil {
		return err
	}
	undo.APIVersion, undo.Kind = about.APIVersion, "RevisionUndo"
	return o.showChange(undo.HasChanges, undo, func(w io.Writer, options render.FieldsOptions) error {
		return render.WriteRevisionUndo(w, undo, options)
	})
}

// showChange prints a change and turns it into the answer of the exit code.
func (o *Options) showChange(some bool, document any, text func(io.Writer, render.FieldsOptions) error) error {
	kind := strings.ToLower(o.typeWord)
	if _, known, ok := revisions.WellKnown(o.typeWord); ok {
		kind = strings.ToLower(known) + ".apps"
	}
	err := o.printer.Print(o.Out, printing.Found{
		Document: func() any { return document },
		Names:    func() []string { return []string{kind + "/" + o.name} },
		Text:     func(w io.Writer, _ string) error { return text(w, render.FieldsOptions{Color: o.printer.Color}) },
	})
	if err == nil && some {
		return exit.ErrChanged
	}
	return err
}

// completeRevisions completes the number of a revision of the object that is named; a
// second one after "3..", where two can be given.
func completeRevisions(two bool) complete.Func {
	return func(cmd *cobra.Command, args []string, word string) ([]string, cobra.ShellCompDirective) {
		const none = cobra.ShellCompDirectiveNoFileComp
		o := &Options{IOStreams: genericiooptions.NewTestIOStreamsDiscard(), cluster: complete.ConfigFlagsOf(cmd)}
		if o.parse(args) != nil {
			return nil, none
		}
		ctx, cancel := context.WithTimeout(cmd.Context(), complete.Timeout)
		defer cancel()
		_, history, err := o.read(ctx)
		if err != nil {
			return nil, none
		}
		return complete.StartingWith(word, revisionWords(history.List().Items, word, two)), none
	}
}

// revisionWords are the numbers of revisions; behind "3.." those of the second one.
func revisionWords(items []state.Revision, word string, two bool) []string {
	before := ""
	if from, _, second := strings.Cut(word, ".."); second && two {
		before = from + ".."
	}
	var words []string
	for _, item := range items {
		if number := strconv.FormatInt(item.Revision, 10); number+".." != before {
			words = append(words, before+number)
		}
	}
	return words
}
