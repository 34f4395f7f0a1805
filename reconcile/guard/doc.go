// Package guard is the only path for writes. It wraps the transport of every client of
// the program and decides for each request whether it may be sent.
//
//	target, err := connect.TargetOf(loader)
//	g, err := guard.New(guard.Options{Mode: state.ModeDryRunClient, Server: target.Server(), Recorder: hub})
//	config, err := target.Config(g.Wrap, limits)
//
// # Kinds of requests
//
// Classify parses a request as kube-apiserver would (k8s.io/apiserver v0.37.1
// pkg/endpoints/request/requestinfo.go) and assigns one of six kinds. The default is to
// deny: what it does not understand is KindUnknown and is never sent, in any mode.
//
//	kind      examples                                   result
//	read      GET and HEAD of objects, lists, watches,   passes
//	          discovery, health, metrics
//	review    POST of a SubjectAccessReview and its      passes: it stores
//	          kind                                       nothing
//	write     POST, PUT, PATCH, DELETE of what a table   see below
//	          lists by verb, group, resource, subresource
//	connect   exec, attach, portforward, proxy, also     refused: it acts, dry
//	          as GET                                     run or not; but see
//	                                                     Options.PortForward
//	upgrade   any request that asks for another protocol refused
//	unknown   everything else                            refused
//
// # What happens to a write
//
//	mode            result
//	read-only       refused
//	dry-run=client  answered in this process; at most one GET is sent
//	dry-run=server  sent with dryRun=All, or refused where that is not honoured
//	active          sent as it is; needs a Grant
//
// Requests of any kind are sent only to the server of the session (Options.Server).
// http.Client follows redirects, and client-go adds the user's token to each hop; and a
// dryRun on another server proves nothing.
//
// A refusal is an HTTP 403 whose Status has the cause CauseRefused, so that a client sees
// an ordinary API error; see Refused. It causes no busy retries: every controller backs off
// on Forbidden.
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
// latter unless Options.TrustsDryRun accepts the group. Before a request is sent, it is
// parsed once more, as the server will parse it, and refused if it is not a dry run.
//
// # dry-run=client
//
// Package fakeapi answers as the API server would, without its defaulting, admission and
// storage, from Options.Lookup or else from one GET. A computed answer is marked
// Approximate; repeats are counted in WriteFinished.Repeat.
//
// # Local answers
//
// Options.Local may answer some requests of a dry run from memory, including reads: a
// leader election must read what it wrote. It may send only GET requests to the server.
//
// # Before a write
//
// Options.Before may hold a write: for a breakpoint or a pending approval. It is called
// when the mode allows the write and before anything else is done, so that a request that
// is cancelled meanwhile leaves nothing behind. Pending.Preview returns what the write would
// change, by the rules of dry-run=client, and Pending.Unchanged whether it still would. An
// error with an API status is returned to the writer, and recorded as a refusal.
//
// # Grants
//
// A SandboxGrant requires the certificate authority of an embedded control plane. On any
// other server two conditions are necessary: the user has named the context (Confirm), and
// package election holds the lease of kube-controller-manager. An ElectionGrant combines
// them: its Gate is checked last, after Before, and limits how long the write may be in
// progress; it is checked once more when there is a connection and the body is about to be
// sent. The lease itself does not pass that gate: a separate Guard with a LeaseGrant
// writes it, which sends only creates and updates of that one Lease.
//
// # The record
//
// Each write, refused and failed ones included, becomes one
// state.WriteFinished, recorded before the caller gets its answer. Secrets
// reach only Options.Diff, which must redact them; the text of an error about a
// Secret is left out because it may quote one.
//
// The record of a Kubernetes Event, whatever the result of the write, names the object that
// the Event is about, and type, reason and message; for a Secret, no message.
//
// A Guard is safe for concurrent use and starts no goroutine.
package guard
