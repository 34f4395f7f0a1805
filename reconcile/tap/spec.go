package tap

import (
	"fmt"
	"reflect"
)

// Spec says where a controller keeps one queue and how to name its keys. Make
// one with Strings or Of.
type Spec struct {
	name     string
	paths    []string
	periodic bool
	tells    bool
	late     bool
	lingers  bool
	// fits reports whether the queue in a field may be replaced by a decorator. It
	// changes nothing; attach and share are called when it found nothing amiss.
	fits   func(f reflect.Value) error
	attach func(t *Tap, controller string, s Spec, f reflect.Value) (tapped, error)
	share  func(q tapped, f reflect.Value) error
}

// Strings is the Spec of a queue whose keys are strings. Path names the field,
// from the target of Attach on: "queue", or "monitor.resourceChanges". The
// fields on the way may be unexported, pointers and interfaces.
func Strings(name, path string) Spec {
	return Of(name, path, func(key string) string { return key })
}

// Of is the Spec of a queue with keys of type K, or of an unexported type with
// the layout of K: fields with the same names, kinds and offsets, of which K
// may leave out the last ones behind a pointer. Describe names a key. It is
// called with the queue locked, at most once while the key is in the queue; it
// must read only what upstream does not change after the key was made.
func Of[K comparable](name, path string, describe func(K) string) Spec {
	return Spec{
		name:  name,
		paths: []string{path},
		fits:  fits[K],
		attach: func(t *Tap, controller string, s Spec, f reflect.Value) (tapped, error) {
			return install(t, controller, s, describe, f)
		},
		share: func(q tapped, f reflect.Value) error {
			own, ok := q.(*queue[K])
			if !ok {
				return fmt.Errorf("tapped with other keys, by a %T", q)
			}
			put[K](own, f)
			return nil
		},
	}
}

// Also names a further field that holds the same queue.
func (s Spec) Also(path string) Spec {
	s.paths = append(s.paths[:len(s.paths):len(s.paths)], path)
	return s
}

// Periodic says that the controller repeats its work by AddRateLimited, after
// a success too: it is neither a failure nor a retry there.
func (s Spec) Periodic() Spec {
	s.periodic = true
	return s
}

// TellsErrors says that the controller logs or hands over the error of every sync
// that fails, and calls AddRateLimited in one that does not, to look again soon:
// that is a retry, and no failure.
func (s Spec) TellsErrors() Spec {
	s.tells = true
	return s
}

// MadeInRun says that the controller makes the queue in Run, before it adds its
// first event handlers and starts its workers. It is attached when the
// controller adds a handler, through its view of the informers.
func (s Spec) MadeInRun() Spec {
	s.late = true
	return s
}

// WorksAfterDone says that the worker calls Done early and goes on with what
// the key stands for: until it calls Get again, its writes count as the key's.
func (s Spec) WorksAfterDone() Spec {
	s.lingers = true
	return s
}

// Name is the queue's name: upstream's own, the one in its metrics.
func (s Spec) Name() string { return s.name }
