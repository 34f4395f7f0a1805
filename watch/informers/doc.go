// Package informers runs the informers of the types that the TUI displays, without a
// controller. A Set belongs to one API server; Open returns a Handle on one type, and the
// informer ends some time after its last Handle was closed.
//
// Each is client-go's own SharedIndexInformer: reflector, RealFIFO, indexer, one handler. Its
// ListerWatcher is wrapped, and the wrapper provides the rest:
//
//   - First rows. A reflector collects a whole list before a handler receives anything. The
//     wrapper adds objects to the index as they arrive, so that they can be displayed while
//     the rest of the list is read. In parallel it requests a first page of 100, which arrives
//     at once and contains the total number. Until the informer has synced, such rows are
//     provisional; Window.Synced reports that.
//   - Facts: the time of the last event and of the last bookmark, the lists and watches
//     started, why the last watch ended.
//   - Gaps. A list after the first one means that events may have been missed. It is recorded
//     as a Gap, whatever the reason. If the resourceVersion of a server regresses, as after a
//     restore of etcd, the type is relisted: a watch would not report the objects that are
//     gone.
//   - Refusals. If the user is not permitted to list or watch a type, the request is retried
//     after 2 seconds, then with doubling intervals up to 5 minutes: one request each time.
//   - Unreachable servers. The wrapper repeats a request without a response, so that it does
//     not count for the reflector's own back-off. The answer of a restarted kube-apiserver that
//     a version has expired does count: 0.8 seconds at first, and up to 60 for servers that
//     restart repeatedly within two minutes. One probe for all informers checks whether the
//     server is back: at once, then every 2 seconds, after a minute every 5. The informers wait
//     for it, and continue when the server is ready. Set.Contact reports the state.
//
// # Reading
//
// Handle.Window returns n rows at an offset of a filtered and sorted view. Its cost is that of
// the returned rows, times the logarithm of the number of objects. The view by namespace and
// name always exists; any other view is built in the background when it is first requested,
// and updated event by event. Rows are available while it is built. The last few views are
// kept, so that returning to them costs nothing.
//
// Objects are not copied: index and views point to those of the informer's own store, 80 bytes
// each and 8 for each view. Results are copies, with Secret values redacted. Of Secrets only
// metadata is stored unless the caller requests more, and then the values are redacted before
// they reach the store; comparing such an object shows a change of its values only by its
// resourceVersion.
//
// Text comes from the cluster: the code that prints a Row, a reason or an object sanitises it.
package informers
