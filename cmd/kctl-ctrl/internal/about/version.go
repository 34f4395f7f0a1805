// Package about says what this program is and where it keeps its files: its version and
// that of the Kubernetes in it, the API version of its documents, and the directories
// for state and recordings. It looks, and makes nothing.
package about

import (
	"runtime"
	"runtime/debug"
)

// version is set by the release's linker flags; a build from source says what
// the Go toolchain recorded.
var version = ""

// VersionInfo is what `version -o json` prints.
type VersionInfo struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	Version    string `json:"version"`
	Revision   string `json:"revision,omitempty"`
	// Kubernetes is the release the embedded loops, scheduler and API server
	// were built from, unmodified.
	Kubernetes string `json:"kubernetes"`
	Go         string `json:"go"`
	Platform   string `json:"platform"`
}

// Version reads what the build recorded.
func Version() VersionInfo {
	info := VersionInfo{
		APIVersion: APIVersion, Kind: "Version",
		Version: version, Kubernetes: "unknown", Go: runtime.Version(), Platform: runtime.GOOS + "/" + runtime.GOARCH,
	}
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return info
	}
	if info.Version == "" {
		info.Version = build.Main.Version
	}
	for _, setting := range build.Settings {
		if setting.Key == "vcs.revision" {
			info.Revision = setting.Value
		}
	}
	for _, dep := range build.Deps {
		if dep.Path == "k8s.io/kubernetes" {
			info.Kubernetes = dep.Version
		}
	}
	return info
}

// APIVersion marks every document this program writes for machines.
const APIVersion = "kctl-ctrl.dev/v1alpha1"
