// Package attach lets commands read the state of a running kctl-ctrl: the keys in its queues
// and the contents of its informers. A new process would have new queues, which are empty,
// and new informers, which are never stale.
//
// # The server
//
// Each process that runs controllers listens on one unix socket, from Listen until Close:
//
//	$XDG_RUNTIME_DIR/kctl-ctrl/attach/4711-k3f9.sock
//
// The socket has mode 0600 and its directory 0700; both must belong to the user. The name is
// created when the socket is already listening, so every process that sees it can connect. A
// socket that does not answer was left by a killed process, and Find removes it. Directories
// lists where sockets are searched for.
//
// # The protocol
//
// A connection carries one request and its response, each a JSON document on a line:
//
//	{"protocol":1,"ask":"queues","queues":{"keys":100}}
//	{"protocol":1,"process":{…},"queues":[…]}
//
// Every response identifies its process. A request of another protocol version is answered
// with an error that names the supported version. Unknown fields are ignored, so fields can
// be added.
//
// Responses are plain data of watch/state. The server redacts Secrets: what is not sent cannot
// leak.
//
// No request changes the other process.
package attach
