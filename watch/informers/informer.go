package informers

import (
	"cmp"
	"context"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// informer is one SharedIndexInformer with what is known of it.
type informer struct {
	typ       owners.Type
	namespace string
	contents  Contents
	kind      state.Ref // without a name
	options   *Options

	source   source
	contact  *contact
	refusals *refusals
	index    *index
	real     cache.SharedIndexInformer
	fifo     gauge
	silence  atomic.Pointer[silence]

	cancel  context.CancelFunc
	running sync.WaitGroup

	// users and ending are the Set's, under its lock.
	users  int
	ending *time.Timer

	mu     sync.Mutex
	status state.InformerStatus
	reason string
	told   map[string]bool // the reasons recorded since it first failed
	// whole: a list was complete at the wrapper, and none has begun since; synced:
	// the handler has got the first one.
	whole, synced bool
	// quiet: the objects of the first list are too many for the journal.
	quiet, decided    bool
	arrived, expected int
	version           string
	moved, event      time.Time
	bookmark          time.Time
	events            uint64
	relists           int
	relist            string
	relistAt          time.Time
	end               string // why the last watch is over; empty while there is one
	handled           uint64 // the highest version the handler has returned from
}

// gauge is the depth of a FIFO, as the FIFO itself reports it.
type gauge struct{ value atomic.Int64 }

func (g *gauge) Set(v float64) { g.value.Store(int64(v)) }

type ignored struct{}

func (ignored) Set(float64)     {}
func (ignored) Observe(float64) {}

// fifoMetrics is a cache.InformerMetricsProvider for one informer.
type fifoMetrics struct{ depth *gauge }

func (m fifoMetrics) NewQueuedItemMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return m.depth
}

func (fifoMetrics) NewProcessingLatencyMetric(cache.InformerNameAndResource) cache.HistogramMetric {
	return ignored{}
}

func (fifoMetrics) NewStoreResourceVersionMetric(cache.InformerNameAndResource) cache.GaugeMetric {
	return ignored{}
}

// start runs the informer until stop. name is unique in this process.
func (in *informer) start(name string) error {
	options := cache.SharedIndexInformerOptions{ObjectDescription: in.kind.Type(), InformerMetricsProvider: fifoMetrics{&in.fifo}}
	in.fifo.value.Store(-1)
	identity, err := cache.NewInformerName(name)
	if err == nil {
		options.Identifier = identity.WithResource(schema.GroupVersionResource{Group: in.typ.Group, Version: in.typ.Version, Resource: in.typ.Resource})
	}
	in.real = cache.NewSharedIndexInformerWithOptions(
		&cache.ListWatch{ListWithContextFunc: in.list, WatchFuncWithContext: in.watch}, nil, options)
	noResync := time.Duration(0)
	registration, err := in.real.AddEventHandlerWithOptions(in, cache.HandlerOptions{ResyncPeriod: &noResync})
	if err != nil {
		return err
	}
	// What fails on the way is known from the wrapper, and better.
	if err := in.real.SetWatchErrorHandlerWithContext(func(context.Context, *cache.Reflector, error) {}); err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(context.Background())
	in.cancel = cancel
	in.turn(state.InformerListing, "")
	in.running.Go(func() {
		defer identity.Release()
		in.real.RunWithContext(ctx)
	})
	in.running.Go(func() { in.peek(ctx) })
	in.running.Go(func() {
		select {
		case <-registration.HasSyncedChecker().Done():
			in.sync()
		case <-ctx.Done():
		}
	})
	return nil
}

func (in *informer) stop() {
	in.cancel()
	in.running.Wait()
	in.index.close()
	in.turn(state.InformerStopped, "")
}

// turn records a change of status. It is not called with the lock held.
func (in *informer) turn(status state.InformerStatus, reason string) {
	in.mu.Lock()
	if in.status == state.InformerStopped { // a late answer
		in.mu.Unlock()
		return
	}
	same := in.status == status && in.reason == reason
	if status == state.InformerFailed {
		// What is tried again and again fails by turns, of the same reasons.
		same = same || in.told[reason]
		in.told[reason] = true
	} else {
		clear(in.told)
	}
	in.status, in.reason = status, reason
	version := in.version
	in.mu.Unlock()
	in.index.edition.Add(1)
	if same {
		return
	}
	e := state.InformerChanged{Informer: in.kind.Type(), Status: status, Reason: reason}
	if status == state.InformerSynced {
		e.Objects, e.ResourceVersion = in.index.len(), version
	}
	in.record(e)
}

