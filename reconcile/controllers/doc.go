// Package controllers runs the controllers of kube-controller-manager: all 49 of upstream's
// names, built from the exported constructors in k8s.io/kubernetes/pkg/controller at v1.37.1.
//
// Each controller has one Descriptor (descriptor.go and queue.go; one file per family of
// controllers, grouped as upstream): its account, what it reads and decides, its workqueues,
// the fields that hold them and the meaning of their keys, what it needs, and its constructor.
// Every other table is derived from these. Tests compare them with upstream's own list and
// roles. Nothing else of cmd/kube-controller-manager/app is used, because that package links
// volume plugins that act on this machine (see volumePlugins).
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
// Feature gates are one set per process; Complete changes them. List describes the controllers
// without any of this.
//
// # Effects on a cluster
//
// Each controller has its own client, with the user agent "kctl-ctrl/<controller>", made from
// the *rest.Config of the caller: a guard around the transport of that configuration guards all
// controllers. No controller accesses a file or runs a program on this machine, except that
// the certificate and key files named by flags are read.
//
// # Limits
//
// A panic in a controller ends the process, as it does upstream (utilruntime.ReallyCrash):
// controllers start their own goroutines, in which other code cannot recover. A few of
// upstream's checks call klog.FlushAndExit instead of returning an error. The program must
// restore the terminal in both cases.
//
// The controllers of k8s.io/cloud-provider (service, route, cloud-node-lifecycle) are not
// among the 49.
package controllers
