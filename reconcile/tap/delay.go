package tap

import (
	"container/heap"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The values of state.KeyAdded.How.
const (
	byAdd       = "Add"
	byDelay     = "AddAfter"
	byRateLimit = "AddRateLimited"
)

// AddAfter is workqueue.TypedDelayingInterface's: not positive means at once,
// and of several due times of a key the earliest counts. The time is kept
// here, not in the original. Upstream's metric workqueue_retries_total
// therefore counts the addition when it comes due.
func (q *queue[K]) AddAfter(item K, delay time.Duration) {
	q.addAfter(item, delay, byDelay, 0)
}

// AddRateLimited is workqueue.TypedRateLimitingInterface's: AddAfter what the
// original's rate limiter says. Called by the key's own sync it marks that
// sync as failed, unless the queue is periodic or its controller tells what fails.
func (q *queue[K]) AddRateLimited(item K) {
	delay := q.orig.limiter.When(item)
	q.addAfter(item, delay, byRateLimit, q.retries(item))
}

func (q *queue[K]) addAfter(item K, delay time.Duration, how string, retries int) {
	cause, now := q.tap.Cause(), time.Now()
	own := q.tap.sync()
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.tap.changed.notify()
	if q.down {
		return
	}
	e := q.entry(item)
	if how == byRateLimit && !q.periodic && !q.tells && e.run != nil && q.isRetry(e.run, own) {
		e.run.retried.Store(true)
	}
	added := state.KeyAdded{
		Controller: q.controller,
		Queue:      q.name,
		Key:        e.name,
		How:        how,
		Delay:      delay,
		Retries:    retries,
		Merged:     e.ready,
		Cause:      cause,
	}
	if delay <= 0 {
		added.Delay = 0
		q.tap.rec.Record(added)
		q.put(e, q.orig.addNow, now, cause, 1)
		return
	}
	added.Due = now.Add(delay)
	added.Merged = e.index >= 0
	q.tap.rec.Record(added)
	switch {
	case e.index < 0:
		e.due, e.waitCause, e.waitCauses = added.Due, cause, 1
		heap.Push(&q.waiting, e)
	case added.Due.Before(e.due):
		e.due, e.waitCause = added.Due, cause
		e.waitCauses++
		heap.Fix(&q.waiting, e.index)
	default:
		e.waitCauses++
		return
	}
	q.setAlarm(now)
}

// isRetry reports whether a key that is being processed by run is added with back-off by
// that sync, rather than by an event that comes meanwhile. own is the sync of the calling
// goroutine.
func (q *queue[K]) isRetry(run, own *running) bool {
	if q.tap.labelErr != nil {
		return true // whoever adds it: back-off is for failures
	}
	// The second: its worker goes on after Done, or in another goroutine.
	return own != nil && (run == own || own.over.Load())
}

// setAlarm makes the timer fire when the first delayed key comes due.
func (q *queue[K]) setAlarm(now time.Time) {
	if len(q.waiting) == 0 {
		q.alarm = time.Time{}
		if q.timer != nil {
			q.timer.Stop()
		}
		return
	}
	due := q.waiting[0].due
	switch {
	case q.timer == nil:
		q.timer = time.AfterFunc(due.Sub(now), q.fire)
	case !q.alarm.Equal(due):
		q.timer.Reset(due.Sub(now))
	}
	q.alarm = due
}

// fire makes ready what is due. It runs on the timer's goroutine.
func (q *queue[K]) fire() {
	now := time.Now()
	q.mu.Lock()
	defer q.mu.Unlock()
	defer q.tap.changed.notify()
	q.alarm = time.Time{}
	for !q.down && len(q.waiting) > 0 && !q.waiting[0].due.After(now) {
		q.ripen(q.waiting[0], now, q.waiting[0].waitCause)
	}
	q.setAlarm(now)
}

// ripen moves the key of e from the delayed to the ready ones.
func (q *queue[K]) ripen(e *entry[K], now time.Time, cause state.Cause) {
	heap.Remove(&q.waiting, e.index)
	q.tap.rec.Record(state.KeyReady{Controller: q.controller, Queue: q.name, Key: e.name})
	q.put(e, q.orig.addNow, now, cause, e.waitCauses)
	e.waitCause, e.waitCauses = state.Cause{}, 0
}

// dropDelayed forgets the delayed keys, but for their names, and stops the timer.
func (q *queue[K]) dropDelayed() {
	for len(q.waiting) > 0 {
		e := q.waiting[len(q.waiting)-1]
		heap.Remove(&q.waiting, e.index)
		q.undone = append(q.undone, e.name)
		q.release(e)
	}
	if q.timer != nil {
		q.timer.Stop()
	}
}

// delayed is the heap of delayed keys, the first due on top.
type delayed[K comparable] []*entry[K]

func (d delayed[K]) Len() int           { return len(d) }
func (d delayed[K]) Less(i, j int) bool { return d[i].due.Before(d[j].due) }

func (d delayed[K]) Swap(i, j int) {
	d[i], d[j] = d[j], d[i]
	d[i].index, d[j].index = i, j
}

func (d *delayed[K]) Push(x any) {
	e := x.(*entry[K])
	e.index = len(*d)
	*d = append(*d, e)
}

func (d *delayed[K]) Pop() any {
	last := len(*d) - 1
	e := (*d)[last]
	(*d)[last] = nil
	*d = (*d)[:last]
	e.index = -1
	return e
}
