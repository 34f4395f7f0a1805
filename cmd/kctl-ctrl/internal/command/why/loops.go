package why

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	controllernames "k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/diagnosis"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// whyLoops runs the loops that an object concerns, dry, and lets its keys and
// those of its owners and dependants through alone. Their informers hold
// everything: a loop that saw less than there is would do something else.
type whyLoops struct {
	mode    state.Mode
	timeout time.Duration
	flags   *genericclioptions.ConfigFlags
	streams genericiooptions.IOStreams
}

// whyHorizon is how far ahead a key may be due and still be waited for.
const whyHorizon = time.Second

// concern is a set of objects, by what the keys of queues say of them.
type concern struct{ keys, kinds map[string]bool }

func concernOf(objects []*owners.Object) concern {
	c := concern{keys: map[string]bool{}, kinds: map[string]bool{}}
	kind := func(kind, group, key string) {
		if group != "" {
			kind += "." + group
		}
		c.kinds[kind+" "+key] = true
	}
	for _, o := range objects {
		c.keys[o.Type()+" "+o.Key()] = true
		kind(o.Kind, o.Group, o.Key())
		for _, ref := range o.Owners {
			// The garbage collector looks owners up that are not there.
			group, _, has := strings.Cut(ref.APIVersion, "/")
			if !has {
				group = ""
			}
			kind(ref.Kind, group, ref.Name)
			kind(ref.Kind, group, o.Namespace+"/"+ref.Name)
		}
	}
	return c
}

// has reports whether a key is that of one of the objects.
func (c concern) has(controller, queue, key string) bool {
	keys, known := controllers.KeysOf(controller, queue)
	if !known || keys.Feeds {
		return false
	}
	if keys.Any {
		return c.kinds[key]
	}
	typ, name, ok := keys.Object(key)
	return ok && c.keys[typ+" "+name]
}

// passes lets the keys of the objects through, and what other queues are fed
// from.
func (c concern) passes(controller, queue, key string) bool {
	keys, known := controllers.KeysOf(controller, queue)
	return !known || keys.Feeds || c.has(controller, queue, key)
}

// loopsFor are the loops that decide about the target, and about its owners and
// dependants where those can be confined to its namespace. The garbage collector
// is among them where it has something to decide.
func loopsFor(graph *owners.Graph, target *owners.Object, concerned []*owners.Object) []string {
	loops := slices.Clone(controllers.DecidersOf(target.Type()))
	if target.Type() == "namespaces" && !target.Deleting.IsZero() {
		loops = []string{controllernames.NamespaceController} // what fills one has nothing to say
	}
	for _, o := range concerned {
		for _, name := range controllers.DecidersOf(o.Type()) {
			if !slices.Contains(loops, name) && controllers.Confinable([]string{name}) {
				loops = append(loops, name)
			}
		}
	}
	if collectable(graph, target) {
		loops = append(loops, controllernames.GarbageCollectorController)
	}
	slices.Sort(loops)
	return loops
}

// collectable reports whether the garbage collector has something to do with an
// object: an owner of it is gone, or it is deleted with one of GC's finalizers.
func collectable(graph *owners.Graph, o *owners.Object) bool {
	if !o.Deleting.IsZero() {
		return slices.Contains(o.Finalizers, metav1.FinalizerDeleteDependents) || slices.Contains(o.Finalizers, metav1.FinalizerOrphanDependents)
	}
	return slices.ContainsFunc(o.Owners, func(ref document.OwnerRef) bool {
		verdict, _ := graph.Verdict(o, ref)
		return verdict == document.OwnerAbsent || verdict == document.OwnerWaiting
	})
}

