// Package layouttest holds the tests of package tap that need upstream's
// controllers. They are here so that tap itself, and its tests, build without
// k8s.io/kubernetes/pkg/controller.
package layouttest