func (in *informer) record(e state.Event) {
	if !in.silent() {
		in.options.Recorder.Record(e)
	}
}

// silentFor is how long an answer of Options.Silent is good for.
const silentFor = time.Second

func (in *informer) silent() bool {
	if in.options.Silent == nil {
		return false
	}
	known, now := in.silence.Load(), time.Now()
	if known == nil || now.Sub(known.asked) > silentFor {
		known = &silence{asked: now, silent: in.options.Silent(in.kind)}
		in.silence.Store(known)
	}
	return known.silent
}

// silence is an answer of Options.Silent.
type silence struct {
	asked  time.Time
	silent bool
}

// begins notes that a list comes: the first, or one that hides what happened
// since the last event.
func (in *informer) begins() {
	in.mu.Lock()
	again, reason := in.whole, in.end
	in.arrived = 0
	if reason == "" {
		reason = "the watch was lost"
	}
	if again {
		in.relists, in.relist, in.relistAt = in.relists+1, reason, in.options.Now()
		in.whole = false
	}
	in.mu.Unlock()
	if again {
		in.record(state.Gap{Informer: in.kind.Type(), Reason: reason})
		in.turn(state.InformerRelisted, reason)
	}
}

// showing says what an object on its way to the reflector is to the index.
type showing int

const (
	hidden  showing = iota // the handler will tell
	spare                  // shown unless there is something better
	shown                  // shown until the handler tells
	unshown                // no longer shown
)

// passes takes note of an object on its way to the reflector. After the first
// list the handler alone changes the index.
func (in *informer) passes(object runtime.Object, as showing) metav1.Object {
	if u, ok := object.(*unstructured.Unstructured); ok && isSecret(in.typ) {
		conceal(u)
	}
	o, err := meta.Accessor(object)
	if err != nil {
		return nil
	}
	if as == hidden {
		return o
	}
	in.mu.Lock()
	defer in.mu.Unlock()
	switch {
	case in.synced:
	case as == unshown:
		in.index.delete(o.GetNamespace(), o.GetName())
	default:
		in.index.offer(o, as == shown)
	}
	return o
}

func (in *informer) arrives(n int, rest *int64) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.arrived += n
	if rest != nil {
		in.expected = in.arrived + int(*rest)
	}
}

func (in *informer) expects(n int) {
	in.mu.Lock()
	in.expected = max(in.expected, n)
	in.mu.Unlock()
	in.index.edition.Add(1)
}

// listed notes that all of a list has passed.
func (in *informer) listed(version string) {
	in.mu.Lock()
	in.whole, in.end = true, ""
	in.version, in.moved = version, in.options.Now()
	in.expected = in.arrived
	synced := in.synced
	in.mu.Unlock()
	if synced {
		in.turn(state.InformerSynced, "")
	}
}

// sync notes that the handler has got all of the first list.
func (in *informer) sync() {
	in.mu.Lock()
	in.synced = true
	failed := in.status == state.InformerFailed
	in.mu.Unlock()
	in.index.sweep()
	if !failed {
		in.turn(state.InformerSynced, "")
	}
}

func (in *informer) bookmarked(version string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.version = version
	in.bookmark = in.options.Now()
	in.moved = in.bookmark
}

// happens notes an event of a watch.
func (in *informer) happens(o metav1.Object) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.version = o.GetResourceVersion()
	in.event = in.options.Now()
	in.moved = in.event
}

// ended notes why a watch is over.
func (in *informer) ended(reason string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.end = reason
}

// fails notes a request that was refused, or has no answer.
func (in *informer) fails(verb string, err error) {
	in.mu.Lock()
	in.end = cmp.Or(in.end, err.Error())
	in.mu.Unlock()
	in.turn(state.InformerFailed, verb+" "+in.kind.Type()+": "+err.Error())
}

// answers notes that a request went well. A list alone does not make up for a
// watch that is refused.
func (in *informer) answers(verb string) {
	in.mu.Lock()
	failed, synced := in.status == state.InformerFailed, in.synced && in.whole
	if verb == "watch" {
		in.end = ""
	}
	in.mu.Unlock()
	switch {
	case !failed || verb != "watch" && in.refusals.holds("watch"):
	case synced:
		in.turn(state.InformerSynced, "")
	default:
		in.turn(state.InformerListing, "")
	}
}

