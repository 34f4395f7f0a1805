package tui

// The paragraphs that head the help of each page.
const (
	aboutControllers = `Each row is one controller (a control loop) of kube-controller-manager. A controller watches objects and moves the current state towards the desired state, one key of its queue at a time. DEPTH counts the keys that are ready for a worker, as the metric workqueue_depth does; DELAYED those that wait out a back-off or a deadline; IN FLIGHT those with a worker.`
	aboutQueues      = `Each row is a key in a controller's workqueue: the name of an object to reconcile. A key is ready, in flight (processing), in flight and added again (dirty), or waits out a delay or a back-off.`
	aboutInformers   = `Each row is the informer of one type: it lists the objects once, watches for changes, and keeps a copy of them all, the cache. Controllers read that cache and not the API server, so with a stale cache they act on old state. SILENT is a watch that received bookmarks, one a minute, and has received nothing for three minutes: b asks the server.`
	aboutWrites      = `Each row is a request to change something, newest first: who sent it, for which key, what it did to which object, whether it was real or dry, and what the API server said.`
	aboutTree        = `An object names its owners in metadata.ownerReferences. The garbage collector deletes an object that has lost its last owner; that is how deleting a Deployment also deletes its ReplicaSets and Pods.`
	aboutRevisions   = `A revision is a recorded version of a pod template: a ReplicaSet of a Deployment, a ControllerRevision of a StatefulSet or DaemonSet. Rolling back makes an old revision the newest again.`
	aboutLeases      = `A Lease is a record that one process holds and renews. Of several instances of a controller manager, only the holder acts; the others wait until the lease has not been renewed for its duration. If this process takes part in leader election, its lease comes first, below the state of the election.`
	aboutApprovals   = `Each row is a write that a controller is about to send. Its worker and its key wait until you answer; the other workers go on. A program behind exec waits too, with its request open. A skipped write is answered with an internal server error: the controller backs off and retries later. Before an approved write is sent it is checked again: if its object has changed, so that you approved something else, it is not sent.`
	aboutTimeline    = `The journal: everything observed, in order. Follow one object to see cause and effect: an event adds a key to a queue, a worker dequeues it, the sync writes, and the write comes back as an event for the next controller. A Kubernetes Event is shown below the last entry of the object it names, with its reason and message.`
)

// explanation is a paragraph or more about a thing.
type explanation struct{ title, text string }

