package tap

import (
	"errors"
	"fmt"
	"reflect"
	"slices"

	"k8s.io/client-go/util/workqueue"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
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
	attach   func(t *Tap, controller string, s Spec, f reflect.Value) (tapped, error)
	share    func(q tapped, f reflect.Value) error
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
		attach: func(t *Tap, controller string, s Spec, f reflect.Value) (tapped, error) {
			return install(t, controller, s, describe, f)
		},
		share: func(q tapped, f reflect.Value) error {
			own, ok := q.(*queue[K])
			if !ok {
				return fmt.Errorf("tapped with other keys, by a %T", q)
			}
			return put[K](own, f)
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

// Paths are the fields that hold the queue.
func (s Spec) Paths() []string { return s.paths }

// Attach decorates the queues of a controller. Target is a pointer to its
// struct; it is between its constructor and Run, so that nobody uses its
// queues meanwhile. An original that is attached already, through another
// field or another target, gets the same decorator there. After an error the
// queues before it are tapped and that one is as it was.
func (t *Tap) Attach(controller string, target any, specs ...Spec) error {
	if t.labelErr != nil {
		return fmt.Errorf("attach to %s: %w", controller, t.labelErr)
	}
	if v := reflect.ValueOf(target); v.Kind() != reflect.Pointer || v.IsNil() {
		return fmt.Errorf("attach to %s: %T is not a pointer to a controller", controller, target)
	}
	for _, s := range specs {
		if s.late {
			t.attachLater(controller, target, s)
			continue
		}
		if err := t.attach(controller, target, s); err != nil {
			return fmt.Errorf("attach to queue %s of %s: %w", s.name, controller, err)
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

func (t *Tap) attachLater(controller string, target any, s Spec) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.later = append(t.later, later{controller, target, s})
	t.waitsForQueue.Store(true)
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
		if err := t.attach(controller, l.target, l.spec); err != nil {
			t.rec.Record(state.Note{
				Source:  controller,
				Text:    fmt.Sprintf("queue %s is not observed: %v", l.spec.name, err),
				Warning: true,
			})
		}
	}
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

// install makes the decorator of the queue in field f and puts it there. A
// rate-limiting queue gets it inside as well: whoever else holds a pointer to
// the queue, such as a copy of the controller's struct that its event handlers
// are bound to, reaches the decorator through it.
func install[K comparable](t *Tap, controller string, s Spec, describe func(K) string, f reflect.Value) (tapped, error) {
	keep[K](nil, nil)
	if err := sameKeys[K](f.Type()); err != nil {
		return nil, err
	}
	inner, err := innerOf[K](f)
	if err != nil {
		return nil, err
	}
	orig, err := originalOf[K](f, inner)
	if err != nil {
		return nil, err
	}
	orig.found = exported(f).Interface()
	q := newQueue(t, controller, s, describe, orig)
	if err := put(q, f); err != nil || !inner.IsValid() {
		return q, err
	}
	return q, put(q, inner)
}

// innerOf returns the field in which a rate-limiting queue, a rateLimitingType
// of client-go@v0.37.1 util/workqueue, holds the delaying queue that does all
// but the limiting. It is the zero Value for the other flavours, whose methods
// are their own. The delaying queue's TypedInterface is no such place: its
// waitingLoop reads that field from the constructor on.
func innerOf[K comparable](f reflect.Value) (reflect.Value, error) {
	if flavourOf(f.Type()) != limiting {
		return reflect.Value{}, nil
	}
	inner, err := field(exported(f).Interface(), "TypedDelayingInterface")
	if err != nil {
		return reflect.Value{}, err
	}
	if inner.Kind() != reflect.Interface || inner.IsNil() || flavourOf(inner.Type()) != delaying {
		return reflect.Value{}, fmt.Errorf("%v holds no delaying queue", inner.Type())
	}
	return inner, sameKeys[K](inner.Type())
}

// sameKeys reports whether queue, an interface type, has keys of type K or of
// K's layout.
func sameKeys[K comparable](queue reflect.Type) error {
	get, ok := queue.MethodByName("Get")
	if !ok || get.Type.NumOut() != 2 {
		return fmt.Errorf("%v is no queue", queue)
	}
	if err := sameLayout(get.Type.Out(0), reflect.TypeFor[K](), sameName); err != nil {
		return fmt.Errorf("keys of %v: %w", queue, err)
	}
	return nil
}

// originalOf reads the queue in field f, or in inner where it has one, as one
// with keys of type K.
func originalOf[K comparable](f, inner reflect.Value) (original[K], error) {
	switch flavourOf(f.Type()) {
	case limiting:
		q := *at[workqueue.TypedDelayingInterface[K]](inner)
		l, err := limiterOf[K](f)
		if err != nil {
			return original[K]{}, err
		}
		return original[K]{
			add: q.Add, get: q.Get, done: q.Done, length: q.Len,
			shutDown: q.ShutDown, drain: q.ShutDownWithDrain, ending: q.ShuttingDown,
			addNow: func(k K) { q.AddAfter(k, 0) }, limiter: l,
		}, nil
	case delaying:
		q := *at[workqueue.TypedDelayingInterface[K]](f)
		return original[K]{
			add: q.Add, get: q.Get, done: q.Done, length: q.Len,
			shutDown: q.ShutDown, drain: q.ShutDownWithDrain, ending: q.ShuttingDown,
			addNow: func(k K) { q.AddAfter(k, 0) },
		}, nil
	default:
		q := *at[workqueue.TypedInterface[K]](f)
		return original[K]{
			add: q.Add, get: q.Get, done: q.Done, length: q.Len,
			shutDown: q.ShutDown, drain: q.ShutDownWithDrain, ending: q.ShuttingDown,
			addNow: q.Add,
		}, nil
	}
}

// limiterOf takes the rate limiter out of the queue in field f, which is a
// rateLimitingType of client-go@v0.37.1 util/workqueue. It is the only one who
// knows when a key is due.
func limiterOf[K comparable](f reflect.Value) (workqueue.TypedRateLimiter[K], error) {
	l, err := field(exported(f).Interface(), "rateLimiter")
	if err != nil {
		return nil, err
	}
	when, ok := l.Type().MethodByName("When")
	if l.Kind() != reflect.Interface || l.IsNil() || !ok || l.NumMethod() != 3 {
		return nil, fmt.Errorf("%v holds no rate limiter", l.Type())
	}
	if err := sameLayout(when.Type.In(0), reflect.TypeFor[K](), sameName); err != nil {
		return nil, fmt.Errorf("keys of %v: %w", l.Type(), err)
	}
	return *at[workqueue.TypedRateLimiter[K]](l), nil
}

// put makes q the value of field f. Where the field's type has K itself this
// is an ordinary assignment. With a mirror type it is not, but the method
// table is the same: the methods of both interfaces sort alike and pass their
// keys alike.
func put[K comparable](q *queue[K], f reflect.Value) error {
	if v := reflect.ValueOf(q); v.Type().Implements(f.Type()) {
		exported(f).Set(v)
		return nil
	}
	if err := sameKeys[K](f.Type()); err != nil {
		return err
	}
	switch flavourOf(f.Type()) {
	case limiting:
		*at[workqueue.TypedRateLimitingInterface[K]](f) = q
	case delaying:
		*at[workqueue.TypedDelayingInterface[K]](f) = q
	default:
		*at[workqueue.TypedInterface[K]](f) = q
	}
	return nil
}
