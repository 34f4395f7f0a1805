package tap

import (
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
