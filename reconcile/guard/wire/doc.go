// Package wire reads and writes the bodies of requests and answers as kube-apiserver
// does: JSON, YAML, CBOR and protobuf; the head of an object without the rest; and
// DeleteOptions and evictions, in which a DELETE says whether it is a dry run.
package wire
