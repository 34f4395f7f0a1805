package main

import (
	"context"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/cascade"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/diff"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/exec"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/get/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/get/leases"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/rbac"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/replay"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/revisions"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/run"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/tree"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/tui"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/why"
)

// Of the flags of a command: "" has an effect in each of its modes, or shapes the output
// as kubectl's flag of that name does; anything else is a command line in which the flag
// would do nothing, and which is refused.
const everywhere = ""

// flagModes is by command; "*" is of all that have the flag.
var flagModes = map[string]map[string]string{
	"*": {
		"allow-missing-template-keys": everywhere, "color": everywhere, "no-headers": everywhere, "output": everywhere, "template": everywhere,
		"log-file": everywhere, "log-level": everywhere, "all-namespaces": everywhere, "selector": everywhere, "all": everywhere,
		"namespace": everywhere, "watch": everywhere, "filename": everywhere, "kustomize": everywhere, "at": "--at=1s", "from": everywhere,
		"concurrency": everywhere, "max-requests": everywhere, "cached": everywhere, "chunk-size": everywhere,
		"feature-gates": everywhere, "kube-api-qps": everywhere, "kube-api-burst": everywhere, "controllers": everywhere,
	},
	"run":    runModes,
	"record": recordModes(),
	"exec": {
		"active": everywhere, "approve-policy": everywhere, "ask": everywhere, "audit-log": "--audit-log=x", "command-output": everywhere, "context": "--sandbox --context=x",
		"controllers": "--controllers=job", "dry-run": "--active --dry-run=client", "feature-gates": "--feature-gates=AllAlpha=false", "filename": "-f x", "kustomize": "-k x", "force": "--force",
		"journal-file": everywhere, "kube-api-burst": "--kube-api-burst=9", "kube-api-qps": "--kube-api-qps=9", "kubernetes-version": "--kubernetes-version=1.36",
		"max-size": "--max-size=1Mi", "node-cpu": "--sandbox --nodes=0 --node-cpu=1", "node-memory": "--node-memory=1Gi", "node-pods": "--sandbox --nodes=0 --node-pods=1",
		"nodes": "--nodes=1", "pods": "--sandbox --nodes=0 --pods=ready", "record": everywhere, "recursive": "--recursive", "sandbox": everywhere,
		"show-diffs": everywhere, "theme": "--theme=mono", "tui": everywhere, "verbose": everywhere, "color": everywhere, "output": everywhere, // with --tui: exec.txtar
	},
	"tui": screenModes, "": screenModes,
	"diff": {
		"force": "-f $W --force", "max-size": "-f $W --max-size=1Mi", "audit-log": everywhere, "at": everywhere, "base": everywhere, "horizon": everywhere, "kubernetes-version": everywhere, "nodes": everywhere,
		"node-cpu": "-f $W --nodes=0 --node-cpu=1", "node-memory": "-f $W --nodes=0 --node-memory=1Gi", "node-pods": "-f $W --nodes=0 --node-pods=1", "pods": "-f $W --nodes=0 --pods=ready",
		"recursive": "-k $D --recursive", "timeout": everywhere, "untapped": everywhere,
	},
	"sandbox": {
		"force": "--force", "max-size": "--max-size=1Mi", "audit-log": everywhere, "kubernetes-version": everywhere, "nodes": everywhere,
		"node-cpu": "--nodes=0 --node-cpu=1", "node-memory": "--nodes=0 --node-memory=1Gi", "node-pods": "--nodes=0 --node-pods=1", "pods": "--nodes=0 --pods=ready", "untapped": everywhere,
	},
	"replay": {"show-diffs": "x --summary --show-diffs", "speed": "x --summary --speed=1", "summary": everywhere, "verbose": "x --summary --verbose"},
	"queues": {
		"attach": "--from=x --attach=1", "check": "--watch --check=depth=1", "context": "--metrics-url=http://127.0.0.1:1 --context=x", "controllers": "--from=x --controllers=job", "for": "--attach=1 --for=1s",
		"insecure-metrics": "--insecure-metrics", "interval": "--interval=1s", "keys": "--metrics-url=http://127.0.0.1:1 --keys", "metrics-ca": "--metrics-ca=x",
		"metrics-from": "--from=x --metrics-from=pod/a", "metrics-url": "--from=x --metrics-url=http://127.0.0.1:1", "namespace": "--from=x -n a", "sort-by": everywhere, "watch": "--from=x --watch",
	},
	"leases":      {"expired": everywhere, "nodes": everywhere, "renewals": "--renewals"},
	"informers":   {"attach": "--from=x --attach=1", "context": "--from=x --context=x", "controllers": "--attach=1 --controllers=job", "for": "--from=x --for=1s", "namespace": "--from=x -n a"},
	"controllers": {},
	"tree": {
		"api-groups": "pod/a --up --api-groups=apps", "cached": "pod/a --up --cached", "chunk-size": "pod/a --up --chunk-size=9", "depth": "pod/a --up --depth=1", "recursive": "pod/a -R",
		"root": "pod/a --up --root", "status": everywhere, "status-limit": "pod/a --status=false --status-limit=9", "up": everywhere, "watch": "pod/a --up --watch", "all": "-f x --all", "selector": "-f x -l a=b",
	},
	"cascade":   {"policy": everywhere, "recursive": "pod/a -R"},
	"why":       {"dry-run": "pod/a --loops=false --dry-run=server", "loops": everywhere, "timeout": "pod/a --loops=false --timeout=9s"},
	"revisions": {"diff": "deployment/a --undo=1 --diff=1", "undo": everywhere, "watch": "deployment/a --undo=1 --watch"},
	"cache":     {"attach": everywhere, "timeout": "pods --attach=1 --timeout=9s", "offline": everywhere, "wait": "pods --offline --wait=1s", "all-namespaces": "pods/a -A"},
	"rbac": {
		"bind": everywhere, "check": "--offline --check", "context": "--offline --context=x", "controllers": "--scheduler --controllers=job", "impersonate-controllers": "--mode=observe --impersonate-controllers",
		"mode": everywhere, "name": everywhere, "offline": everywhere, "scheduler": "--scheduler --mode=observe", "verbs": everywhere, "namespace": "--scheduler -n a",
	},
	"validate": {"exec": everywhere},
	"info":     {}, "version": {},
}

