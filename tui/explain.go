package tui

// The paragraphs that head the help of each page.
const (
	aboutControllers = `Each row is one control loop of kube-controller-manager. A loop watches objects, and drives what is towards what should be, one key of its queue at a time. DEPTH counts the keys that are ready for a worker, as the metric workqueue_depth does; DELAYED those that wait for a time, such as a back-off or a deadline; IN FLIGHT those with a worker.`
	aboutQueues      = `Each row is a key in the workqueue of a loop: the name of an object that the loop has to look at. A key is ready, with a worker (processing), with a worker and wanted again (dirty), or waits out a delay or a back-off.`
	aboutInformers   = `Each row is the informer of one type: it lists the objects once, watches for changes, and keeps a copy of them all, the cache. Loops read that cache and not the API server, so a stale cache makes them act on the past. SILENT is a watch that brought bookmarks, one a minute, and has brought nothing for three: b asks the server.`
	aboutWrites      = `Each row is a request by which something was to change, newest first: who sent it, for which key, what it did to which object, whether it was real or dry, and what the API server said.`
	aboutTree        = `An object names its owners in metadata.ownerReferences. The garbage collector deletes what has lost its last owner; that is how deleting a Deployment takes its ReplicaSets and Pods along.`
	aboutRevisions   = `A revision is a recorded version of a pod template: a ReplicaSet of a Deployment, a ControllerRevision of a StatefulSet or DaemonSet. Rolling back makes an old one the newest again.`
	aboutLeases      = `A Lease is a record that one process holds and renews. Of several instances of a controller manager the one whose name stands in it acts, the others wait until it has not been renewed for its duration. Where this process stands for election itself, its lease comes first, and above it how the election goes.`
	aboutApprovals   = `Each row is a write that a loop is about to send. The worker that makes it stands still until you answer, and so does its key; the other workers go on. A program behind exec waits likewise, with its request open. A skipped write is answered as by a server with an error inside: the loop takes it for a failure, backs off, and asks again later. What has waited is looked at once more before it leaves, and is not sent where its object has changed so that you would have said yes to something else.`
	aboutTimeline    = `The journal: everything observed, in its order. Follow one object to see cause and effect: an event puts a key in a queue, a worker takes it, the sync writes, the write comes back as an event for the next loop. A Kubernetes Event that is written stands below what had happened last to the object it names, with its reason and message.`
)

// explanation is a paragraph or more about a thing.
type explanation struct{ title, text string }

