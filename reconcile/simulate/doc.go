// Package simulate makes a control plane with controllers a cluster that lives:
// nodes with kubelets, a scheduler and storage. Each is a client of the API
// server, in this process, with its own user agent, and each is a package that
// can be used alone:
//
//	simulate/nodes      kwok's stages, played by a loop of our own
//	simulate/scheduler  the real kube-scheduler
//	simulate/storage    a StorageClass and a provisioner for it
//
// simulate/metrics, the usage of nodes and pods, is served by the sandbox's API server.
//
// Start runs those that are wanted and joins what they know: Busy says why the
// cluster has not come to rest, Seen how far its parts have followed the server.
//
// What is simulated ends at the API: there are no containers, no images, no
// logs, no traffic, no load and no failures but those asked for with Options.Pods.
package simulate
