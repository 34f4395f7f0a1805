// Package guard is the one door for writes. It wraps the transport beneath
// every client of the program and decides, for each request, whether it may
// leave the process.
//
//	target, err := connect.TargetOf(loader)
//	g, err := guard.New(guard.Options{Mode: state.ModeDryRunClient, Server: target.Server(), Recorder: hub})
//	config, err := target.Config(g.Wrap, limits)
//
// # What passes
//
// Classify reads a request as kube-apiserver would (k8s.io/apiserver v0.37.1
// pkg/endpoints/request/requestinfo.go) and sorts it into one of six kinds.
// Default deny: what it does not understand is KindUnknown and never leaves, in
// no mode.
//
//	kind      examples                                   fate
//	read      GET and HEAD of objects, lists, watches,   passes
//	          discovery, health, metrics
//	review    POST of a SubjectAccessReview and its      passes: it persists
//	          kind                                       nothing
//	write     POST, PUT, PATCH, DELETE of what a table   see below
//	          lists by verb, group, resource, subresource
//	connect   exec, attach, portforward, proxy, also     refused: it acts, dry
//	          as GET                                     run or not; but see
//	                                                     Options.PortForward
//	upgrade   any request that asks for another protocol refused
//	unknown   everything else                            refused
//
// # What becomes of a write
//
//	mode            fate
//	read-only       refused
//	dry-run=client  answered in this process; at most one GET goes out
//	dry-run=server  sent with dryRun=All, or refused where that is not honoured
//	active          sent as it is; needs a Grant
//
// Whatever its kind, nothing goes to another server than the one of the session
// (Options.Server). http.Client follows redirects, and client-go adds the user's
// token to each hop; nor does another server's dryRun prove anything.
//
// A refusal is an HTTP 403 whose Status carries the cause CauseRefused, so that
// a client sees an ordinary API error; see Refused. Nothing is retried because
// of it: no controller loops on Forbidden without backing off.
//
// # dry-run=server
//
// POST, PUT and PATCH get the query parameter dryRun=All. A DELETE with a body
// is different: kube-apiserver takes DeleteOptions from the body and ignores
// the query (k8s.io/apiserver v0.37.1 pkg/endpoints/handlers/delete.go), and
// client-go always sends a body. So the body is decoded (JSON, protobuf, CBOR),
// its dryRun replaced, and encoded again; what cannot be decoded is refused. An
// Eviction carries DeleteOptions inside and gets both. Token requests never
// look at dryRun and aggregated API servers may not: they are refused, the
// latter unless Options.TrustsDryRun vouches for the group. Before a request
// leaves, it is read once more, as the server will read it, and refused if it
// is not a dry run after all.
//
// # dry-run=client
//
// The guard answers as the API server would, without its defaulting, admission
// and storage: what it makes up is marked Approximate. A wrong guess looks like
// a hung controller, so the rules are narrow.
//
//   - Answers are JSON, which every client decodes by Content-Type, and
//     PartialObjectMetadata where the client asked for that.
//   - No resourceVersion is invented: a create has none, an update the one that
//     was sent, a patch its base's. Controllers that wait for their cache to
//     reach what they wrote (k8s.io/kubernetes v1.37.1
//     pkg/controller/util/consistency) are not held up by these.
//   - A create always succeeds, with name, uid and creationTimestamp filled in,
//     an empty status, and 201 also the tenth time: AlreadyExists would make
//     the deployment controller fail on its lister. Repeats are counted in
//     WriteFinished.Repeat.
//   - Updates, patches and deletes start from Options.Lookup, else from one GET.
//     A missing object is 404. A resourceVersion that differs is 409 only where
//     a GET was made: the cache may be behind.
//   - Server-side apply answers its base merged with what was applied.
//
// # Local answers
//
// Options.Local may answer some requests of a dry run from memory, reads among
// them: a leader election, which has to read back what it wrote. What it may send
// to the server is a GET and nothing else.
//
// # Before a write
//
// Options.Before may hold a write up: a breakpoint, a question to the user. It is
// asked once the mode allows the write and before anything else is done, so that
// a request that is given up meanwhile leaves nothing behind. Pending.Preview
// says what the write would change, by the rules of dry-run=client, and
// Pending.Unchanged whether it still would. An error with an API status is the
// writer's answer, and recorded as a refusal.
//
// # Grants
//
// A SandboxGrant proves itself by the certificate authority of an embedded
// control plane. On any other server two things have to come together: the user
// has named the context (Confirm), and package election holds the lease of
// kube-controller-manager. An ElectionGrant joins them: its Gate is asked last,
// after Before, and bounds how long the write may be under way; it is asked once
// more when there is a connection and the body is about to be sent. The lease itself
// is written past that gate, by a Guard of its own with a LeaseGrant, which lets
// out creates and updates of that one Lease only.
//
// # The record
//
// Each write, refused and failed ones included, becomes one
// state.WriteFinished, recorded before the caller gets its answer. Secrets
// reach Options.Diff only, which has to redact; the text of an error about a
// Secret is withheld because it may quote one.
//
// The record of a Kubernetes Event, whatever became of the write, names the object that
// the Event is about, and type, reason and message: of a Secret, no message.
//
// A Guard is safe for concurrent use and starts no goroutine.
package guard
