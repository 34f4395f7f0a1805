// Package tap observes what an embedded controller does with each key, without changes to
// the code of the controller.
//
// A controller of kube-controller-manager is built by its exported constructor and then run.
// In between, a Tap is installed in four places:
//
//	t := tap.New(recorder)
//	f := t.Informers(name, factory)          // handlers: which event is handled
//	c, err := deployment.NewDeploymentController(ctx, f.Apps()..., client)
//	err = t.Attach(name, c, tap.Strings("deployment", "queue")) // queues: which key, since when, why
//	ctx = klog.NewContext(ctx, t.Logger(logger)) // log: how a sync failed
//	t.Run(ctx, name, func(ctx context.Context) { c.Run(ctx, workers) })
//
// # Queues
//
// A controller keeps its workqueue in an unexported field of interface type. Attach replaces
// the value of that field by a decorator. The original remains the queue: its FIFO order, its
// marks for dirty and processing keys, its metrics and its rate limiter are upstream's. The
// decorator adds a lock around it, so that the records have the real order. It owns two
// things: the heap of delayed keys, because that of the original cannot be read, and the
// decision when Get returns a key. There a controller can be paused, and a filter can pass
// some keys and hold the others (LetThrough). If the key's type is unexported too, a mirror
// type with the same layout replaces it; Attach compares the two and refuses a mismatch.
//
// This package is mechanism. The descriptors of reconcile/controllers define which fields of
// which controllers hold queues, and the types of their keys.
//
// # Causes
//
// The cause of an add or a write is read from the goroutine that makes it. Get labels the
// worker's goroutine with the sync that begins, a wrapped event handler labels the goroutine
// of its listener with the event, Run labels a controller's own goroutine; a goroutine
// inherits the labels of the one that started it. So attribution is exact under concurrency
// and for the child goroutines of a sync, also for those that outlive it. It ends where
// upstream uses a channel or a timer function: writes of tainteviction's workers and of every
// controller's event broadcaster are attributed to the controller (timer), those of a
// time.AfterFunc are unknown.
//
// The labels are also pprof labels: a goroutine or CPU profile of this process shows them.
// Sync numbers are left out there, because every sample would be a group of its own.
//
// # Pausing and breakpoints
//
// Pause holds the workers of a controller at their next Get; its informers continue and its
// keys accumulate. Break makes a controller pause by itself: before a worker dequeues a key
// that matches a pattern, which is then the next to be dequeued, or before a write, which then
// waits on its own goroutine in BeforeWrite. In both cases the whole controller is paused:
// workers that are in a sync continue until their next Get, or until a write that the
// breakpoint holds too. A write in a handler of an informer blocks that handler, and no other.
//
// Step releases one key or one write, Resume all of a controller. A hold ends with the context
// of its request, and with its controller: after ShutDown of a queue, or the end of Run's
// context, held writes fail.
//
// # Locks
//
// Every queue has one lock. The Recorder is called with it held, which determines the order of
// the events of a queue; so a Recorder must not call back into the Tap. Pausing acquires one
// lock for all queues before those, breakpoints have one that is acquired after them. A Tap has
// no goroutine of its own except one per informer, until the informer's first list is delivered
// or Close is called; the delayed keys use one timer per queue, which ends with the queue's
// ShutDown.
package tap
