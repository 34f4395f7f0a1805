// Package sandbox runs a real Kubernetes control plane, etcd and kube-apiserver, from this
// binary, for exactly as long as a program needs it.
//
//	sb, err := sandbox.Start(ctx, sandbox.Options{})
//	if err != nil { ... }
//	defer sb.Close(context.Background())
//	ep := sb.Endpoint() // URL, CA, token of a member of system:masters
//
// # Two processes
//
// Start executes os.Executable again with an environment variable set; package controlplane,
// whose RunChild is the first call of main (and of TestMain), makes that process the control
// plane. Global state of kube-apiserver, its memory and its crashes are confined to it. This
// package is the parent's half. It links neither etcd nor kube-apiserver nor client-go, so
// that importing it costs nothing.
//
// The parent sends the child its configuration over a pipe and then keeps that pipe open. When
// the pipe closes, by Close or because the parent has ended for any reason, the child removes
// its run directory and exits. The child is the leader of its own session: Ctrl-C and the
// hang-up of a terminal reach the parent only.
//
// # Run directories
//
// Everything that a sandbox writes is in one directory (RunDir): mode 0700, its files 0600
// under any umask. It is below $XDG_RUNTIME_DIR/kctl-ctrl if that is set, else below
// /dev/shm/kctl-ctrl-UID or os.TempDir()/kctl-ctrl-UID: in memory if possible, with a short
// path (that of a unix socket is limited to 104 bytes), in a directory that belongs to this
// user. A directory of another user is refused.
//
// Both processes hold a lock on the directory. Start removes directories of this user whose
// lock is free: both processes were killed.
//
// # Authentication
//
// kube-apiserver listens on 127.0.0.1 only, on a port chosen by the kernel, and needs no route
// except loopback. Its certificate is signed by an authority that was created for this run,
// whose key is discarded after it has signed that one certificate: a server with a certificate
// of that authority is this sandbox. Recognise relies on that. Requests are authorized by RBAC;
// the token of Endpoint is random. etcd listens on a unix socket in the run directory.
package sandbox
