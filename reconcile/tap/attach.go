package tap

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Attach decorates the queues of a controller. Target is a pointer to its
// struct; it is between its constructor and Run, so that nobody uses its
// queues meanwhile. An original that is attached already, through another
// field or another target, gets the same decorator there.
//
// Each field is compared with what its Spec says before anything is replaced: that it
// is there, the method set of its interface, the layout of its keys. What differs is an
// error, never a panic. After an error the queues before it are tapped and that one is
// as it was: the controller works, and may be run.
func (t *Tap) Attach(controller string, target any, specs ...Spec) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("attach to %s: %w", controller, err)
		}
	}()
	// The structs that are looked into are not ours: what was not expected in them
	// keeps one controller from being observed, not the program from running.
	defer unexpected(&err)
	if v := reflect.ValueOf(target); v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("%T is not a pointer to a controller", target)
	}
	for _, s := range specs {
		if s.late {
			if err := t.attachLater(controller, target, s); err != nil {
				return fmt.Errorf("queue %s: %w", s.name, err)
			}
			continue
		}
		if err := t.attach(controller, target, s); err != nil {
			return fmt.Errorf("queue %s: %w", s.name, err)
		}
	}
	return nil
}

// later is a queue that did not exist at Attach.
type later struct {
	controller string
	target     any
	spec       Spec
}

func (t *Tap) attachLater(controller string, target any, s Spec) error {
	for _, path := range s.paths {
		f, err := field(target, path)
		if err != nil {
			return err
		}
		if err := s.fits(f); err != nil {
			return fmt.Errorf("field %s of %T: %w", path, target, err)
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.later = append(t.later, later{controller, target, s})
	t.waitsForQueue.Store(true)
	return nil
}

// attachNow attaches the queues that a controller has made by now. It is
// called on a goroutine of the controller, when it adds an event handler.
func (t *Tap) attachNow(controller string) {
	if !t.waitsForQueue.Load() {
		return
	}
	t.mu.Lock()
	var mine []later
	t.later = slices.DeleteFunc(t.later, func(l later) bool {
		f, err := field(l.target, l.spec.paths[0])
		if l.controller != controller || err == nil && f.IsNil() {
			return false
		}
		mine = append(mine, l)
		return true
	})
	t.waitsForQueue.Store(len(t.later) > 0)
	t.mu.Unlock()
	for _, l := range mine {
		if err := t.attachLate(l); err != nil {
			t.rec.Record(state.Note{
				Source:  controller,
				Text:    fmt.Sprintf("queue %s is not observed: %v", l.spec.name, err),
				Warning: true,
			})
		}
	}
}

func (t *Tap) attachLate(l later) (err error) {
	defer unexpected(&err)
	return t.attach(l.controller, l.target, l.spec)
}

func (t *Tap) attach(controller string, target any, s Spec) error {
	fields := make([]reflect.Value, len(s.paths))
	for i, path := range s.paths {
		f, err := field(target, path)
		if err != nil {
			return err
		}
		if f.Kind() != reflect.Interface || f.IsNil() || f.Elem().Kind() != reflect.Pointer {
			return fmt.Errorf("field %s of %T holds no queue", path, target)
		}
		if i > 0 && f.Elem().Pointer() != fields[0].Elem().Pointer() {
			return fmt.Errorf("fields %s and %s of %T hold different queues", s.paths[0], path, target)
		}
		if err := s.fits(f); err != nil {
			return fmt.Errorf("field %s of %T: %w", path, target, err)
		}
		fields[i] = f
	}
	// The address identifies the original for good: its decorator holds it.
	original := fields[0].Elem().Pointer()

	t.mu.Lock()
	defer t.mu.Unlock()
	q := t.installed[original]
	if q == nil {
		for _, other := range t.installed {
			if reflect.ValueOf(other).Pointer() == original {
				return errors.New("already attached")
			}
		}
		var err error
		if q, err = s.attach(t, controller, s, fields[0]); err != nil {
			return err
		}
		if t.resting[controller] {
			q.pause(true)
		}
		t.installed[original] = q
		t.queues[controller] = append(t.queues[controller], q)
		fields = fields[1:]
	}
	for _, f := range fields {
		if err := s.share(q, f); err != nil {
			return err
		}
	}
	return nil
}
