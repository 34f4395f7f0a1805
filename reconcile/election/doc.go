// Package election lets this process write to a cluster only while it holds the Lease of
// kube-controller-manager, or of kube-scheduler, so that two instances never run in parallel.
//
//	e, err := election.New(election.Options{Client: leases, Clock: clock, …})
//	grant, err := e.Grant(server, confirmation) // for the guard of the controllers
//	err = e.Acquire(ctx)                        // waits; a candidate never takes over a live holder
//	…                                           // start the controllers; end when e.Lost() is closed
//	err = e.Release(ctx)                        // once the controllers have returned
//
// The candidate is client-go's LeaderElector, with the component's lease, format and timing.
// This package adds what the LeaderElector does not provide.
//
// # The gate
//
// A write is sent only if now < last renewal + RenewDeadline, and may be in progress for at
// most LeaseDuration − RenewDeadline. The time of a renewal is read before its request is
// sent, and counts once the server has confirmed it: another candidate waits LeaseDuration
// from when it sees the renewal, which is later. The clock continues while the machine is
// suspended (SystemClock). Once closed, the gate of a process never opens again.
//
// For a lease that is deleted while it is held, a candidate waits as long as for one that is
// not renewed any more; client-go's would create it at once.
//
// # Another lease name
//
// A candidate for a lease with another name would bypass the holder of the usual lease. It is
// refused while the usual lease is in use. This is checked before the first write of the
// lease, before Acquire returns, and every RetryPeriod from then on: if another process
// acquires the usual lease, the term ends. Between two checks, both lead.
//
// # Losing the lease
//
// Leadership is lost when the gate closes, or as soon as the lease has another holder,
// whichever is first: before client-go's LeaderElector gives up, which counts RenewDeadline
// from its last attempt. One process leads at most once. The caller decides what happens then;
// this program exits, as upstream does: a goroutine that hangs in an old term must not find
// the gate of a new term open.
//
// Release closes the gate, waits for the writes in progress, and only then releases the lease.
// If the controllers or the writes do not end in time, the lease is left to expire.
//
// # Limits
//
// Leader election does not provide fencing. If a process is stopped between the gate and the
// network, or if a request is delayed on its way, the request can reach the server after the
// lease has changed hands. This concerns at most the requests in progress at that moment. The
// API server does not check who leads.
package election
