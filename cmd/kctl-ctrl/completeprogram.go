package main

import (
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
)

// completeProgram is the name by which kubectl asks a plugin called "ctrl" for
// completions (k8s.io/kubectl v0.37.1 pkg/cmd/plugin_completion.go): with the
// words of the command line, the last one unfinished.
const completeProgram = "kubectl_complete-ctrl"

// commandArgs are the words of a command line for the command tree. Called as
// completeProgram, all of them are words to complete.
func commandArgs(args []string) []string {
	if strings.TrimSuffix(filepath.Base(args[0]), ".exe") == completeProgram {
		return append([]string{cobra.ShellCompRequestCmd}, args[1:]...)
	}
	return args[1:]
}
