// Package controlplane is the child's half of a sandbox: etcd and kube-apiserver in one
// process.
//
// main, and TestMain of a test that starts a sandbox, call RunChild before anything
// else:
//
//	func main() {
//		controlplane.RunChild()
//		...
//	}
//
// It returns immediately in every process except the child that sandbox.Start created,
// and never in that one. Importing this package links all of kube-apiserver and etcd
// (about 100 MB, minutes of cold build); package sandbox, which starts and stops
// control planes, does not import it.
//
// # Lifetime
//
// The child reads its configuration from the control pipe, starts etcd and
// kube-apiserver in parallel, reports over the events pipe that it listens and that
// /readyz is ok, and serves until the control pipe is closed or a signal arrives. It
// then exits without a graceful shutdown: it removes the run directory and exits within
// milliseconds, where kube-apiserver would wait for its requests. No data of a sandbox
// is worth keeping.
//
// # Differences from a production control plane
//
// etcd does not sync to disk and has no TLS (its unix socket is in a directory of mode
// 0700). kube-apiserver keeps all default admission plugins and the RBAC bootstrap.
// Service default/kubernetes has no endpoints, because their address would be a
// loopback address. There is no front proxy certificate: aggregated API servers cannot
// authenticate their callers. kube-apiserver itself serves metrics.k8s.io (package
// reconcile/simulate/metrics).
package controlplane
