// Package informers runs the informers of what is on the screen, with no loop
// behind them. A Set belongs to one API server; Open gives a Handle on one type,
// and the informer ends a while after its last Handle was closed.
//
// Each is client-go's own SharedIndexInformer: reflector, RealFIFO, indexer,
// one handler. Its ListerWatcher is wrapped, and the wrapper is where the rest
// comes from:
//
//   - First rows. A reflector gathers the whole of a list before anything of it
//     reaches a handler. The wrapper puts what passes into the index at once, so
//     that it can be shown while the rest arrives. A first page of 100 is asked
//     for beside it: it comes at once, and tells how many there are. Until
//     the informer has synced such rows are provisional; Window.Synced says so.
//   - Facts: the time of the last event and of the last bookmark, the lists and
//     watches begun, why the last watch ended.
//   - Gaps. A list after the first one means that events may have been missed. It
//     is recorded as a Gap, whatever the reason. A server whose versions went back,
//     as after a restore of etcd, is listed anew: no watch would tell what is gone.
//   - Refusals. What the user may not list or watch is tried again after 2
//     seconds, then after twice as long up to 5 minutes: one request each time.
//   - Loss of the server. A request without an answer is repeated by the wrapper,
//     so that it does not count for the reflector's own back-off. That a version
//     has expired, which a restarted kube-apiserver answers, does: 0.8 seconds
//     at first, up to 60 where servers restart again and again within two minutes.
//     One probe for all informers asks whether the server is back,
//     at once, then every 2 seconds, after a minute every 5; they wait behind
//     it, and go on when it is ready. Set.Contact tells of it.
//
// # Reading
//
// Handle.Window gives n rows at an offset of a filtered and sorted view. It costs
// as much as the rows it gives, times the logarithm of the number of objects. The
// view by namespace and name is kept always; every other one is built in the
// background when it is first asked for, and kept up to date event by event. Rows
// come while it is built. The last few views are kept, so that going back costs
// nothing.
//
// Objects are not copied: index and views point to those of the informer's own
// store, 80 bytes each and 8 for each view. Whatever is given out is a copy, with
// Secret values hidden. Of Secrets only metadata is held unless the caller wants
// more, and then with the values hidden before they reach the store; comparing
// such an object says nothing of its values but by its resourceVersion.
//
// Text is the cluster's: whoever prints a Row, a reason or an object sanitises it.
package informers
