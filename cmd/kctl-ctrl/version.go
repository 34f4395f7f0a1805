package main

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// version is set by the release's linker flags; a build from source says what
// the Go toolchain recorded.
var version = ""

// versionInfo is what `version -o json` prints.
type versionInfo struct {
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

func programVersion() versionInfo {
	info := versionInfo{
		APIVersion: apiVersion, Kind: "Version",
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

func newVersionCommand(streams genericiooptions.IOStreams) *cobra.Command {
	var output string
	cmd := &cobra.Command{
		Use:   "version",
		Short: "Print the version of this program and of the loops in it",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			info := programVersion()
			if err := checkFormat(output, "json", "yaml"); err != nil {
				return err
			}
			if output != "" {
				return printDocument(streams.Out, output, info)
			}
			fmt.Fprintf(streams.Out, "kctl-ctrl %s\nkubernetes %s\n%s %s\n", info.Version, info.Kubernetes, info.Go, info.Platform)
			return nil
		},
	}
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json or yaml")
	return cmd
}
