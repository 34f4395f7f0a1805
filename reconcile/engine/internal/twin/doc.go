// Package twin compares what two controller managers made of the same objects, each
// on an API server of its own: what each controller wrote, and what is there in the
// end. It reads API servers' audit logs and lists of objects, and knows nothing of
// the processes that wrote. Only tests use it.
//
// Both sides start from the same objects, UIDs included. What is created later has
// another name and UID on each side, so writes and objects are compared by what they
// are for: a pod of the ReplicaSet web is "ReplicaSet/web/*", the second one that is
// created is its #2.
package twin
