package controlplane

import (
	"fmt"
	_ "unsafe" // for go:linkname

	"k8s.io/component-base/version"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// gitVersion is k8s.io/component-base/version.gitVersion (v0.37.1). Upstream sets
// it with linker flags, which `go install` and `go run` cannot carry; without
// them /version says v0.0.0-master+$Format:%H$ and `kubectl version` fails.
//
//go:linkname gitVersion k8s.io/component-base/version.gitVersion
var gitVersion string

// gitCommit is k8s.io/component-base/version.gitCommit (v0.37.1); unset, it is a
// template.
//
//go:linkname gitCommit k8s.io/component-base/version.gitCommit
var gitCommit string

// announceVersion makes this process call itself what it was built from. Version
// numbers that count were derived from a constant before (package
// apiserver/pkg/util/compatibility falls back to DefaultKubeBinaryVersion).
func announceVersion() error {
	gitVersion, gitCommit = wire.LinkedVersion, ""
	if err := version.SetDynamicVersion(gitVersion); err != nil {
		return fmt.Errorf("set version: %w", err)
	}
	return nil
}
