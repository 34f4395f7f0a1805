package main

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"
)

// freeFlags take any value, or a file, which shells complete by themselves. Every other
// flag that takes a value has a completion.
var freeFlags = []string{
	"as", "as-group", "as-uid", "as-user-extra", "tls-server-name", "token", "request-timeout", "server", "proxy-url", // who and where
	"cache-dir", "certificate-authority", "client-certificate", "client-key", "kubeconfig", "kuberc", "metrics-ca", // files
	"approve-policy", "audit-log", "base", "command-output", "filename", "from", "journal-file", "kustomize", "log-file", "record",
	"at", "for", "horizon", "interval", "timeout", "wait", // times
	"chunk-size", "concurrency", "depth", "kube-api-burst", "kube-api-qps", "max-requests", "max-size", "node-cpu", "node-memory", "node-pods", "nodes", "speed", "status-limit",
	"health-address", "metrics-url", "name", "selector", "template",
}

// fixedValues are those of flags that take one of a few, as COMMAND/FLAG or FLAG.
var fixedValues = map[string][]string{
	"color": {"auto", "always", "never"}, "dry-run": {"client", "server"}, "pods": {"ready", "pending", "failing"},
	"theme": {"default", "high-contrast", "mono"}, "policy": {"background", "foreground", "orphan"}, "mode": {"observe", "dry-run", "dry-run=server", "active"},
	"kubernetes-version": {"1.37"}, "log-level": {"0", "7"}, "page": {"1", "8"}, "check": {"depth=", "retries="}, "bind": {"user:"}, "api-groups": {"core"},
	"feature-gates": {"WatchListClient=true"}, "sort-by": {"depth", "retries"}, "metrics-from": {"pod/", "kube-scheduler"}, "attach": {"none"},
	"controllers": {"deployment-controller", "-deployment-controller"}, "verbs": {"leases"}, "untapped": {"refuse", "allow"},
	"run/output": {"text", "json"}, "exec/output": {"text", "json"}, "replay/output": {"text", "json"}, "diff/output": {"text", "json", "yaml"},
	"info/output": {"json", "yaml"}, "version/output": {"json", "yaml"}, "rbac/output": {"yaml", "json"},
	"queues/output": {"wide", "json", "name", "jsonpath"}, "tree/output": {"dot", "mermaid"}, "why/output": {"text", "yaml"},
	// Of a cluster or a kubeconfig: none is there.
	"cluster": nil, "confirm": nil, "context": nil, "diff": nil, "namespace": nil, "undo": nil, "user": nil,
}

// eachFlag walks the flags of all commands that help shows.
func eachFlag(cmd *cobra.Command, visit func(*cobra.Command, *pflag.Flag)) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if (!f.Hidden || !cmd.HasParent()) && f.Name != "help" && f.Name != "version" {
			visit(cmd, f)
		}
	})
	for _, sub := range cmd.Commands() {
		if sub.Name() != "help" && sub.Name() != "completion" {
			eachFlag(sub, visit)
		}
	}
}

// Every flag that takes one of a few values completes to them.
func TestEveryFlagCompletes(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	root := newRoot("kctl-ctrl", genericiooptions.NewTestIOStreamsDiscard())
	seen := map[string]bool{}
	eachFlag(root, func(cmd *cobra.Command, f *pflag.Flag) {
		name := cmd.Name() + "/" + f.Name
		if f.Value.Type() == "bool" || f.Hidden && !slices.Contains([]string{"theme", "page", "dry-run", "color", "pods"}, f.Name) {
			return
		}
		seen[f.Name], seen[name] = true, true
		want, fixed := fixedValues[name]
		if !fixed {
			want, fixed = fixedValues[f.Name]
		}
		if name == "record/output" || slices.Contains(freeFlags, f.Name) && !fixed {
			return
		}
		complete, ok := cmd.GetFlagCompletionFunc(f.Name)
		if !ok {
			t.Errorf("%s --%s has no completion: give it one, or add it to freeFlags", cmd.CommandPath(), f.Name)
			return
		}
		cmd.SetContext(context.Background())
		offered, directive := complete(cmd, nil, "")
		if directive&cobra.ShellCompDirectiveNoFileComp == 0 {
			t.Errorf("%s --%s offers files too", cmd.CommandPath(), f.Name)
		}
		for _, value := range want {
			if !slices.ContainsFunc(offered, func(o string) bool { o, _, _ = strings.Cut(o, "\t"); return o == value }) {
				t.Errorf("%s --%s does not offer %s: %q", cmd.CommandPath(), f.Name, value, offered)
			}
		}
		if len(want) == 0 && !fixed && f.Name != "output" {
			t.Errorf("%s --%s: say in fixedValues what it takes", cmd.CommandPath(), f.Name)
		}
	})
	for _, name := range freeFlags {
		if !seen[name] {
			t.Errorf("no command has --%s", name)
		}
	}
	for name := range fixedValues {
		if !seen[name] {
			t.Errorf("no command has %s", name)
		}
	}
}

// The arguments of every command that takes names complete.
func TestArgumentsComplete(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	for line, want := range map[string]string{
		"tree dep":                       "deployment/",
		"cascade dep":                    "deployment/",
		"why persistentvolume":           "persistentvolumeclaim/",
		"revisions sts":                  "sts/",
		"get queues deployment-co":       "deployment-controller",
		"get queues garbage_collector_a": "garbage_collector_attempt_to_delete",
		"get queues deployment repl":     "replicaset",
		"get informers deployments.":     "deployments.apps",
		"get informers pods deployment":  "deployments.apps",
		"get controllers job":            "job-controller",
		"cache deployments.":             "deployments.apps",
	} {
		root := newRoot("kctl-ctrl", genericiooptions.NewTestIOStreamsDiscard())
		words := strings.Fields(line)
		cmd, args, err := root.Find(words[:len(words)-1])
		if err != nil {
			t.Fatal(err)
		}
		cmd.SetContext(t.Context())
		if offered, _ := cmd.ValidArgsFunction(cmd, args, words[len(words)-1]); !slices.Contains(offered, want) {
			t.Errorf("%q does not offer %s: %q", line, want, offered)
		}
	}
}
