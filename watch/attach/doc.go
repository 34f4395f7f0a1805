// Package attach lets one-shot verbs look into a kctl-ctrl that is running: what
// stands in its queues, what its informers hold. A fresh process would have
// fresh queues, which are empty, and fresh informers, which are never stale.
//
// # Who listens
//
// Each process that runs loops listens on one unix socket, from Listen until
// Close:
//
//	$XDG_RUNTIME_DIR/kctl-ctrl/attach/4711-k3f9.sock
//
// The socket has mode 0600 and its directory 0700; neither may belong to anybody
// else. The name is made when the socket listens already, so whoever sees it can
// connect; a socket where nobody answers is left over from a killed process, and
// Find removes it. See Directories for where they are looked for.
//
// # What is said
//
// A connection carries one question and its answer, each a JSON document on a
// line:
//
//	{"protocol":1,"ask":"queues","queues":{"keys":100}}
//	{"protocol":1,"process":{…},"queues":[…]}
//
// Every answer says which process gives it. A question of another protocol is
// answered with an error that says which one is spoken. Fields that are not known
// are left out of account, so they can be added.
//
// The answers are plain data of watch/state. Secrets are redacted by the
// answering side: what is not sent cannot leak.
//
// Nothing that is asked changes anything in the other process.
package attach
