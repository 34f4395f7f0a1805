package tap

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"k8s.io/client-go/tools/cache"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Tap records what the controllers attached to it do. Its methods may be
// called from any goroutine.
type Tap struct {
	rec state.Recorder
	// labelErr is why goroutines are not labelled; nil if they are.
	labelErr error

	syncs    atomic.Uint64 // the number of the last sync
	handling atomic.Int64  // calls of event handlers under way
	changed  signal

	waitsForQueue atomic.Bool // later is not empty

	filter atomic.Pointer[Filter] // nil lets every key through

	done      chan struct{}
	closeOnce sync.Once
	waiters   sync.WaitGroup

	// pausing is held while all queues of a controller are paused or resumed; it
	// is taken before a queue's lock.
	pausing sync.Mutex
	pauses  map[string]state.PauseChanged // those in force, by controller
	breaks  breaks

	mu        sync.RWMutex
	queues    map[string][]tapped      // by controller, in the order of Attach
	installed map[uintptr]tapped       // by the address of the original
	informers map[cache.Store]*watched // by its store
	byType    map[typeKey][]*watched
	later     []later
	resting   map[string]bool          // controllers that were paused at Forget
	holds     map[string]chan struct{} // by controller; see Hold
}

// New returns a Tap that records into rec. Where this release of Go keeps goroutine
// labels in another way than the one that the tap was checked with, a Note says so:
// then all causes are unknown, and the rest is observed as before.
func New(rec state.Recorder) *Tap { return newTap(rec, checkLabelLayout()) }

func newTap(rec state.Recorder, labelErr error) *Tap {
	if labelErr != nil {
		rec.Record(state.Note{Source: "tap", Warning: true, Text: fmt.Sprintf("causes are unknown: %v", labelErr)})
	}
	t := &Tap{
		rec:       rec,
		pauses:    map[string]state.PauseChanged{},
		labelErr:  labelErr,
		done:      make(chan struct{}),
		queues:    map[string][]tapped{},
		installed: map[uintptr]tapped{},
		informers: map[cache.Store]*watched{},
		byType:    map[typeKey][]*watched{},
		resting:   map[string]bool{},
		holds:     map[string]chan struct{}{},
	}
	t.breaks.rec = rec
	return t
}

// Close ends the goroutines that wait for informers to sync, and returns when
// they have ended. Queues and handlers keep working and recording.
func (t *Tap) Close() {
	t.closeOnce.Do(func() { close(t.done) })
	t.waiters.Wait()
}

// tapped is a decorated queue, whatever its keys.
type tapped interface {
	queueName() string
	activity(*Activity)
	pause(bool)
	isPaused() bool
	filterChanged()
	step(key string) error
	retryNow(key string) error
	drop(key string) error
	running(sync uint64) *running
	idleWorkers() int
	stalled() (state.QueueStalled, bool)
	abandon()
}

var _ tapped = (*queue[string])(nil)

// find returns the named queue of a controller.
func (t *Tap) find(controller, name string) (tapped, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	for _, q := range t.queues[controller] {
		if q.queueName() == name {
			return q, nil
		}
	}
	return nil, errors.New("no such queue")
}

// Queues returns the names of the queues attached for a controller, in the
// order of Attach.
func (t *Tap) Queues(controller string) []string {
	t.mu.RLock()
	defer t.mu.RUnlock()
	var names []string
	for _, q := range t.queues[controller] {
		names = append(names, q.queueName())
	}
	return names
}

// all returns every queue, ordered by controller.
func (t *Tap) all() []tapped {
	t.mu.RLock()
	defer t.mu.RUnlock()
	controllers := make([]string, 0, len(t.queues))
	for c := range t.queues {
		controllers = append(controllers, c)
	}
	slices.SortFunc(controllers, cmp.Compare)
	var qs []tapped
	for _, c := range controllers {
		qs = append(qs, t.queues[c]...)
	}
	return qs
}

// Run calls fn and returns when it does. Meanwhile the calling goroutine, and
// what it starts, counts as the controller's: its tickers and timers, and its
// workers while they are in no sync. Construct the controller inside another
// Run if its constructor starts goroutines that write.
func (t *Tap) Run(ctx context.Context, controller string, fn func(context.Context)) {
	r := &root{controller: controller}
	r.labels = []label{{labelController, controller}}
	r.tap, r.source = t, r
	defer t.leave(t.enter(&r.frame))
	// What ends holds no write up any more, whether it has queues or not.
	defer context.AfterFunc(ctx, func() { t.breaks.end(controller) })()
	fn(ctx)
}

// root is the frame of a controller's goroutines that work on no key.
type root struct {
	frame
	controller string
}

func (r *root) cause() state.Cause {
	return state.Cause{Kind: state.CauseTimer, Controller: r.controller}
}

// Cause returns why the calling goroutine does what it does:
//
//   - CauseSync within a sync, from Get to Done, and on goroutines started in it;
//   - CauseEvent within a wrapped event handler, and on goroutines started in it;
//   - CauseTimer on the other goroutines that stem from a Run;
//   - CauseUnknown anywhere else, such as in a function run by time.AfterFunc.
func (t *Tap) Cause() state.Cause {
	if f := t.current(); f != nil {
		return f.source.cause()
	}
	return state.Cause{Kind: state.CauseUnknown}
}

// CountWrite adds one to the writes of the sync that cause names, until that
// sync is over. It does nothing for other causes.
func (t *Tap) CountWrite(cause state.Cause) {
	if r := t.running(cause); r != nil {
		r.writes.Add(1)
	}
}

// running returns the sync that cause names, nil for another cause or if the
// sync is over.
func (t *Tap) running(cause state.Cause) *running {
	if cause.Kind != state.CauseSync {
		return nil
	}
	if r := t.sync(); r != nil && r.number == cause.Sync {
		return r
	}
	if q, err := t.find(cause.Controller, cause.Queue); err == nil {
		return q.running(cause.Sync)
	}
	return nil
}

// Report marks the sync that the calling goroutine is in as failed with err.
// The first report gives the sync its error, later ones are counted. It does
// nothing outside a sync or without an error. The text of an error about a
// Secret is not recorded; see WithholdErrors too.
func (t *Tap) Report(err error) {
	if err == nil {
		return
	}
	if r := t.sync(); r != nil {
		r.report(err)
	}
}

// sync returns the sync that the calling goroutine is in.
func (t *Tap) sync() *running {
	if f := t.current(); f != nil {
		r, _ := f.source.(*running)
		return r
	}
	return nil
}

// signal counts changes and wakes those who wait for one. It is given while
// what changed is still locked, so who sees the change sees it counted.
type signal struct {
	count atomic.Uint64
	armed atomic.Bool
	mu    sync.Mutex
	ch    chan struct{}
}

func (s *signal) wait() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch == nil {
		s.ch = make(chan struct{})
		s.armed.Store(true)
	}
	return s.ch
}

func (s *signal) notify() {
	s.count.Add(1)
	if !s.armed.Load() {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ch != nil {
		close(s.ch)
		s.ch = nil
		s.armed.Store(false)
	}
}
