package tap

// A Filter says whether a key of a controller's queue may be handed to a
// worker. It is called with the queue locked, on any goroutine that works with
// the queue: it must be quick, and must not call into the Tap.
type Filter func(controller, queue, key string) bool

// LetThrough has Get hand out only the keys that the filter passes, in every
// queue, also of controllers attached later. The others are held back: they
// leave the queue as if they had been processed, and keep the cause for which
// they were added. Work under way goes on, and a key that Step asks for is
// handed out whatever the filter says.
//
// Another call replaces the filter; what was held back and passes now is ready
// again, in no particular order. A nil filter passes everything.
func (t *Tap) LetThrough(pass Filter) {
	if pass == nil {
		t.filter.Store(nil)
	} else {
		t.filter.Store(&pass)
	}
	for _, q := range t.all() {
		q.filterChanged()
	}
}

// passes asks the filter.
func (q *queue[K]) passes(key string) bool {
	pass := q.tap.filter.Load()
	return pass == nil || (*pass)(q.controller, q.name, key)
}

// setAside takes a key out of the original that was just taken from it, and keeps
// what it was added for. It reports whether the key is held back.
func (q *queue[K]) setAside(item K) bool {
	e := q.entry(item)
	if q.passes(e.name) {
		return false
	}
	q.orig.done(item)
	if e.aside {
		// Held before and added again: those additions are one.
		e.causes += e.asideCauses
		e.cause, e.since = e.asideCause, e.asideSince
	} else {
		q.asides++
	}
	e.aside, e.ready = true, false
	e.asideCause, e.asideCauses, e.asideSince = e.cause, e.causes, e.since
	q.tap.changed.notify()
	return true
}

// readmit makes a key that is held back ready again.
func (q *queue[K]) readmit(e *entry[K]) {
	q.notAside(e)
	q.put(e, q.orig.add, e.asideSince, e.asideCause, e.asideCauses)
}

func (q *queue[K]) filterChanged() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, e := range q.entries {
		if e.aside && q.passes(e.name) {
			q.readmit(e)
		}
	}
	q.cond.Broadcast()
	q.tap.changed.notify()
}

// notAside forgets that a key is held back.
func (q *queue[K]) notAside(e *entry[K]) {
	if e.aside {
		e.aside = false
		q.asides--
	}
}
