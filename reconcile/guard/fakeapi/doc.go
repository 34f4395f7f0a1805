// Package fakeapi answers writes in place of an API server, for dry-run=client: as it
// would, without its defaulting, admission and storage.
//
//	api.Answer(request, media type, body, base) -> Answer, or an API error
//
// It keeps nothing and asks nobody: the object that a write starts from comes from its
// caller (Base). A wrong answer could look like a controller that hangs, so the rules are
// narrow.
//
//   - Answers are JSON, which every client decodes by Content-Type, and
//     PartialObjectMetadata where the client asked for that (the guard encodes them).
//   - No resourceVersion is invented: a create has none, an update the one that
//     was sent, a patch its base's. Controllers that wait for their cache to
//     reach what they wrote (k8s.io/kubernetes v1.37.1
//     pkg/controller/util/consistency) are not delayed by these.
//   - A create always succeeds, with name, uid and creationTimestamp filled in,
//     an empty status, and 201 also the tenth time: AlreadyExists would make
//     the deployment controller fail on its lister.
//   - Updates, patches and deletes start from Base. A missing object is 404. A
//     resourceVersion that differs is 409 only where the base is live: a cache may be
//     behind the writer.
//   - Server-side apply answers its base merged with what was applied. Strategic merges
//     need a built-in type, as on a server.
//   - JSON patches have kube-apiserver's limits.
package fakeapi