var runModes = map[string]string{
	"active": everywhere, "approve-policy": "--approve-policy=x", "ask": "--ask", "audit-log": "--audit-log=x", "confirm": "--confirm=x", "context": "--sandbox --context=x",
	"controllers": "--scheduler --controllers=job", "dry-run": "--active --dry-run=client", "filename": "-f x", "kustomize": "-k x", "for": "--until-settled --timeout=1s --for=1s",
	"force": "--force", "health-address": everywhere, "horizon": "--horizon=1s", "impersonate-controllers": "--scheduler --impersonate-controllers",
	"kubernetes-version": everywhere, "max-size": "--max-size=1Mi", "namespace": "--scheduler -n a", "no-wait": "--no-wait", "node-cpu": "--sandbox --nodes=0 --node-cpu=1", "node-memory": "--node-memory=1Gi",
	"node-pods": "--sandbox --nodes=0 --node-pods=1", "nodes": "--nodes=1", "pods": "--sandbox --nodes=0 --pods=ready", "record": everywhere, "recursive": "--recursive",
	"sandbox": "--sandbox --scheduler", "scheduler": everywhere, "show-diffs": everywhere, "timeout": "--timeout=1s", "until-settled": everywhere, "verbose": everywhere,
	"untapped": "--scheduler --untapped=allow",
}

// recordModes are those of record, which prints no journal and has a recording.
func recordModes() map[string]string {
	modes := maps.Clone(runModes)
	for _, name := range []string{"approve-policy", "ask", "record", "show-diffs", "verbose"} {
		delete(modes, name)
	}
	modes["force"], modes["max-size"] = everywhere, everywhere
	return modes
}

var screenModes = map[string]string{
	"force": "--force", "max-size": "--max-size=1Mi", "active": "--from=x --active", "approve-policy": "--from=x --approve-policy=x", "ask": "--from=x --ask", "audit-log": "--audit-log=x", "context": "--sandbox --context=x", "controllers": "--from=x --controllers=job",
	"dry-run": "--from=x --dry-run=client", "filename": "-f x", "kustomize": "-k x", "impersonate-controllers": "--from=x --impersonate-controllers", "kubernetes-version": "--from=x --kubernetes-version=1.36",
	"log-file": "--from=x --log-file=x", "log-level": "--from=x --log-level=1", "namespace": "--from=x -n a", "no-wait": "--sandbox --no-wait", "node-cpu": "--sandbox --nodes=0 --node-cpu=1", "node-memory": "--node-memory=1Gi",
	"node-pods": "--sandbox --nodes=0 --node-pods=1", "nodes": "--nodes=1", "page": everywhere, "plain": everywhere, "pods": "--sandbox --nodes=0 --pods=ready", "recursive": "--recursive", "sandbox": "--from=x --sandbox",
	"theme": "--plain --theme=mono", "feature-gates": "--from=x --feature-gates=AllAlpha=false", "kube-api-qps": "--from=x --kube-api-qps=9", "kube-api-burst": "--from=x --kube-api-burst=9", "from": everywhere,
	"untapped": "--from=x --untapped=allow",
}

