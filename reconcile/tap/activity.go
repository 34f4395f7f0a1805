package tap

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

// Activity is what is going on in the controllers tapped, at one moment.
type Activity struct {
	// Ready counts the keys that stand ready to be taken, those of paused
	// controllers included; Processing counts the syncs under way.
	Ready, Processing int
	// Aside counts the keys that a filter holds back. They are at rest.
	Aside int
	// Waiting are the delayed keys, the first due first.
	Waiting []Due
	// HandlersInFlight counts the calls of event handlers under way. An event
	// that an informer has not delivered yet is not in it: see Tap.Seen.
	HandlersInFlight int
	// Unsynced names the informers that have not delivered their first list
	// to every handler, "deployments.apps", sorted. Informers that have ended
	// are left out.
	Unsynced []string
	// Generation rises with every change of the above.
	Generation uint64

	moving []string
}

// Due is a delayed key.
type Due struct {
	Controller, Queue, Key string
	// Due is when the key becomes ready.
	Due time.Time
	// Retries is the count of the rate limiter for the key; 0 for one that is
	// delayed for another reason than a failure.
	Retries int
}

// Moving says in words what is not at rest; it is empty if all is. Delayed
// keys are at rest.
func (a Activity) Moving() []string {
	lines := slices.Clone(a.moving)
	if a.HandlersInFlight > 0 {
		lines = append(lines, fmt.Sprintf("%d events are being handled", a.HandlersInFlight))
	}
	for _, name := range a.Unsynced {
		lines = append(lines, fmt.Sprintf("informer %s has not delivered its first list", name))
	}
	return lines
}

func (a *Activity) atRest() bool {
	return a.Ready == 0 && a.Processing == 0 && a.HandlersInFlight == 0 && len(a.Unsynced) == 0
}

// Activity returns what is going on. If it says that all is at rest, that was
// so everywhere at one moment; otherwise work that moves from one queue to the
// next meanwhile may be counted twice or not at all.
func (t *Tap) Activity() Activity {
	for {
		a := Activity{Generation: t.changed.count.Load()}
		a.Unsynced = t.unsynced()
		a.HandlersInFlight = int(t.handling.Load())
		for _, q := range t.all() {
			q.activity(&a)
		}
		if a.atRest() && a.Generation != t.changed.count.Load() {
			continue // it moved while it was looked at
		}
		slices.SortFunc(a.Waiting, func(x, y Due) int {
			return cmp.Or(x.Due.Compare(y.Due), cmp.Compare(x.Controller, y.Controller),
				cmp.Compare(x.Queue, y.Queue), cmp.Compare(x.Key, y.Key))
		})
		return a
	}
}

// Changed returns a channel that is closed at the next change of Activity.
func (t *Tap) Changed() <-chan struct{} { return t.changed.wait() }

func (q *queue[K]) activity(a *Activity) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if n := q.ready(); n > 0 {
		a.Ready += n
		a.moving = append(a.moving, fmt.Sprintf("%s: %d ready in queue %s", q.controller, n, q.name))
	}
	for _, r := range q.runs {
		a.Processing++
		a.moving = append(a.moving, fmt.Sprintf("%s: %s is being processed", q.controller, r.key))
	}
	a.Aside += q.asides
	for _, e := range q.waiting {
		d := Due{Controller: q.controller, Queue: q.name, Key: e.name, Due: e.due}
		if q.orig.limiter != nil {
			d.Retries = q.retries(e.item)
		}
		a.Waiting = append(a.Waiting, d)
	}
}
