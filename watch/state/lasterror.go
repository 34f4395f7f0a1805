package state

import (
	"strings"
	"time"
)

// LastError is the error to show of a controller.
type LastError struct {
	// Text is empty where there has been none.
	Text string
	// Key is the queue's key, or the object of a write; empty where it is the
	// controller's own.
	Key string
	At  time.Time
	// Cleared is when a later success cleared it; zero while it stands.
	Cleared time.Time
}

// Stands reports whether nothing has succeeded since.
func (e LastError) Stands() bool { return e.Text != "" && e.Cleared.IsZero() }

// LastErrorOf is the last error of a controller. Where a later success cleared that,
// and another key in its queues still fails, it is that key's.
func (s *Snapshot) LastErrorOf(c *Controller) LastError {
	last := LastError{Text: c.LastError, Key: c.LastErrorKey, At: c.LastErrorAt, Cleared: c.LastErrorCleared}
	if last.Text == "" || last.Stands() {
		return last
	}
	for q := range s.QueuesOf(c.Name) {
		for k := range s.KeysOf(c.Name, q.Name) {
			stands := k.LastError != "" && k.LastErrorCleared.IsZero()
			if stands && (!last.Stands() || k.LastErrorAt.After(last.At)) {
				last = LastError{Text: k.LastError, Key: k.Key, At: k.LastErrorAt}
			}
		}
	}
	return last
}

// fails notes an error of a controller.
func (c *Controller) fails(text, queue, key string, at time.Time) {
	c.LastError, c.LastErrorQueue, c.LastErrorKey, c.LastErrorAt, c.LastErrorCleared = text, queue, key, at, time.Time{}
}

// succeeds notes that what failed last has succeeded since, if it is the same.
func (c *Controller) succeeds(queue, key string, at time.Time) {
	if c.LastError != "" && c.LastErrorCleared.IsZero() && c.LastErrorQueue == queue && c.LastErrorKey == key {
		c.LastErrorCleared = at
	}
}

// wroteOutside notes what became of a write that no sync made. An Event is told and
// forgotten: that it could not be written hides no other error, and the next one that
// is written clears it.
func (c *Controller) wroteOutside(e WriteFinished, at time.Time) {
	key, ofEvent := e.Object.String(), e.ofEvent()
	before := ofEvent && c.LastErrorQueue == "" && strings.HasPrefix(c.LastErrorKey, "events")
	switch {
	case e.Result == WriteRefused:
	case e.Result != WriteFailed && before:
		c.succeeds("", c.LastErrorKey, at)
	case e.Result != WriteFailed:
		c.succeeds("", key, at)
	case !ofEvent, before, c.LastError == "", !c.LastErrorCleared.IsZero():
		c.fails(e.Message, "", key, at)
	}
}

// ofEvent reports whether a write makes or changes a Kubernetes Event.
func (e WriteFinished) ofEvent() bool {
	return e.Object.Resource == "events" && (e.Object.Group == "" || e.Object.Group == "events.k8s.io") && !strings.HasPrefix(e.Verb, "delete")
}
