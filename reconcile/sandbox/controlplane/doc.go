// Package controlplane is the child's half of a sandbox: etcd and
// kube-apiserver in one process.
//
// main, and TestMain of a test that starts a sandbox, call RunChild before
// anything else:
//
//	func main() {
//		controlplane.RunChild()
//		...
//	}
//
// It returns at once in every process but the child that sandbox.Start made, and
// never in that one. Importing this package links all of kube-apiserver and etcd
// (some 100 MB, minutes of cold build); package sandbox, which starts and ends
// control planes, does not import it.
//
// # Life and death
//
// The child reads its configuration from the control pipe, starts etcd and
// kube-apiserver side by side, says over the events pipe that it listens and that
// /readyz is ok, and then serves until the control pipe ends or a signal
// arrives. It does not shut anything down then: the run directory is removed and
// the process exits, which takes milliseconds, where kube-apiserver would wait
// for its requests. Nothing of a sandbox is worth keeping.
//
// # What differs from a production control plane
//
// etcd does not sync to disk and has no TLS (its unix socket is in a directory of
// mode 0700). kube-apiserver keeps all default admission plugins and the RBAC
// bootstrap. No endpoint is maintained for Service default/kubernetes, because
// its address would be a loopback address. There is no front proxy certificate:
// aggregated API servers cannot verify who calls them. kube-apiserver serves
// metrics.k8s.io itself (package reconcile/simulate/metrics).
package controlplane
