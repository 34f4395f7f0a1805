// Package request reads an HTTP request as kube-apiserver would: its verb, its object,
// and whether it reads, writes, asks a question, or opens a connection. What it does not
// know is KindUnknown, which the guard refuses.
//
// Classify is pure. Its reading is compared with upstream's own
// (k8s.io/apiserver/pkg/endpoints/request@v0.37.1) by FuzzGuardClassify; the tables of
// reviews, connects and subresources are in rules.go.
package request
