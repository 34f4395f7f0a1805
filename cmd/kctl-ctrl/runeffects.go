package main

import (
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
)

// checkEffects refuses flags of run and record that do nothing as they are called.
func (o *runCommand) checkEffects() error {
	return cliflags.RefuseNoEffect(o.flags,
		cliflags.NoEffect{In: o.sandboxed, Flags: cliflags.ClusterNames(), Why: ownControlPlane},
		cliflags.NoEffect{In: !o.untilSettled, Flags: []string{"horizon", "timeout"}, Why: "without --until-settled: add it, or use --for"},
		cliflags.NoEffect{In: o.recording.file == "" && o.sandbox.auditLog == "", Flags: []string{"max-size"}, Why: "without a file to bound: --record or --audit-log"},
		cliflags.NoEffect{In: o.recording.file == "" && o.sandbox.auditLog == "", Flags: []string{"force"}, Why: "without a file to replace: --record or --audit-log"},
		o.manifests.NoDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}