// OnAdd is cache.ResourceEventHandler's.
func (in *informer) OnAdd(obj any, isInInitialList bool) {
	o, _ := obj.(metav1.Object)
	if o == nil {
		return
	}
	if isInInitialList {
		in.index.put(o, time.Time{})
		if !in.tooMany() {
			in.changed(state.ChangeListed, "", o)
		}
		return
	}
	in.index.put(o, in.options.Now())
	in.changed(state.ChangeAdded, "", o)
}

// OnUpdate is cache.ResourceEventHandler's.
func (in *informer) OnUpdate(oldObj, newObj any) {
	old, _ := oldObj.(metav1.Object)
	o, _ := newObj.(metav1.Object)
	if o == nil {
		return
	}
	if old != nil && old.GetResourceVersion() == o.GetResourceVersion() {
		// A relist delivers what did not change as well. It is another copy,
		// and the store's from now on.
		in.index.renew(o)
		return
	}
	in.index.put(o, in.options.Now())
	before := ""
	if old != nil {
		before = old.GetResourceVersion()
	}
	in.changed(state.ChangeUpdated, before, o)
}

// OnDelete is cache.ResourceEventHandler's.
func (in *informer) OnDelete(obj any) {
	if tomb, ok := obj.(cache.DeletedFinalStateUnknown); ok {
		obj = tomb.Obj
	}
	o, _ := obj.(metav1.Object)
	if o == nil {
		return
	}
	in.index.delete(o.GetNamespace(), o.GetName())
	in.changed(state.ChangeDeleted, "", o)
}

// tooMany decides, when the first object of the list is delivered, whether they
// are put in the journal one by one.
func (in *informer) tooMany() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	if !in.decided {
		in.decided, in.quiet = true, in.index.len() > in.options.Listed
	}
	return in.quiet
}

func (in *informer) changed(change state.Change, before string, o metav1.Object) {
	in.mu.Lock()
	in.events++
	if v, err := strconv.ParseUint(o.GetResourceVersion(), 10, 64); err == nil {
		in.handled = max(in.handled, v)
	}
	in.mu.Unlock()
	in.record(state.ObjectChanged{
		Informer: in.kind.Type(), Change: change, Object: in.ref(o), OldRV: before, NewRV: o.GetResourceVersion(), Owner: ownerOf(o),
	})
}

func (in *informer) ref(o metav1.Object) state.Ref {
	r := in.kind
	r.Namespace, r.Name, r.UID = o.GetNamespace(), o.GetName(), string(o.GetUID())
	return r
}

// ownerOf gives the managing owner. Its resource is guessed from its kind, as
// nothing else is known here.
func ownerOf(o metav1.Object) *state.Ref {
	c := metav1.GetControllerOfNoCopy(o)
	if c == nil {
		return nil
	}
	gv, err := schema.ParseGroupVersion(c.APIVersion)
	if err != nil {
		return nil
	}
	plural, _ := meta.UnsafeGuessKindToResource(gv.WithKind(c.Kind))
	return &state.Ref{
		Group: gv.Group, Version: gv.Version, Resource: plural.Resource,
		Namespace: o.GetNamespace(), Name: c.Name, UID: string(c.UID),
	}
}

// stats gives what get informers shows.
func (in *informer) stats() state.StoreStats {
	in.mu.Lock()
	defer in.mu.Unlock()
	s := state.StoreStats{
		Type: in.kind.Type(), Version: in.typ.Version, Namespace: in.namespace, Metadata: in.contents != Whole,
		Status: in.status, Reason: in.reason, Synced: in.synced,
		Objects: in.index.len(), ResourceVersion: in.version,
		Events: in.events, LastEvent: in.event, LastBookmark: in.bookmark, LastMoved: in.moved,
		Relists: in.relists, LastRelist: in.relist, LastRelistAt: in.relistAt,
		Handlers: []state.HandlerStats{{Controller: in.options.Name, Synced: in.synced}},
	}
	if !in.whole {
		s.Arrived, s.Expected = in.arrived, in.expected
	}
	if in.handled > 0 {
		s.Handlers[0].ResourceVersion = strconv.FormatUint(in.handled, 10)
	}
	if depth := in.fifo.value.Load(); depth >= 0 {
		n := int(depth)
		s.FIFODepth = &n
	}
	return s
}
