// Package election lets this process write to a cluster only while it holds the
// Lease of kube-controller-manager, or of kube-scheduler, so that two of them never
// work side by side.
//
//	e, err := election.New(election.Options{Client: leases, Clock: clock, …})
//	grant, err := e.Grant(server, confirmation) // for the guard of the loops
//	err = e.Acquire(ctx)                        // waits; a candidate never takes over a live holder
//	…                                           // start the loops; end when e.Lost() is closed
//	err = e.Release(ctx)                        // once the loops have returned
//
// The candidate is client-go's LeaderElector, with the component's
// lease, format and timing. This package adds what the LeaderElector does not
// give.
//
// # The gate
//
// A write leaves only if now < last renewal + RenewDeadline, and may be under
// way for at most LeaseDuration − RenewDeadline. The time of a renewal is taken
// before the request that renews leaves this process, and counts once the server
// has confirmed it: another candidate waits LeaseDuration from when it sees the
// renewal, which is later. The clock runs on while the machine is suspended
// (SystemClock). Once shut, the gate of a process never opens again.
//
// A candidate waits as long for a lease that is deleted under its holder as for one
// that is not renewed any more; client-go's would create it at once.
//
// # Another lease
//
// Who stands for another lease than the usual one would lead past those who hold
// that. It is refused while the usual lease is in use, which is looked at before the
// first write of the lease, before Acquire returns, and every RetryPeriod from then
// on: whoever takes it ends the term. Between two looks both lead.
//
// # The end
//
// Leadership is lost when the gate shuts, or as soon as the lease is seen in
// another's hands, whichever is first: before client-go's LeaderElector gives up,
// which counts RenewDeadline from its last attempt. One process leads at most
// once. What is to become of it is up to the caller; this program ends, as
// upstream does: a goroutine that hangs in an old term must not find the gate of a
// new one open.
//
// Release shuts the gate, waits for the writes under way, and only then gives the
// lease back. If either the loops or the writes do not end in time, the lease is
// left to expire.
//
// # What it does not promise
//
// An election is no fence. A process that is stopped between the gate and the
// network, or a request that is held up on its way, can still reach the server
// after the lease has changed hands: at most the requests that were under way at
// that moment. The API server does not check who leads.
package election
