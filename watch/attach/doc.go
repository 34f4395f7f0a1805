// Package attach lets one-shot commands query a running kctl-ctrl: the contents of its
// queues and informers. A new process would have new queues, which are empty, and new
// informers, which are never stale.
//
// # Who listens
//
// Each process that runs controllers listens on one unix socket, from Listen until
// Close:
//
//	$XDG_RUNTIME_DIR/kctl-ctrl/attach/4711-k3f9.sock
//
// The socket has mode 0600 and its directory 0700; both must belong to this user. The
// name is created after the socket listens, so whoever sees it can connect; a socket
// that nobody listens on was left by a killed process, and Find removes it. Directories
// lists where sockets are looked for.
//
// # Protocol
//
// A connection carries one request and its response, each a JSON document on one line:
//
//	{"protocol":1,"ask":"queues","queues":{"keys":100}}
//	{"protocol":1,"process":{…},"queues":[…]}
//
// Every response identifies the process. A request with another protocol version is
// answered with an error that contains the supported version. Unknown fields are
// ignored, so that fields can be added.
//
// Responses are plain data of watch/state. The responding process redacts Secrets: what
// is not sent cannot leak.
//
// Requests change nothing in the other process.
package attach
