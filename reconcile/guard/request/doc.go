// Package request parses an HTTP request as kube-apiserver would: its verb, its object, and
// whether it is a read, a write, a review or a connection. What it does not recognise is
// KindUnknown, which the guard refuses.
//
// Classify is pure. FuzzGuardClassify compares its result with that of upstream's own parser
// (k8s.io/apiserver/pkg/endpoints/request@v0.37.1); the tables of reviews, connects and
// subresources are in rules.go.
package request