// explanations are by kind of subject, and by the words that pages put into
// subject.explain.
func explanations() map[string]explanation {
	return map[string]explanation{
		"controller": {"a control loop", `A control loop watches some types of objects. For each change its event handlers put a key, mostly the name of an object, into its workqueue. Its workers dequeue keys and run one sync for each: they compare the state in the caches with the object's spec, and write the difference to the API server.

A sync receives only the name, not the change that caused it: it reads the current state. So many changes to one object need only one sync, and a lost event does no harm once the next one arrives. A sync that fails is retried with back-off, without limit.`},
		"queue": {"a workqueue", `A workqueue holds the keys that a controller must process. A key is in it once, however often it is added. While a worker has a key, no other worker gets it: a key added meanwhile is marked dirty, and runs again afterwards. So two workers never sync the same object at the same time.

Keys can be added for later: after a fixed delay, or after the rate limiter's back-off, which doubles with each failure.`},
		"key":        {"a key", `A key is the name of an object, "namespace/name", that a controller must process. It says that something may have changed, not what. This page knows why each key was added: which event of which object, which sync, or which timer.`},
		"ready":      {"a ready key", `A ready key waits in the queue until a worker is free. If many keys wait for long, the controller has too few workers (--concurrent-…-syncs) or its syncs wait for the API server (--kube-api-qps).`},
		"processing": {"a key with a worker", `A worker has dequeued this key: its sync is running. The goroutine of the sync is labelled with the key, so its writes are attributed to it.`},
		"dirty":      {"a dirty key", `A worker has this key, and it was added again meanwhile. When the worker is done it becomes ready at once. So the last change is always seen, and never by two workers at a time.`},
		"waiting":    {"back-off", `This key waits: after a failure, for the back-off of the rate limiter, or for a delay that the controller asked for ("requeue after 30s"). The back-off begins at 5 ms for most controllers and doubles with each failure, up to about 16 minutes. A success resets the count. "Retry now" makes the key ready at once; the count stays.`},
		"held": {"a breakpoint", `A breakpoint paused this key's controller: its workers dequeue no key until you resume it (P). The key that matched is first in its queue, or a write of its sync waits inside this program and has not been sent; s lets only that one continue.

Only workers stop. Informers go on, so their caches stay up to date, and keys added meanwhile wait in the queue. A paused controller catches up later: it then reads the state of that time.`},
		"done":    {"a key that has left", `The last sync of this key has finished, and the key was not added again. It is kept here for its history.`},
		"dropped": {"a dropped key", `You removed this key from its queue. It is not processed until the next event of its object adds it again.`},
		"informer": {"an informer", `An informer keeps a copy of all objects of one type, shared by all controllers of a process. Its Reflector lists them once and then watches for changes from that resourceVersion on. Changes go through a queue of deltas (RealFIFO since 1.36; DeltaFIFO, its ancestor, merged the deltas of one object) into the Indexer, the store that controllers read through Listers. After each change of the store, the event handlers of the controllers are called.

When a watch breaks for longer than the API server remembers, the Reflector lists all over again: a relist. The state is correct afterwards, but the changes in between are never seen; this is shown as a gap.

A quiet type gets a bookmark about once a minute, which moves its resourceVersion without a change. So an old resourceVersion alone does not mean that a cache is behind.`},
		"object": {"an object in a cache", `This is what the controllers see: the copy in the informer's store, which may be older than what the API server has. metadata.resourceVersion identifies the version; press d to compare it with a live GET. Controllers must not change objects of the cache, and neither does this program.`},
		"write":  {"a write", `A request to change something. In a dry run the guard answers it in this process, or the API server checks it and does not store it. So the object never appears in a cache, and controllers that wait for what they created keep waiting: a dry run shows only the first step.`},
		"revision": {"a revision", `Deployments keep their versions as ReplicaSets, StatefulSets and DaemonSets as ControllerRevisions: objects that hold the pod template of that time. Pods carry the hash of theirs in a label. current is the revision of the last completed rollout, update is what the object asks for now.

An undo does not go back in time: it writes the old template into the object, and the controller rolls it out under a new number.`},
		"lease": {"a lease", `The holder writes its name and renews the lease, by default every 2 s. Candidates wait; when the lease has not changed for its duration (15 s by default), by their own clock, one of them acquires it. A holder that cannot renew must stop acting before that: RenewDeadline (10 s).

A lease is not a lock: a holder that was suspended may still write after another took over. Times here follow the clock of the API server, as far as this program knows it.`},
		"node-lease": {"a node's heartbeat", `A kubelet renews this lease every 10 s. When it has not been renewed for 40 s, the node lifecycle controller marks the node NotReady, and its pods are evicted when their tolerations expire.`},
		"event":      {"an entry of the journal", `One observed fact: a change in an informer's cache, a key added to a queue, a sync that began or ended, a write. Each is recorded on the goroutine where it happened, and that goroutine's label gives the cause. Where upstream uses a timer or a channel the cause is "timer" or "unknown": it is never guessed.`},
		"dry-write": {"a dry write", `This request changed nothing. With dry-run=client the guard answered it in this process, from what the caches hold: the API server never saw it. With dry-run=server the API server checked it, defaults and admission included, and stored nothing.

A dry write causes no event. A controller that waits to see what it created waits in vain, and may send the same write again: such repeats are counted on one row.`},
		"enqueue":  {"an added key", `An event handler, or a running sync, added this key to a queue. A queue holds a key once: if it is there already, both are merged into one sync. AddAfter asks for a later time, AddRateLimited for the next step of the back-off.`},
		"sync":     {"a sync", `One run of the controller's sync function for one key, from the moment a worker dequeues it until it is done. It reads the caches, compares the current with the desired state, and writes the difference. Many syncs find nothing to do: that is normal. A sync that fails requeues its key with a back-off.`},
		"supposed": {"an assumed link", `Nothing recorded proves that this followed from the step before. It is the next thing that happened to the same object, or to an object that it owns. The scheduler and kubelets work in other goroutines or processes, which carry no label. All other links were observed: a cause on the goroutine where it happened, or the resourceVersion with which a write was answered.`},
		"told": {"a Kubernetes Event", `A controller has written an Event: a separate object that describes what happened to another one, with a type, a reason and a message. kubectl describe and kubectl events show them. Controllers write Events asynchronously, on one goroutine for all their syncs, and only count an Event that repeats. So nothing recorded says which sync an Event belongs to: it is shown below the last entry of the object it names.

Only Events that go through this process are in the journal; those of kubelets and of other controllers are not.`},
		"gap":   {"a gap", `The watch of this type was lost, and the Reflector relists. The cache is correct afterwards, but what happened in between was never seen as events. Entries before and after this line may have links that are not shown.`},
		"owner": {"an owner reference", `metadata.ownerReferences name the owner by kind, name and uid. The one with controller: true is the managing owner: its controller adopts and replaces the object. blockOwnerDeletion: true makes a foreground deletion of the owner wait for this object. An owner that does not exist, or is in another namespace, counts as absent: the garbage collector deletes an object if all its owners are absent.`},
		"absent-owner": {"an owner that is not there", `An object names this owner, but the garbage collector does not find it: it looks by apiVersion, kind and name, in the namespace of that object. An owner in another namespace is never found, whatever its uid.

The collector deletes an object when all its owners are absent. So a reference across namespaces, or to an old uid after a backup and restore, gets the object deleted.`},
		"cascade": {"a cascading deletion", `Deleting an object also deletes its dependents, depending on the propagation policy. background: the API server removes the object at once, and the garbage collector then finds that its dependents have lost their last owner. foreground: the object stays, with a finalizer, until its dependents with blockOwnerDeletion are gone. orphan: the dependents lose their owner reference, and stay.

A dependent with another existing owner stays and only loses the reference. One with a finalizer is marked for deletion and waits until it is removed. This preview applies the collector's own rules to the current references, and deletes nothing. What controllers do next, such as creating a new pod, is not included.`},
		"partition": {"a partition", `A StatefulSet updates the pods from its highest ordinal down to the partition, and no further: those below stay on the current revision, even when they are recreated. So both revisions run at once, which is intended. Lower the partition to continue.`},
		"finalizer": {"a finalizer", `A finalizer is a key in metadata.finalizers. A deleted object stays, with a deletionTimestamp, until the controller of each finalizer has done its work and removed the key. If that controller no longer runs, the object stays forever.`},
	}
}
