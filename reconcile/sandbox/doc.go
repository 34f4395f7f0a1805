// Package sandbox runs a real Kubernetes control plane, etcd and kube-apiserver,
// out of this very binary, for as long as a program needs it and not a moment
// longer.
//
//	sb, err := sandbox.Start(ctx, sandbox.Options{})
//	if err != nil { ... }
//	defer sb.Close(context.Background())
//	ep := sb.Endpoint() // URL, CA, token of a member of system:masters
//
// # Two processes
//
// Start executes os.Executable again with an environment variable set; package
// controlplane, whose RunChild is the first call of main (and of TestMain),
// turns that process into the control plane. Global state of kube-apiserver, its
// memory and its crashes stay there. This package is the parent's half. It links
// neither etcd nor kube-apiserver nor client-go, so that importing it costs
// nothing.
//
// The parent tells the child what to do over a pipe and then holds that pipe
// open. When it is closed, by Close or because the parent died of whatever
// cause, the child removes its run directory and exits. The child is the leader
// of its own session: Ctrl-C and the hang-up of a terminal reach the parent only.
//
// # Run directories
//
// Everything a sandbox writes is in one directory (RunDir): 0700, its files 0600
// under any umask. It lies below $XDG_RUNTIME_DIR/kctl-ctrl where that is set,
// else below /dev/shm/kctl-ctrl-UID or os.TempDir()/kctl-ctrl-UID: in memory
// where that can be had, under a short path (a unix socket's is limited to 104
// bytes), in a directory that belongs to this user alone. One that belongs to
// someone else is refused.
//
// Both processes hold a lock on the directory. Start removes directories of this
// user whose lock is free: both processes were killed.
//
// # Who gets in
//
// kube-apiserver listens on 127.0.0.1 only, on a port that the kernel chose, and
// needs no route but loopback. Its certificate comes from an authority made for
// this run, whose key is forgotten as soon as it has signed that one certificate:
// whoever speaks with a certificate of that authority is this sandbox. Recognise
// rests on that. Requests are authorized by RBAC; the token of Endpoint is random.
// etcd listens on a unix socket in the run directory.
package sandbox
