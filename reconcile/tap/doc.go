// Package tap shows what an embedded controller does with each key, without
// changing a line of it.
//
// A controller of kube-controller-manager is built by its exported constructor
// and then run. In between, a Tap is put into four places:
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
// A controller keeps its work queue in an unexported field of interface type.
// Attach replaces the value of that field by a decorator. The original stays
// the queue: its FIFO order, its marks for dirty and processing keys, its
// metrics and its rate limiter are upstream's. The decorator adds a lock
// around it, so that what it records is what happened, and it owns two things:
// the heap of delayed keys, because the original one cannot be read, and the
// decision when Get lets a key through, because that is where a controller can
// be paused, and where a filter lets some keys through and holds the others
// back (LetThrough). Where the key's type is unexported too, a mirror type of
// equal layout stands in for it; Attach compares the two and refuses what
// differs.
//
// This package is mechanism. Which fields of which controllers hold queues, and
// what their keys are, is in the descriptors of reconcile/controllers.
//
// # Causes
//
// The cause of a queue addition or a write is read off the goroutine that
// makes it. Get labels the worker's goroutine with the sync that begins, a
// wrapped event handler labels the goroutine of its listener with the event,
// Run labels a controller's own goroutine; a goroutine inherits the labels of
// the one that started it. So attribution is exact under concurrency and for
// the children of a sync, also for those that outlive it. It ends where
// upstream goes through a channel or a timer's function: what tainteviction's
// workers and every controller's event broadcaster write counts as the
// controller's (timer), what a time.AfterFunc does as unknown.
//
// The labels are also pprof labels: a goroutine or CPU profile of this process
// shows them. Sync numbers are left out there, they would make every sample a
// group of its own.
//
// # Pausing and breakpoints
//
// Pause keeps the workers of a controller at their next Get; its informers go on
// and its keys gather. Break makes a controller pause by itself: when a worker
// asks for a key that matches a pattern, which is then the next to be handed out,
// or before a write, which then waits on its own goroutine in BeforeWrite. In
// both cases the whole controller is paused: workers that are in a sync go on
// until they are at a Get, or at a write that the breakpoint stops too. A write
// made in an informer's handler holds that handler up as well, and no other.
//
// Step lets one key or one write go, Resume all of a controller. What is held
// ends with its request's context, and with its controller: ShutDown of a queue,
// or the end of Run's context, lets the writes fail that are held.
//
// # Locks
//
// Every queue has one lock. The Recorder is called with it held, which gives
// the events of a queue their order; so a Recorder must not call back into the
// Tap. Pausing takes one lock for all queues before those, breakpoints have one
// that is taken after them. A Tap has no goroutine of its own but one per informer, until the
// informer's first list is delivered or Close is called; the delayed keys hang
// on one timer per queue, which ends with the queue's ShutDown.
package tap
