// Package proxy is a way to an API server for controllers that are programs of
// their own: it listens on loopback, lets in who has the token of this run, and
// sends what it is asked on through a transport that has the guard around it.
//
//	clients := proxy.NewClients(taken)
//	leases := proxy.NewLeases(hub)
//	g, err := guard.New(guard.Options{Mode: mode, Writer: clients.Of, Local: leases, …})
//	p, err := proxy.Start(proxy.Options{Upstream: rt, Server: url, Clients: clients, Recorder: hub})
//	// p.Kubeconfig(namespace) is for the controller
//
// # Who is let in
//
// The proxy listens on 127.0.0.1, on a port of its own, with a certificate that an
// authority made for this run has signed; that authority's key is gone before the
// first connection. A request needs the run's bearer token, compared in constant
// time, and is answered 401 otherwise. The token goes no further: the credentials
// that the server sees are those of the transport.
//
// # What is passed on
//
// Requests as they are, by HTTP/2 or HTTP/1.1, with the client's user agent.
// Answers are flushed as they come, byte for byte, so that a watch is as quick as
// without the proxy. Bodies of writes are read first, as far as kube-apiserver
// would read them, because the guard has to. Headers by which front proxies speak
// for users are taken off; those of impersonation are passed on, or refused where
// the transport impersonates by itself. Whether a request may leave is decided by
// the guard and nobody else; protocol upgrades it refuses in every mode, and the
// proxy carries none even if it did not.
//
// # What is recorded
//
// Writes are recorded by the guard, under the first word of the user agent. Reads
// become state.ClientRead, aggregated and bounded. A user agent is what a client
// says of itself: it tells controllers apart, and proves nothing.
//
// # Leases
//
// A controller that elects a leader would wait in a dry run for ever: for the
// leader that runs in the cluster, or for its own write to be stored. Leases
// answers for the leases that it asks for by name; see there.
//
// # What it cannot do
//
// It is no jail. A program that finds other credentials, a kubeconfig in the home
// directory for one, and uses them, goes past it.
package proxy
