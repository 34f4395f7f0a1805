// Package informers runs the informers behind the TUI's caches, without a controller. A
// Set belongs to one API server; Open returns a Handle on one type, and the informer
// stops some time after its last Handle was closed.
//
// Each is client-go's own SharedIndexInformer: reflector, RealFIFO, indexer, one
// handler. A wrapper around its ListerWatcher adds the rest:
//
//   - First rows. A reflector collects a complete list before any of it reaches a handler. The wrapper adds the objects to the index as they arrive, so that they can be displayed early. It also requests a first page of 100, which arrives at once and contains the total. Such rows are provisional until the informer has synced; see Window.Synced.
//   - Facts: the time of the last event and of the last bookmark, the lists and watches started, why the last watch was closed.
//   - Gaps. A list after the first one means that events may have been missed. It is recorded as a Gap, whatever the reason. If the server's resourceVersion regresses, as after a restore of etcd, the informer relists, because no watch would report deleted objects.
//   - Rejections. What the user cannot list or watch is retried after 2 seconds, then with exponential backoff up to 5 minutes: one request each time.
//   - Unreachable servers. The wrapper repeats a request without a response, so that it does not count for the reflector's own backoff. An expired resourceVersion, which a restarted kube-apiserver returns, does count: 0.8 seconds at first, up to 60 if servers restart repeatedly within two minutes. One probe for all informers checks whether the server is reachable again, at once, then every 2 seconds, after a minute every 5; informers wait for it. Set.Contact reports it.
//
// # Reading
//
// Handle.Window returns n rows at an offset of a filtered and sorted view. Its cost is
// that of the returned rows, times the logarithm of the number of objects. The view by
// namespace and name always exists; other views are built in the background when first
// requested, and updated with every event. Rows are returned while a view is built. The
// last few views are kept, so that returning to them is free.
//
// Objects are not copied: index and views reference those of the informer's store, with
// 80 bytes each and 8 per view. Returned objects are copies with hidden Secret values.
// Of Secrets, only metadata is stored, unless the caller requests more; then their
// values are hidden before they reach the store, so that comparisons of such objects
// can only rely on the resourceVersion.
//
// Text comes from the cluster: whoever prints a Row, a reason or an object sanitises
// it.
package informers