// tell runs the loops until they come to rest and gives what they did.
func (w *whyLoops) tell(ctx context.Context, graph *owners.Graph, target *owners.Object, progress func(string)) (*document.WhyStory, error) {
	concerned := diagnosis.Concerned(graph, target)
	loops := loopsFor(graph, target, concerned)
	if len(loops) == 0 {
		return &document.WhyStory{Mode: w.mode, Loops: []string{}, Syncs: []document.StorySync{}, Why: nobodys(target)}, nil
	}
	namespace := ""
	if controllers.Confinable(loops) {
		namespace = target.Namespace
	}
	c := concernOf(concerned)
	run, err := w.options(loops, namespace)
	if err != nil {
		return nil, err
	}
	spec, err := run.Spec(w.mode, engine.Approvals{})
	if err != nil {
		return nil, err
	}
	spec.Horizon, spec.Progress = whyHorizon, progress
	e, err := engine.New(spec)
	if err != nil {
		return nil, err
	}
	stopped := false
	stop := func() {
		if !stopped {
			stopped = true
			engineflags.ShutDown(e, w.streams.ErrOut)
		}
	}
	defer stop()
	e.Tap().LetThrough(c.passes)
	listener := listen(e.Journal().Subscribe(0), document.NewStoryTeller(c.has))

	starting, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	late := time.AfterFunc(w.timeout, func() { cancel(tooSlow(w.timeout)) })
	failure := e.Start(starting)
	if !late.Stop() {
		return nil, context.Cause(starting)
	}
	loops, off, err := w.running(e, target, loops, namespace)
	switch {
	case err != nil:
		return nil, err
	case len(loops) == 0 && off != "":
		return &document.WhyStory{Mode: w.mode, Loops: []string{}, Syncs: []document.StorySync{}, Why: off}, nil
	case failure != nil:
		return nil, explain.Cause(ctx, failure)
	}
	progress("letting the loops come to rest")
	later, moving, err := w.rest(ctx, e, c)
	if err != nil {
		return nil, err
	}
	held := e.Tap().Activity().Aside
	e.Journal().Record(endOfStory)
	e.Journal().Flush()
	story, lost := listener.story()
	stop()
	story.Mode, story.Loops, story.Why, story.Namespace, story.Held, story.Moving = w.mode, loops, off, namespace, held, moving
	if lost > 0 {
		story.Moving = append(story.Moving, fmt.Sprintf("%d entries of the journal were lost: the story has holes", lost))
	}
	now := time.Now()
	for _, due := range later {
		if c.has(due.Controller, due.Queue, due.Key) {
			story.Later = append(story.Later, document.StoryLater{Controller: due.Controller, Key: due.Key, In: state.Short(due.At.Sub(now)), Retries: due.Retries})
		}
	}
	return &story, nil
}

// nobodys says who decides about an object that no loop does.
func nobodys(target *owners.Object) string {
	text := "No loop of kube-controller-manager decides about " + target.Type()
	switch {
	case target.Type() == "pods":
		text += ": the scheduler and the kubelet do"
	case target.Type() == "nodes":
		return "The node-lifecycle loop judges all nodes at once: it is not run for one."
	case target.Type() == "customresourcedefinitions.apiextensions.k8s.io":
		text += ": the API server does"
	case strings.Contains(target.Group, "."):
		text += ": the operator of that API does"
	}
	return text + "."
}

// options are those of a run of these loops.
func (w *whyLoops) options(loops []string, namespace string) (*engineflags.Options, error) {
	options, err := controllers.NewOptions()
	if err != nil {
		return nil, fmt.Errorf("read kube-controller-manager's defaults: %w", err)
	}
	upstream := pflag.NewFlagSet("", pflag.ContinueOnError)
	options.AddFlags(upstream)
	if err := upstream.Set("controllers", strings.Join(loops, ",")); err != nil {
		return nil, fmt.Errorf("choose the loops %s: %w", strings.Join(loops, ", "), err)
	}
	flags := cliflags.WithContext(w.flags, cliflags.ValueOf(w.flags.Context))
	flags.Namespace = &namespace
	return &engineflags.Options{IOStreams: w.streams, Kubeconfig: flags, Controllers: options}, nil
}

