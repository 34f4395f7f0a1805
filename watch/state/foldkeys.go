package state

import (
	"slices"
	"time"
)

// change lets do change a key, and keeps in step what follows from it: the
// depths of its queue and controller, its phase, and the table it is in. A key
// for which there is no room is changed all the same, and is lost.
func (f *folder) change(controller, queue, key string, at time.Time, do func(*Key, *Queue, *Controller)) {
	c, q := f.controller(controller), f.queue(controller, queue)
	k, kept := f.key(controller, queue, key)
	if kept {
		c.Now.add(k, -1)
		q.add(k, -1)
	}
	do(k, q, c)
	if !kept {
		return
	}
	c.Now.add(k, +1)
	q.add(k, +1)
	if phase := k.phase(); phase != k.Phase && (phase != PhaseDone || k.Phase != PhaseDropped) {
		k.Phase, k.Since = phase, at
		if phase == PhaseProcessing {
			k.Since = k.taken // which is earlier if it was dirty meanwhile
		}
	}
	if k.Phase == PhaseDone || k.Phase == PhaseDropped {
		f.retire(k)
	}
}

// key gives a live key that may be changed, bringing it back from the done
// ones if it is there; false where the table of live keys is full.
func (f *folder) key(controller, queue, key string) (*Key, bool) {
	controller, queue, key = f.name(controller), f.name(queue), f.name(key)
	id := KeyID(controller, queue, key)
	live, isLive := f.s.Keys.Get(id)
	k := f.keys[id]
	if isLive && k != nil {
		return k, true
	}
	done, isDone := f.s.Done.Get(id)
	if k == nil {
		k = &Key{Controller: controller, Queue: queue, Key: key}
		switch {
		case isLive:
			*k = *live
		case isDone:
			*k = *done
		}
	}
	if !f.s.Keys.set(id, k, f.s.Limits.Keys) {
		return &Key{Controller: controller, Queue: queue, Key: key}, false
	}
	f.keys[id] = k
	if isDone {
		f.s.Done.delete(id)
		f.s.order.remove(k.place)
	}
	return k, true
}

// live reports whether a key is ready, waiting or processing.
func (f *folder) live(controller, queue, key string) bool {
	_, ok := f.s.Keys.Get(KeyID(f.name(controller), f.name(queue), f.name(key)))
	return ok
}

// retire moves a key from the live ones to the done ones.
func (f *folder) retire(k *Key) {
	id := KeyID(k.Controller, k.Queue, k.Key)
	f.s.Keys.delete(id)
	place, oldest, evicted := f.s.order.push(id, f.s.Limits.Done)
	k.place = place
	f.s.Done.set(id, k, f.s.Limits.Done+1)
	if evicted {
		f.s.Done.delete(oldest)
		delete(f.keys, oldest)
	}
}

func (f *folder) keyAdded(e KeyAdded, at time.Time) {
	f.change(e.Controller, e.Queue, e.Key, at, func(k *Key, q *Queue, c *Controller) {
		c.Adds++
		q.Adds++
		q.LastAdd = at
		if e.How == "AddRateLimited" {
			c.Retries++
			q.Retries++
			k.Retries = e.Retries
		}
		due := e.Due
		if due.IsZero() && e.Delay > 0 {
			due = at.Add(e.Delay)
		}
		k.Causes++
		this := addition{e.Cause, at}
		switch {
		case !due.IsZero():
			if k.Due.IsZero() || due.Before(k.Due) {
				k.Due, k.delayed = due, this
			}
			if !k.ready && !k.dirty {
				k.because(k.delayed)
			}
		case k.processing && !k.dirty:
			k.dirty = true
			k.because(this)
		case !k.processing && !k.ready:
			k.ready = true
			k.because(this)
		}
	})
}

func (f *folder) queueStalled(e QueueStalled) {
	q := f.queue(e.Controller, e.Queue)
	e.Controller, e.Queue, e.Key = q.Controller, q.Name, f.name(e.Key)
	f.setStalled(q, &e)
}

// setStalled keeps a queue's row and the table of stalled queues in step.
func (f *folder) setStalled(q *Queue, e *QueueStalled) {
	id := QueueID(q.Controller, q.Name)
	if e == nil || e.Resumed {
		q.Stalled = nil
		f.s.stalled.delete(id)
		return
	}
	q.Stalled = e
	if _, kept := f.queues[id]; kept {
		f.s.stalled.set(id, e, f.s.Limits.Queues)
	}
}

func (k *Key) because(a addition) { k.Cause, k.Added = a.cause, a.at }

