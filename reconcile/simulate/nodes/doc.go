// Package nodes simulates the nodes of a cluster and their kubelets.
//
// Like kubelets, it is a client of the API server: it creates Node objects, keeps every
// node of the cluster ready and its lease renewed (including nodes that the user
// created), and takes the pods bound to a node through their lifecycle: Running and
// Ready with an address, Succeeded for those of a Job, removed when deleted. Nothing
// runs: no images are pulled, no commands executed, no volumes mounted, no probes
// called. A pod is ready even if a ConfigMap that it mounts is missing.
//
// The transitions are defined by kwok's stages
// (sigs.k8s.io/kwok/kustomize/stage@v0.8.0: node/fast, node/heartbeat-with-lease,
// pod/fast) and by the directory stages of this package, and rendered by kwok's
// packages utils/lifecycle and utils/gotpl. kwok's own controllers are not used: their
// delaying queues never stop (utils/queue.loopWorker) and cannot be inspected, which is
// required to determine whether a cluster has settled.
//
// # Being idle
//
// Busy is exact for all received events: an object is busy from its event until its
// latest version was checked and matches no stage. Seen closes the gap to the server if
// the resourceVersion of a write is known. Not busy are: heartbeats and other stages
// more than five seconds away, and deleted pods held by another controller's finalizer.
package nodes