// explanations are by kind of subject, and by the words that pages put into
// subject.explain.
func explanations() map[string]explanation {
	return map[string]explanation{
		"controller": {"a control loop", `A control loop watches some types of objects. For each change its event handlers put a key, mostly the name of an object, into its workqueue. Its workers take keys and run one sync each: they compare what the caches say with what the object's spec asks for, and write the difference to the API server.

A sync does not get the change that caused it, only the name: it looks at the state as it is now. So many changes to one object cost one sync, and a lost event costs nothing once the next one comes. A sync that fails is tried again with back-off, without end.`},
		"queue": {"a workqueue", `A workqueue holds the keys that a loop must look at. A key stands in it once, however often it is added. While a worker has a key, it is not given to another: an addition meanwhile marks it dirty, and it runs again afterwards. So no two workers ever sync the same object at the same time.

Keys can be added for later: after a fixed delay, or after the rate limiter's back-off, which doubles with each failure.`},
		"key":        {"a key", `A key is the name of an object, "namespace/name", that a loop must look at. It says that something may have changed, not what. This page knows why each key was added: which event of which object, which sync, or which timer.`},
		"ready":      {"a ready key", `A ready key stands in the queue until a worker is free. When many stand here for long, the loop has too few workers (--concurrent-…-syncs) or its syncs wait for the API server (--kube-api-qps).`},
		"processing": {"a key with a worker", `A worker has taken this key: its sync is under way. The goroutine of the sync is labelled with the key, so each write that it makes is counted as its own.`},
		"dirty":      {"a dirty key", `A worker has this key, and it was added again meanwhile. When the worker gives it back it becomes ready at once. That is how a queue makes sure that the last change is always seen, and never by two workers at a time.`},
		"waiting":    {"back-off", `This key waits: after a failure, for the back-off of the rate limiter, or for a delay that the loop asked for ("look again in 30 s"). The back-off begins at 5 ms for most loops and doubles with each failure, up to about 16 minutes. A success makes the loop forget the count. "Retry now" makes the key ready at once; the count stays.`},
		"held": {"a breakpoint", `A breakpoint stopped this key's loop: no worker of it takes a key until you resume it (P). The key that matched stands first in its queue, or a write of its sync waits inside this program and has not been sent; s lets just that one go on.

Only workers stand still. Informers go on, so their caches stay fresh, and keys that are added meanwhile gather in the queue. What a loop does not do for a while it does later: it looks at the state as it is then.`},
		"done":    {"a key that has left", `The last sync of this key is over, and nothing asked for another. It is kept here for its history.`},
		"dropped": {"a dropped key", `You took this key out of its queue. Whatever it was added for is not done until the next event of its object.`},
		"informer": {"an informer", `An informer keeps a copy of all objects of one type, for all loops of a process together. Its Reflector lists them once and then watches for changes from that resourceVersion on. What arrives goes through a queue of deltas (RealFIFO since 1.36; DeltaFIFO, its ancestor, merged the deltas of one object) into the Indexer, the store that loops read through Listers. After the store is changed, each loop's event handlers are called.

When a watch breaks for longer than the API server remembers, the Reflector lists all over again: a relist. The state is right afterwards, but changes in between are never seen; here that is drawn as a gap.

A quiet type gets a bookmark about once a minute, which moves its resourceVersion without a change. So an old resourceVersion alone does not mean that a cache is behind.`},
		"object": {"an object in a cache", `This is what the loops see: the copy in the informer's store, which may be older than what the API server has. metadata.resourceVersion tells versions apart; press d to compare it with a live GET. Controllers must not change objects of the cache, and neither does this program.`},
		"write":  {"a write", `A request by which something was to change. In a dry run the guard answers it in this process, or the API server checks it and does not store it. So the object never shows up in a cache, and loops that count what they created wait for it: a dry run shows the first hop.`},
		"revision": {"a revision", `Deployments keep their versions as ReplicaSets, StatefulSets and DaemonSets as ControllerRevisions: objects that hold the pod template of then. Pods carry the hash of theirs in a label. current is what pods are expected to run where nothing is rolled out, update is what the object asks for now.

An undo does not go back in time: it writes the old template into the object, and the loop rolls forward to it under a new number.`},
		"lease": {"a lease", `The holder writes its name and renews the lease, mostly every 2 s. Candidates wait; when the lease has not changed for its duration (15 s mostly), by their own clock, one of them takes it. A holder that cannot renew must stop acting before that: RenewDeadline (10 s).

A lease is no lock: a holder that was asleep may write once more after another took over. What is seconds ago here is by the clock of the API server as far as this program knows it.`},
		"node-lease": {"a node's heartbeat", `A kubelet renews this lease every 10 s. When it has not been renewed for 40 s, the node lifecycle controller marks the node NotReady, and after the tolerations are over its pods are evicted.`},
		"event":      {"an entry of the journal", `One observed fact: a change in an informer's cache, an addition to a queue, a sync that began or ended, a write. Each is recorded on the goroutine where it happened, and that goroutine's label says why. Where upstream goes through a timer or a channel the cause is "timer" or "unknown": it is never guessed.`},
		"dry-write": {"a dry write", `This request changed nothing. With dry-run=client the guard answered it in this process, from what the caches hold: the API server never saw it. With dry-run=server the API server checked it, defaults and admission included, and stored nothing.

No event follows from a dry write. A loop that waits to see what it created waits in vain, and may write the same again: such repeats are counted on one row.`},
		"enqueue":  {"an addition to a queue", `An event handler, or a running sync, put this key in a queue. A queue holds a key once: an addition of one that stands there already is merged, and one sync serves both. AddAfter asks for a later time, AddRateLimited for the next step of the back-off.`},
		"sync":     {"a sync", `One run of the loop's function for one key, from the moment a worker took it to the moment it gave it back. It reads the caches, compares what is with what should be, and writes the difference. Many syncs find nothing to do: that is how it should be. A sync that fails puts its key back with a back-off.`},
		"supposed": {"a link that is supposed", `Nothing recorded says that this followed from the hop before it. It is the next thing that happened to the same object, or an object whose owner stands there. The scheduler and kubelets work in other goroutines or processes, which carry no label. All other links were observed: a cause on the goroutine where it happened, or the resourceVersion with which a write was answered.`},
		"told": {"a Kubernetes Event", `A loop has written an Event: an object of its own that tells people what happened to another, with a type, a reason and a message. kubectl describe and kubectl events show them. Loops write Events when their turn comes, on a goroutine that all of a loop share, and count up one that repeats itself. So nothing recorded says which sync it is of: it stands below the last thing that had happened to the object it names.

Only Events that go through this process are in the journal; those of kubelets and of other controllers are not.`},
		"gap":   {"a gap", `The watch of this type was lost, and the Reflector lists again. The cache is right afterwards, but what happened in between was never seen as events. What stands before and after this line may have links that are not shown.`},
		"owner": {"an owner reference", `metadata.ownerReferences name the owner by kind, name and uid. The one with controller: true is the managing owner: the loop that adopts and replaces the object. blockOwnerDeletion: true makes a foreground deletion of the owner wait for this object. A reference to an owner that is not there, or in another namespace, counts as absent: the garbage collector deletes an object all of whose owners are absent.`},
		"absent-owner": {"an owner that is not there", `Something names this owner, and the garbage collector does not find it where it looks: by apiVersion, kind and name, in the namespace of the object that names it. An owner in another namespace is not there either, whatever its uid.

The collector deletes an object when all owners that it names are absent. So a reference across namespaces, or one that survived a backup and restore with new uids, deletes what it stands on.`},
		"cascade": {"a deletion and what it takes along", `Deleting an object deletes, in the end, what it owns, by one of three ways. background: the API server removes the object at once, and the garbage collector then finds that its dependents have lost their last owner. foreground: the object stays, with a finalizer, until those of its dependents are gone that have blockOwnerDeletion. orphan: the dependents lose their reference first, and stay.

An object with another owner that is there stays and only loses the reference. One with a finalizer is marked and waits for whoever serves that. This preview plays the collector's own rules on the references as they are now, and deletes nothing. What a loop does next, such as making a new pod, is not in it.`},
		"partition": {"a partition", `A StatefulSet updates the pods from its highest ordinal down to the partition, and no further: those below stay on the current revision, also when they are made anew. So both revisions run at once, and that is no fault. Lower the partition to go on.`},
		"finalizer": {"a finalizer", `A finalizer is a word in metadata.finalizers. An object that is deleted stays, with a deletionTimestamp, until whoever serves each finalizer has done its work and removed the word. If nobody serves it any more, the object stays for ever.`},
	}
}