// running are those of the loops that run, with what keeps the others from it in
// words. Where that is a right that the user lacks, it is an error that names the
// right: a story without one of its loops would be another one.
func (w *whyLoops) running(e *engine.Engine, target *owners.Object, loops []string, namespace string) (on []string, off string, err error) {
	manager := e.Manager()
	if manager == nil {
		return nil, "", nil
	}
	var reasons []string
	for _, status := range manager.Statuses() {
		if !slices.Contains(loops, status.Controller) {
			continue
		}
		if status.Status != state.ControllerOff && status.Status != state.ControllerFailed {
			on = append(on, status.Controller)
			continue
		}
		name := render.ShortName(status.Controller)
		what, denied := strings.CutPrefix(status.Reason, controllers.MayNot+" ")
		if denied {
			return nil, "", lacking(name, target, what, namespace)
		}
		reasons = append(reasons, fmt.Sprintf("The %s loop cannot run: %s.", name, status.Reason))
	}
	return on, strings.Join(reasons, " "), nil
}

// lacking is the error of a loop without a right: what is "list namespaces".
func lacking(loop string, target *owners.Object, what, namespace string) error {
	verb, typ, _ := strings.Cut(what, " ")
	missing := explain.Right{Verb: verb, Resource: typ, Namespace: namespace}
	check := missing
	if typ == "every type" {
		check.Resource = "'*.*'"
	}
	return fmt.Errorf("run the %s loop for %s: you lack the right to %s: ask for a role with it ('%s' tells when it is there), or leave the loops out with --loops=false",
		loop, target.Ref, missing, check.Check())
}

// rest waits until the loops have come to rest. Keys of the object that a loop
// puts off before it looks at them for the first time are hurried: the namespace
// loop waits 5 s, the autoscaler's 15.
func (w *whyLoops) rest(ctx context.Context, e *engine.Engine, c concern) (later []settle.Due, moving []string, err error) {
	deadline := time.Now().Add(w.timeout)
	for range 2 {
		later, err = e.WaitSettled(ctx, time.Until(deadline))
		var unsettled *settle.UnsettledError
		if errors.As(err, &unsettled) {
			return later, unsettled.Reasons, nil
		}
		if err != nil {
			return nil, nil, explain.Cause(ctx, err)
		}
		hurried := false
		for _, due := range later {
			if c.has(due.Controller, due.Queue, due.Key) && !synced(e.Journal().Flush(), due) {
				hurried = e.Tap().RetryNow(due.Controller, due.Queue, due.Key) == nil || hurried
			}
		}
		if !hurried {
			break
		}
	}
	return later, nil, nil
}

// synced reports whether a worker has had the key before.
func synced(snapshot *state.Snapshot, due settle.Due) bool {
	key := snapshot.Key(due.Controller, due.Queue, due.Key)
	return key != nil && key.Syncs > 0
}

// endOfStory is the journal's mark that the listener reads to.
var endOfStory = state.Note{Source: "why", Text: "the story ends here"}

// listening is a teller that hears the journal.
type listening struct {
	done   chan struct{}
	teller *document.StoryTeller
	lost   uint64
}

func listen(subscription *hub.Subscription, teller *document.StoryTeller) *listening {
	l := &listening{done: make(chan struct{}), teller: teller}
	go func() {
		defer close(l.done)
		defer subscription.Close()
		for {
			entries, err := subscription.Next(context.Background())
			if err != nil { // io.EOF: the session has ended before its story
				return
			}
			for _, e := range entries {
				if e.Event == endOfStory {
					return
				}
				if d, is := e.Event.(state.Dropped); is {
					l.lost += d.Count
				}
				l.teller.Add(e)
			}
		}
	}()
	return l
}

// story waits for the end and gives the story, with the number of entries lost.
func (l *listening) story() (document.WhyStory, uint64) {
	<-l.done
	return l.teller.Story(), l.lost
}
