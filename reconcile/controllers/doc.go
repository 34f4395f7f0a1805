// Package controllers runs the control loops of kube-controller-manager: all 49
// of upstream's names, built from the exported constructors in
// k8s.io/kubernetes/pkg/controller at v1.37.1.
//
// Each controller has one Descriptor (descriptor.go and queue.go; one file per family
// of controllers, as upstream groups them): its account, what it reads and decides
// about, which work queues it has, where they are and what their keys stand for, what
// it needs and how it is made. Every other table is derived from these. Tests hold them
// against upstream's own list and roles; nothing else of cmd/kube-controller-manager/app is used,
// because that package links volume plugins that act on this machine
// (see volumePlugins).
//
// # Use
//
//	opts, err := controllers.NewOptions()
//	opts.AddFlags(flags)                     // --controllers, --concurrent-*-syncs, …
//	component, err := opts.Complete(inputs)  // after parsing
//	m, err := controllers.New(controllers.Config{Component: component, REST: config, …})
//	err = m.Start(ctx)
//	…
//	err = m.Stop(ctx)
//
// Feature gates are one set per process; Complete changes them. List describes
// the controllers without any of this.
//
// # What it does to a cluster
//
// Each controller has a client of its own, with the user agent
// "kctl-ctrl/<controller>", made from the one *rest.Config that the caller
// gives: whatever guards that configuration's transport guards all controllers.
// No controller touches a file or runs a program of this machine, except that
// the certificate and key files named by flags are read.
//
// # What it cannot do
//
// A panic in a loop ends the process, as it does upstream
// (utilruntime.ReallyCrash): the loops start goroutines of their own, which
// nobody outside can recover. A few of upstream's checks call klog.FlushAndExit
// instead of returning an error. The program must have restored the terminal in
// both cases.
//
// The controllers of k8s.io/cloud-provider (service, route,
// cloud-node-lifecycle) are not among the 49.
package controllers
