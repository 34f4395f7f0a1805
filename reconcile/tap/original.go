package tap

import (
	"fmt"
	"reflect"

	"k8s.io/client-go/util/workqueue"
)

// original is the queue that a decorator stands in front of. It is called
// through the methods of the interface it was found in: with a mirror type for
// K, converting it to another interface would fail, because the original's
// methods speak of the real type.
type original[K comparable] struct {
	add    func(K)
	get    func() (K, bool)
	done   func(K)
	length func() int
	// found is what was in the field. It is kept so that its address, by which
	// Attach knows it, does not come to stand for another queue.
	found any

	shutDown func()
	drain    func()
	ending   func() bool

	// addNow adds at once and, where the queue has such a metric, counts a
	// retry. limiter is nil where the queue has none.
	addNow  func(K)
	limiter workqueue.TypedRateLimiter[K]
}

// flavour tells the three interfaces of package workqueue apart.
type flavour int

const (
	plain    flavour = iota // TypedInterface
	delaying                // TypedDelayingInterface
	limiting                // TypedRateLimitingInterface
)

func flavourOf(t reflect.Type) flavour {
	if _, ok := t.MethodByName("AddRateLimited"); ok {
		return limiting
	}
	if _, ok := t.MethodByName("AddAfter"); ok {
		return delaying
	}
	return plain
}

// keep makes the linker keep every method of a queue and of a rate limiter
// with keys K. It is called with nil. Without it a method that nothing calls
// with this very K is dropped from the program, and the real controller, which
// calls it with the type that K mirrors, would meet "unreachable method
// called".
//
//go:noinline
func keep[K comparable](q workqueue.TypedRateLimitingInterface[K], l workqueue.TypedRateLimiter[K]) {
	if q == nil || l == nil {
		return
	}
	k, _ := q.Get()
	q.Add(k)
	q.AddAfter(k, 0)
	q.AddRateLimited(k)
	q.Forget(k)
	q.NumRequeues(k)
	q.Done(k)
	q.Len()
	q.ShutDown()
	q.ShutDownWithDrain()
	q.ShuttingDown()
	l.When(k)
	l.Forget(k)
	l.NumRequeues(k)
}

// fits compares the queue in field f with one whose keys are of type K, and, where
// it is a rate-limiting queue, what is in it. Of a queue that is not made yet it
// compares the type.
func fits[K comparable](f reflect.Value) error {
	if err := sameQueue[K](f.Type()); err != nil || f.IsNil() {
		return err
	}
	inner, err := innerOf[K](f)
	if err != nil || !inner.IsValid() {
		return err
	}
	_, err = limiterOf[K](f)
	return err
}

// install makes the decorator of the queue in field f, which fits, and puts it there. A
// rate-limiting queue gets it inside as well: whoever else holds a pointer to
// the queue, such as a copy of the controller's struct that its event handlers
// are bound to, reaches the decorator through it.
func install[K comparable](t *Tap, controller string, s Spec, describe func(K) string, f reflect.Value) (tapped, error) {
	keep[K](nil, nil)
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
	put(q, f)
	if inner.IsValid() {
		put(q, inner)
	}
	return q, nil
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
	return inner, sameQueue[K](inner.Type())
}

// sameQueue reports whether queue, an interface type, is one of package workqueue's
// with keys of type K or of K's layout: the same methods, no more and no fewer.
func sameQueue[K comparable](queue reflect.Type) error {
	get, ok := queue.MethodByName("Get")
	if !ok || get.Type.NumOut() != 2 {
		return fmt.Errorf("%v is not a queue", queue)
	}
	key, mirrorKey := get.Type.Out(0), reflect.TypeFor[K]()
	if err := sameMethods(queue, mirrorOf[K](flavourOf(queue)), key, mirrorKey); err != nil {
		return err
	}
	if err := sameLayout(key, mirrorKey, sameName); err != nil {
		return fmt.Errorf("keys of %v: %w", queue, err)
	}
	return nil
}

// mirrorOf is the interface of package workqueue with keys K.
func mirrorOf[K comparable](f flavour) reflect.Type {
	switch f {
	case limiting:
		return reflect.TypeFor[workqueue.TypedRateLimitingInterface[K]]()
	case delaying:
		return reflect.TypeFor[workqueue.TypedDelayingInterface[K]]()
	default:
		return reflect.TypeFor[workqueue.TypedInterface[K]]()
	}
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
	if l.Kind() != reflect.Interface || l.IsNil() || !ok || when.Type.NumIn() != 1 {
		return nil, fmt.Errorf("%v holds no rate limiter", l.Type())
	}
	key, mirrorKey := when.Type.In(0), reflect.TypeFor[K]()
	if err := sameMethods(l.Type(), reflect.TypeFor[workqueue.TypedRateLimiter[K]](), key, mirrorKey); err != nil {
		return nil, err
	}
	if err := sameLayout(key, mirrorKey, sameName); err != nil {
		return nil, fmt.Errorf("keys of %v: %w", l.Type(), err)
	}
	return *at[workqueue.TypedRateLimiter[K]](l), nil
}

// put makes q the value of field f, which fits. Where the field's type has K itself
// this is an ordinary assignment. With a mirror type it is not, but the method
// table is the same: the methods of both interfaces sort alike and pass their
// keys alike.
func put[K comparable](q *queue[K], f reflect.Value) {
	if v := reflect.ValueOf(q); v.Type().Implements(f.Type()) {
		exported(f).Set(v)
		return
	}
	switch flavourOf(f.Type()) {
	case limiting:
		*at[workqueue.TypedRateLimitingInterface[K]](f) = q
	case delaying:
		*at[workqueue.TypedDelayingInterface[K]](f) = q
	default:
		*at[workqueue.TypedInterface[K]](f) = q
	}
}
