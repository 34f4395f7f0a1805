package nodes

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/klog/v2"
	"k8s.io/utils/clock"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate/internal/seen"
)

// soon separates work from timers: a stage that is due later (a heartbeat) does not
// make its object busy.
const soon = 5 * time.Second

// player applies kwok's stages to the objects of one type. It checks every change of an
// object: the matching stage is applied, which changes the object and so triggers the
// next check; an object that matches no stage is idle.
type player[T metav1.Object] struct {
	kind     string // "pod", for messages
	stages   lifecycle.Lifecycle
	renderer gotpl.Renderer
	clock    clock.WithTicker

	// get reads the informer's store; the object is shared and not to be changed.
	get func(key string) (T, bool)
	// idle reports whether an object needs no work, regardless of the stages.
	idle func(T) bool
	// patch and remove apply a stage. patch returns the changed object.
	patch  func(context.Context, T, *lifecycle.Patch) (T, error)
	remove func(context.Context, T) error
	// warn is called for a failed stage, once for consecutive failures.
	warn func(text string)
	// changed is called when the player becomes busy or idle.
	changed func()

	queue workqueue.TypedRateLimitingInterface[string]

	mu   sync.Mutex
	busy map[string]*work
	// due is when a delayed stage is to be applied. It is kept between checks, because
	// every check would otherwise restart the delay.
	due map[string]appointment
	// written is the resourceVersion after the last stage. An older copy in the store
	// is stale and ignored: applying its stage again would start a pod twice.
	written map[string]string
}

// work is why an object is not idle. generation increases with every event, so that a
// check which started before an event does not clear what the event recorded.
type work struct {
	generation uint64
	reason     string
}

type appointment struct {
	stage string
	at    time.Time
}

func (p *player[T]) init(clock clock.WithTicker) {
	p.clock = clock
	p.queue = workqueue.NewTypedRateLimitingQueueWithConfig(
		workqueue.NewTypedItemExponentialFailureRateLimiter[string](20*time.Millisecond, soon),
		workqueue.TypedRateLimitingQueueConfig[string]{Clock: clock})
	p.busy = map[string]*work{}
	p.due = map[string]appointment{}
	p.written = map[string]string{}
}

// handler records every event as work and adds the object to the queue.
func (p *player[T]) handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    func(obj any) { p.enqueue(obj.(T)) },
		UpdateFunc: func(_, obj any) { p.enqueue(obj.(T)) },
		DeleteFunc: func(obj any) {
			if key, err := cache.DeletionHandlingMetaNamespaceKeyFunc(obj); err == nil {
				p.queue.Add(key) // finds it gone
			}
		},
	}
}

func (p *player[T]) enqueue(obj T) {
	key := cache.MetaObjectToName(obj).String()
	if !p.idle(obj) {
		p.note(key, "queued")
	}
	p.queue.Add(key)
}

// run applies stages until ctx is done, up to that many concurrently.
func (p *player[T]) run(ctx context.Context, workers int) {
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				key, shutdown := p.queue.Get()
				if shutdown {
					return
				}
				p.look(ctx, key)
				p.queue.Done(key)
			}
		})
	}
	<-ctx.Done()
	p.queue.ShutDown()
	wg.Wait()
}

// look applies the stage that matches the object with that key, if any.
func (p *player[T]) look(ctx context.Context, key string) {
	generation := p.generation(key)
	obj, ok := p.get(key)
	if !ok {
		p.forget(key)
		return
	}
	if p.outdated(key, obj) {
		return // the event of the write arrives and triggers another check
	}
	if p.idle(obj) {
		p.rest(key, generation)
		return
	}
	event := &lifecycle.Event{Labels: obj.GetLabels(), Annotations: obj.GetAnnotations(), Data: obj}
	stage, err := p.stages.Match(ctx, event)
	if err != nil {
		p.retry(ctx, key, "", fmt.Errorf("match stages: %w", err))
		return
	}
	if stage == nil {
		p.rest(key, generation)
		return
	}
	wait, err := p.wait(ctx, key, stage, event)
	if err != nil {
		p.retry(ctx, key, stage.Name(), fmt.Errorf("delay: %w", err))
		return
	}
	if wait > 0 {
		if wait > soon {
			p.rest(key, generation)
		} else {
			p.note(key, fmt.Sprintf("stage %s is due in %s", stage.Name(), wait.Round(time.Millisecond)))
		}
		p.queue.AddAfter(key, wait)
		return
	}
	p.note(key, "stage "+stage.Name()+" is being applied")
	generation = p.generation(key)
	changed, err := p.play(ctx, key, obj, stage)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsConflict(err):
		// Deleted or replaced in the meantime: its event arrives and triggers another
		// check. If it arrived before, this check sees it.
		p.queue.AddAfter(key, 20*time.Millisecond)
		return
	case err != nil:
		p.retry(ctx, key, stage.Name(), err)
		return
	}
	p.queue.Forget(key)
	if changed {
		p.note(key, "stage "+stage.Name()+" was applied, waiting for its watch event")
		return
	}
	p.rest(key, generation)
}

