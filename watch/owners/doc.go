// Package owners reads the ownership of objects in a cluster and simulates deletions by
// the garbage collector's rules.
//
//	reader, err := owners.NewReader(config, owners.Options{})
//	kinds, err := reader.Kinds(ctx)
//	root, err := reader.Get(ctx, deployments, "shop", "web")
//	graph, err := reader.Scan(ctx, owners.ScopeOf(root))
//	trees := graph.Trees([]*owners.Object{graph.Object(root.UID)}, 0)
//
// # What is read
//
// Metadata only: lists of PartialObjectMetadata, in pages, for many types at a time.
// The rules of ownership determine which types are read and where: a namespaced object
// can only own objects in its namespace, a cluster-scoped object can own objects
// anywhere. So the tree of a namespaced object costs one list per namespaced type, in
// its own namespace. Types that GC does not watch (events, and types that cannot be
// listed, watched and deleted) have no effective owner references and are not read; see
// Kinds.NotOwnable.
//
// Discovery is never cached (it takes two requests on current API servers), because
// types missing from a stale cache would be missing from the result without notice.
//
// What cannot be read is a document.ReadGap, never an error: a user with few
// permissions gets a partial result and a list of what is missing.
//
// # Graph
//
// Graph is pure and keyed by UID, as GC's own graph. Verdict is GC's decision about one
// reference. Trees, Climb and Tops return trees. Cascade simulates a deletion on a
// copy, by the rules of k8s.io/kubernetes v1.37.1 pkg/controller/garbagecollector and
// of the API server's deletion (k8s.io/apiserver v0.37.1
// pkg/registry/generic/registry/store.go).
//
// # Status
//
// Reader.Status reads complete objects, and only those that a tree shows. Kinds without
// a status are skipped, among them Secrets and ConfigMaps, whose contents are never
// read.
package owners
