// Package owners reads who owns what in a cluster, and works out what a
// deletion would do, by the garbage collector's own rules.
//
//	reader, err := owners.NewReader(config, owners.Options{})
//	kinds, err := reader.Kinds(ctx)
//	root, err := reader.Get(ctx, deployments, "shop", "web")
//	graph, err := reader.Scan(ctx, owners.ScopeOf(root))
//	trees := graph.Trees([]*owners.Object{graph.Object(root.UID)}, 0)
//
// # What is read
//
// Metadata only: lists of PartialObjectMetadata, in pages, many types at a
// time. Which types and where follows from the rules of ownership: an object in
// a namespace can own objects in that namespace only, a cluster-scoped one
// objects everywhere. So the tree of a namespaced object costs one list per
// namespaced type, in its own namespace. Types that GC does not watch (events,
// and what cannot be listed, watched and deleted) have no owners that mean
// anything and are not read; see Kinds.NotOwnable.
//
// Discovery is asked afresh, two requests on a server of this decade, because a
// type that a stale cache does not know would be missing silently.
//
// What may not be read is a document.ReadGap, never an error: a user with few
// rights gets a partial answer and is told what is missing.
//
// # Graph
//
// Graph is pure and keyed by uid, as GC's own graph. Verdict is GC's judgement
// of one reference. Trees, Climb and Tops draw it. Cascade plays a deletion on a
// copy, by the rules of k8s.io/kubernetes v1.37.1
// pkg/controller/garbagecollector and of the API server's deletion
// (k8s.io/apiserver v0.37.1 pkg/registry/generic/registry/store.go).
//
// # Status
//
// Reader.Status reads whole objects, and only of those that a tree shows. Kinds
// without a status are left out, Secrets and ConfigMaps among them: their
// contents never come here.
package owners