// Flags that do nothing as a command is called are refused, by name; and each flag that
// a command has is listed, so that a new one is thought about.
func TestFlagsWithoutEffectAreRefused(t *testing.T) {
	t.Setenv("KUBECONFIG", "/nowhere")
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	t.Setenv("KCTL_CTRL_ATTACH_DIR", t.TempDir())
	web, err := filepath.Abs(filepath.Join("..", "..", "examples", "shop"))
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	eachFlag(newRoot("kctl-ctrl", genericiooptions.NewTestIOStreamsDiscard()), func(cmd *cobra.Command, f *pflag.Flag) {
		name := strings.TrimPrefix(cmd.Name(), "kctl-ctrl")
		if slices.Contains(cliflags.ClusterNames(), f.Name) && f.Name != "context" || cmd.Name() == "queues" && f.Name == "at" {
			return // --context stands for all that say which cluster is meant
		}
		line, listed := flagModes[name][f.Name]
		if !listed {
			line, listed = flagModes["*"][f.Name]
		} else {
			seen[name+"/"+f.Name] = true
		}
		switch {
		case f.Name == "context" && !listed, f.Hidden && !listed:
			return
		case !listed:
			t.Errorf("%s --%s is not listed: in which modes has it an effect?", cmd.CommandPath(), f.Name)
			return
		case line == everywhere, name == "": // the root's flags are tui's
			return
		}
		args := strings.Fields(strings.NewReplacer("$W", filepath.Join(web, "web.yaml"), "$D", web).Replace(line))
		make := constructors[name]
		if make == nil {
			t.Errorf("add %s to constructors", cmd.CommandPath())
			return
		}
		if name == "exec" {
			args = append(args, "--", "true")
		}
		if name == "record" {
			args = append(args, "-o", filepath.Join(t.TempDir(), "x.jsonl"))
		}
		if err := refusedBeforeStart(make, args); err == nil || !strings.Contains(err.Error(), f.Name) && !(f.Shorthand != "" && strings.Contains(err.Error(), "-"+f.Shorthand)) {
			t.Errorf("%s: want an error that names --%s, got: %v", cmd.CommandPath()+" "+strings.Join(args, " "), f.Name, err)
		}
	})
	for name, flags := range flagModes {
		for flag := range flags {
			if name != "*" && !seen[name+"/"+flag] {
				t.Errorf("%s has no --%s", name, flag)
			}
		}
	}
}

// refusedBeforeStart runs a command line that is to be refused before anything starts:
// all that it would wait for ends at once.
func refusedBeforeStart(make func(genericiooptions.IOStreams) *cobra.Command, args []string) error {
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	cmd := make(genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: io.Discard})
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	cmd.SetArgs(args)
	return cmd.ExecuteContext(ctx)
}

// constructors make one command: all of them together take ten times as long.
var constructors = map[string]func(genericiooptions.IOStreams) *cobra.Command{
	"run": run.New, "record": run.NewRecord, "exec": exec.New, "tui": tui.New, "diff": diff.New, "sandbox": sandbox.New,
	"replay": replay.New, "queues": newGetQueuesCommand, "leases": leases.New, "informers": newGetInformersCommand, "controllers": controllers.New,
	"tree": tree.New, "cascade": cascade.New, "why": why.New, "revisions": revisions.New, "cache": newCacheCommand, "rbac": rbac.New,
}

// -o is an output format in other commands, and a file in record.
func TestRecordIsNotAFormat(t *testing.T) {
	for _, name := range []string{"json", "yaml", "wide", "text", "name", "jsonpath"} {
		if err := run.CheckRecordFile(name); err == nil || !strings.Contains(err.Error(), "./"+name) {
			t.Errorf("-o %s: %v", name, err)
		}
	}
	for _, name := range []string{"json.jsonl", "./json", "x.zst", "text/json"} {
		if err := run.CheckRecordFile(name); err != nil {
			t.Errorf("-o %s: %v", name, err)
		}
	}
}
