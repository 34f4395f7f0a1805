// Package leases reads Leases (coordination.k8s.io/v1): who holds them, since
// when, until when, and which Pod or Node the holder is.
//
// A Lease names its holder by a string that the holder made up. Upstream's
// components and controller-runtime write the host's name, an underscore and a
// UUID; others write the pod's name alone. A process on the network of its host
// sees the host's name there, every other one its pod's. So the part before the
// underscore is looked for among the pods first and among the nodes second; for
// a node, the pod on it that most likely wrote the lease is chosen, and
// state.LeaseHolder.By says by what. Nothing is guessed without being said.
//
// Requests are few and do not grow with the cluster: one list of leases, and for
// each host named by a lease that is no node's heartbeat one or two requests by
// name. What the user may not read leaves a gap that is reported, not an error.
//
// Times are the writers': a Lease is expired when its duration has passed since
// renewTime, which is of the holder's clock. Clock tells the difference between
// the clock of the API server and the local one, so that at least ours is right.
package leases
