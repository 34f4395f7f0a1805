// Package simulate completes a control plane with controllers to a working cluster: nodes
// with kubelets, a scheduler and storage. Each is a client of the API server, in this process,
// with its own user agent, and each is a package that can be used alone:
//
//	simulate/nodes      kwok's stages, run by a controller of this program
//	simulate/scheduler  the real kube-scheduler
//	simulate/storage    a StorageClass and a provisioner for it
//
// The sandbox's API server serves simulate/metrics, the usage of nodes and pods.
//
// Start runs the selected parts and combines their state: Busy returns why the cluster is not
// settled, Seen how far its parts have followed the server.
//
// The simulation ends at the API: there are no containers, no images, no logs, no traffic, no
// load, and no failures except those requested with Options.Pods.
package simulate