// wait returns the remaining delay of the object's stage.
func (p *player[T]) wait(ctx context.Context, key string, stage *lifecycle.Stage, event *lifecycle.Event) (time.Duration, error) {
	now := p.clock.Now()
	p.mu.Lock()
	date, ok := p.due[key]
	p.mu.Unlock()
	if ok && date.stage == stage.Name() {
		return date.at.Sub(now), nil
	}
	delay, _, err := stage.Delay(ctx, event, now)
	if err != nil {
		return 0, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.due, key)
	if delay > 0 {
		p.due[key] = appointment{stage: stage.Name(), at: now.Add(delay)}
	}
	return delay, nil
}

// play applies a stage and reports whether it changed the object: a patch without
// changes has no event, and its object is idle.
func (p *player[T]) play(ctx context.Context, key string, obj T, stage *lifecycle.Stage) (bool, error) {
	p.mu.Lock()
	delete(p.due, key)
	p.mu.Unlock()
	changed := false
	_, err := stage.DoSteps(0, obj.GetFinalizers(), obj, p.renderer,
		func(*internalversion.StageEvent) error { return nil }, // none of the stages has one
		func() error {
			changed = true
			return p.remove(ctx, obj)
		},
		func(patch *lifecycle.Patch) error {
			after, err := p.patch(ctx, obj, patch)
			if err != nil {
				return err
			}
			if version := after.GetResourceVersion(); version != obj.GetResourceVersion() {
				changed = true
				p.mu.Lock()
				p.written[key] = version
				p.mu.Unlock()
			}
			return nil
		},
		func(*lifecycle.Apply) error {
			return fmt.Errorf("stage %s applies an object, which is not supported", stage.Name())
		})
	return changed, err
}

func (p *player[T]) outdated(key string, obj T) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	version, ok := p.written[key]
	if !ok {
		return false
	}
	if seen.Newer(version, obj.GetResourceVersion()) {
		return true
	}
	delete(p.written, key)
	return false
}

func (p *player[T]) retry(ctx context.Context, key, stage string, err error) {
	if ctx.Err() != nil {
		return
	}
	reason := fmt.Sprintf("stage %s failed: %v", stage, err)
	if p.queue.NumRequeues(key) == 0 {
		klog.FromContext(ctx).Error(err, "Stage failed", p.kind, key, "stage", stage)
		p.warn(p.kind + " " + key + ": " + reason)
	}
	p.note(key, reason)
	p.queue.AddRateLimited(key)
}

func (p *player[T]) note(key, reason string) {
	p.mu.Lock()
	w, ok := p.busy[key]
	if !ok {
		w = &work{}
		p.busy[key] = w
	}
	w.generation++
	w.reason = reason
	p.mu.Unlock()
	if !ok {
		p.changed()
	}
}

func (p *player[T]) generation(key string) uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	if w, ok := p.busy[key]; ok {
		return w.generation
	}
	return 0
}

// rest marks the object as idle, unless an event arrived since generation.
func (p *player[T]) rest(key string, generation uint64) {
	p.mu.Lock()
	w, ok := p.busy[key]
	ok = ok && w.generation == generation
	if ok {
		delete(p.busy, key)
	}
	p.mu.Unlock()
	if ok {
		p.changed()
	}
}

func (p *player[T]) forget(key string) {
	p.queue.Forget(key)
	p.mu.Lock()
	_, ok := p.busy[key]
	delete(p.busy, key)
	delete(p.due, key)
	delete(p.written, key)
	p.mu.Unlock()
	if ok {
		p.changed()
	}
}

// reasons lists why the player is busy, sorted, at most limit reasons and a count of
// the rest.
func (p *player[T]) reasons(limit int) []string {
	p.mu.Lock()
	list := make([]string, 0, len(p.busy))
	for key, w := range p.busy {
		list = append(list, p.kind+" "+key+": "+w.reason)
	}
	p.mu.Unlock()
	slices.Sort(list)
	if more := len(list) - limit; more > 0 {
		list = append(list[:limit], fmt.Sprintf("%d more %ss", more, p.kind))
	}
	return list
}
