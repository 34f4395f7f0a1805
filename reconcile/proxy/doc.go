// Package proxy gives programs of the user access to an API server: it listens on loopback,
// accepts requests with the token of this run, and forwards them through a transport that has
// the guard around it.
//
//	clients := proxy.NewClients(taken)
//	leases := proxy.NewLeases(hub)
//	g, err := guard.New(guard.Options{Mode: mode, Writer: clients.Of, Local: leases, …})
//	p, err := proxy.Start(proxy.Options{Upstream: rt, Server: url, Clients: clients, Recorder: hub})
//	// p.Kubeconfig(namespace) is for the controller
//
// # Authentication
//
// The proxy listens on 127.0.0.1, on its own port, with a certificate signed by an authority
// that was created for this run; the key of that authority is discarded before the first
// connection. A request needs the bearer token of the run, compared in constant time, and is
// answered 401 otherwise. The token is not forwarded: the server sees the credentials of the
// transport.
//
// # Forwarding
//
// Requests are forwarded unchanged, by HTTP/2 or HTTP/1.1, with the client's user agent.
// Responses are flushed as they arrive, byte for byte, so that a watch is as fast as without
// the proxy. Bodies of writes are read first, up to kube-apiserver's limit, because the guard
// needs them. Headers with which front proxies identify users are removed; those of
// impersonation are forwarded, or refused if the transport impersonates by itself. Only the
// guard decides whether a request is sent. It refuses protocol upgrades in every mode, and the
// proxy could not forward them.
//
// # Records
//
// The guard records writes under the first word of the user agent. Reads become
// state.ClientRead, aggregated and limited. A client chooses its user agent itself: the user
// agent distinguishes controllers and proves nothing.
//
// # Leases
//
// In a dry run, a controller with leader election would wait forever: for the leader in the
// cluster, or for its own write to be stored. Leases answers for the leases that it requests by
// name; see there.
//
// # Limits
//
// The proxy does not confine the program. If a program finds other credentials, for example a
// kubeconfig in the home directory, it can bypass the proxy.
package proxy
