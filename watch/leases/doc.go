// Package leases reads Leases (coordination.k8s.io/v1): their holders, since when and until
// when they hold them, and which Pod or Node the holder is.
//
// A Lease contains a string that the holder chose as its identity. Upstream's components and
// controller-runtime write the host name, an underscore and a UUID; others write only the name
// of the pod. A process on the host network has the host's name, any other one the name of its
// pod. So the part before the underscore is searched for among the pods first and among the
// nodes second. For a node, the pod on it that most likely wrote the lease is chosen, and
// state.LeaseHolder.By names the evidence. Every guess is marked as one.
//
// The number of requests is small and does not depend on the size of the cluster: one list of
// leases, and one or two requests by name for each host in a lease that is not a node's
// heartbeat. What the user may not read becomes a gap that is reported, not an error.
//
// Times come from the writers: a Lease is expired when its duration has passed since
// renewTime, which uses the clock of the holder. Clock measures the difference between the
// clock of the API server and the local one, to correct at least for the local one.
package leases
