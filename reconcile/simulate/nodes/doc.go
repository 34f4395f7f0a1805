// Package nodes simulates the nodes of a cluster and the kubelets on them.
//
// It is a client of the API server like any kubelet: it creates Node objects,
// keeps every node of the cluster ready and its lease renewed (nodes that the
// user made included), and takes the pods that are bound to a node through their
// lives: Running and Ready with an address, Succeeded for those of a Job, gone
// when deleted. Nothing runs: no image is pulled, no command executed, no volume
// mounted, no probe asked. A pod is ready even if a ConfigMap it mounts is
// missing.
//
// What happens at which point is written in kwok's stages
// (sigs.k8s.io/kwok/kustomize/stage@v0.8.0: node/fast, node/heartbeat-with-lease,
// pod/fast) and in the directory stages of this package, and rendered by kwok's
// packages utils/lifecycle and utils/gotpl. kwok's own controllers are not used:
// their delaying queues have no end (utils/queue.loopWorker) and do not tell what
// is in them, and whoever asks whether a cluster has settled must know both.
//
// # Being idle
//
// Busy is exact as far as events have come in: an object is busy from the event
// that brought it until a look at its latest version finds no stage to play.
// Seen closes the gap to the server, for who knows the resourceVersion of a
// write. Not busy are: heartbeats and other stages more than five seconds away,
// and deleted pods that a finalizer of someone else holds.
package nodes
