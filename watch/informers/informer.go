package informers

import (
	"cmp"
	"context"
	"fmt"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// informer is one SharedIndexInformer with its statistics.
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

	// users and ending belong to the Set and are guarded by its lock.
	users  int
	ending *time.Timer

	mu     sync.Mutex
	status state.InformerStatus
	reason string
	told   map[string]bool // the reasons recorded since it first failed
	// whole: a list was complete at the wrapper, and none has started since; synced:
	// the handler has received the first one.
	whole, synced bool
	// quiet: the first list is too large for the journal.
	quiet, decided    bool
	arrived, expected int
	version           string
	moved, event      time.Time
	bookmark          time.Time
	events            uint64
	relists           int
	relist            string
	relistAt          time.Time
	end               string // why the last watch was closed; empty while one is open
	handled           uint64 // the highest version the handler has returned from
	failure           error  // of the last request, while the informer is failed
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
	// The wrapper reports failures with more detail.
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

// turn records a change of status. Do not call it with the lock held.
func (in *informer) turn(status state.InformerStatus, reason string) {
	in.mu.Lock()
	if in.status == state.InformerStopped { // a late response
		in.mu.Unlock()
		return
	}
	same := in.status == status && in.reason == reason
	if status == state.InformerFailed {
		// Repeated failures alternate between the same reasons.
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

// silentFor is how long a result of Options.Silent is cached.
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

// silence is a result of Options.Silent.
type silence struct {
	asked  time.Time
	silent bool
}

// begins records the start of a list: the first, or one that hides what happened since
// the last event.
func (in *informer) begins() {
	in.mu.Lock()
	again, reason := in.whole, in.end
	in.arrived = 0
	if reason == "" {
		reason = "watch closed"
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

const (
	hidden  showing = iota // the handler will tell
	spare                  // shown unless there is something better
	shown                  // shown until the handler tells
	unshown                // no longer shown
)

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

// listed records that a list is complete.
func (in *informer) listed(version string) {
	if reason := in.wentBack(version); reason != "" {
		in.mu.Lock()
		told := in.relist == reason
		in.relist = reason
		in.mu.Unlock()
		if !told {
			in.record(state.Gap{Informer: in.kind.Type(), Reason: reason})
		}
	}
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

// sync records that the handler has received the whole first list.
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

// goesOn reports whether a watch was reopened without a list.
func (in *informer) goesOn() bool {
	in.mu.Lock()
	defer in.mu.Unlock()
	return in.whole && in.end != ""
}

// wentBack reports whether the resourceVersion of a list or a bookmark is older than
// what the cache has seen. The versions of events are not compared, because not every
// server orders them.
func (in *informer) wentBack(version string) (reason string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	had, err := strconv.ParseUint(in.version, 10, 64)
	now, bad := strconv.ParseUint(version, 10, 64)
	if err != nil || bad != nil || now >= had {
		return ""
	}
	return fmt.Sprintf("resourceVersion regressed from %d to %d, as after a restore of etcd", had, now)
}

func (in *informer) bookmarked(version string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.version = version
	in.bookmark = in.options.Now()
	in.moved = in.bookmark
}

// happens records an event of a watch.
func (in *informer) happens(o metav1.Object) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.version = o.GetResourceVersion()
	in.event = in.options.Now()
	in.moved = in.event
}

// ended records why a watch was closed.
func (in *informer) ended(reason string) {
	in.mu.Lock()
	defer in.mu.Unlock()
	in.end = reason
}

// fails records a request that was rejected or got no response.
func (in *informer) fails(verb string, err error) {
	in.mu.Lock()
	in.end, in.failure = cmp.Or(in.end, err.Error()), err
	in.mu.Unlock()
	in.turn(state.InformerFailed, verb+" "+in.kind.Type()+": "+err.Error())
}

// answers records a successful request. A successful list does not compensate for a
// rejected watch.
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

// stats returns the row of get informers.
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
