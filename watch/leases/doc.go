// Package leases reads Leases (coordination.k8s.io/v1): their holders, when they were
// acquired and when they expire, and which Pod or Node the holder is.
//
// A Lease identifies its holder by a string that the holder chose. Upstream's
// components and controller-runtime write the host name, an underscore and a UUID;
// others write the pod name only. In a process with host networking the host name is
// the node's, in others it is the pod's. So the part before the underscore is looked up
// among the pods first and among the nodes second; for a node, the pod on it that most
// likely wrote the lease is chosen. state.LeaseHolder.By records how the holder was
// determined.
//
// The number of requests is small and does not grow with the cluster: one list of
// leases, and for each host named by a lease (except node heartbeats) one or two
// requests by name. What the user cannot read becomes a reported gap, not an error.
//
// Times are written by the holders: a Lease is expired when its duration has passed
// since renewTime, by the holder's clock. Clock corrects the difference between the
// local clock and the API server's.
package leases