func (f *folder) keyReady(e KeyReady, at time.Time) {
	if !f.live(e.Controller, e.Queue, e.Key) {
		return
	}
	f.change(e.Controller, e.Queue, e.Key, at, func(k *Key, _ *Queue, _ *Controller) {
		if k.Due.IsZero() {
			return
		}
		k.Due = time.Time{}
		if !k.ready && !k.dirty {
			k.because(k.delayed)
		}
		k.ready, k.dirty = !k.processing, k.processing
	})
}

func (f *folder) keyTaken(e KeyTaken, at time.Time) {
	f.taken(e.Controller, e.Queue, e.Key)
	f.change(e.Controller, e.Queue, e.Key, at, func(k *Key, q *Queue, c *Controller) {
		c.Waits.Observe(e.Waited)
		q.Waits.Observe(e.Waited)
		if e.Sync != 0 && (e.Sync <= k.last || (k.processing && e.Sync < k.Sync)) {
			return
		}
		if k.processing {
			// Its end was not told, or will be later: a new phase all the same.
			k.Phase = ""
		}
		k.ready, k.dirty, k.processing = false, false, true
		if !k.Due.After(at) {
			k.Due = time.Time{}
		}
		if e.Cause == (Cause{}) {
			e.Cause = k.Cause
		} else {
			k.Cause = e.Cause
		}
		if e.Causes == 0 {
			e.Causes = k.Causes
		}
		k.Sync, k.running, k.taken, k.Causes = e.Sync, e, at, 0
	})
}

func (f *folder) keyFinished(e KeyFinished, at time.Time) {
	e.Error = f.text(e.Error)
	f.change(e.Controller, e.Queue, e.Key, at, func(k *Key, q *Queue, c *Controller) {
		done := &Sync{
			Number: e.Sync, Controller: k.Controller, Queue: k.Queue, Key: k.Key,
			Taken: at.Add(-e.Duration), Finished: at, Duration: e.Duration,
			Failed: e.Failed, Error: e.Error, Writes: e.Writes, Dirty: e.Dirty,
			Retries: k.Retries, RetryDue: k.Due,
		}
		switch {
		case k.processing && (e.Sync == k.Sync || e.Sync == 0):
			done.Number, done.Taken, done.Waited = k.Sync, k.taken, k.running.Waited
			done.Cause, done.Causes = k.running.Cause, k.running.Causes
			k.finish(e.Dirty)
		case e.Sync > max(k.Sync, k.last):
			k.finish(e.Dirty)
		}
		k.last = max(k.last, e.Sync)
		k.Syncs++
		k.Attempts = append(slices.Clone(k.Attempts[max(0, len(k.Attempts)+1-f.s.Limits.Attempts):]), done)
		f.s.Syncs.push(done, f.s.Limits.Syncs)

		c.Syncs++
		q.Syncs++
		c.Durations.Observe(e.Duration)
		q.Durations.Observe(e.Duration)
		c.LastSync = at
		if e.Failed {
			c.Errors++
			q.Errors++
			c.fails(e.Error, k.Queue, k.Key, at)
			k.LastError, k.LastErrorAt, k.LastErrorCleared = e.Error, at, time.Time{}
			return
		}
		c.succeeds(k.Queue, k.Key, at)
		if k.LastError != "" && k.LastErrorCleared.IsZero() {
			k.LastErrorCleared = at
		}
	})
}

// finish ends the running sync. Dirty is the worker's word on whether the key
// was added again meanwhile.
func (k *Key) finish(dirty bool) {
	if !dirty && !k.Due.IsZero() {
		k.because(k.delayed)
	}
	k.processing, k.dirty, k.ready = false, false, dirty
	k.Sync, k.running, k.taken = 0, KeyTaken{}, time.Time{}
}

func (f *folder) keyForgotten(e KeyForgotten, at time.Time) {
	if f.live(e.Controller, e.Queue, e.Key) {
		f.change(e.Controller, e.Queue, e.Key, at, func(k *Key, _ *Queue, _ *Controller) { k.Retries = 0 })
	}
}

func (f *folder) keyDropped(e KeyDropped, at time.Time) {
	if !f.live(e.Controller, e.Queue, e.Key) {
		return
	}
	f.change(e.Controller, e.Queue, e.Key, at, func(k *Key, _ *Queue, _ *Controller) {
		k.ready, k.dirty, k.Due, k.Retries = false, false, time.Time{}, 0
		if !k.processing {
			k.Phase, k.Since = PhaseDropped, at
		}
	})
}
