package main

import (
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
)

const ownControlPlane = "with --sandbox, which starts a control plane of its own: leave one of them out"

// checkEffects refuses flags of run and record that do nothing as they are called.
func (o *runOptions) checkEffects() error {
	return cliflags.RefuseNoEffect(o.flags,
		cliflags.NoEffect{In: o.sandboxed, Flags: cliflags.ClusterNames(), Why: ownControlPlane},
		cliflags.NoEffect{In: !o.untilSettled, Flags: []string{"horizon", "timeout"}, Why: "without --until-settled: add it, or use --for"},
		cliflags.NoEffect{In: o.recording.file == "" && o.sandbox.auditLog == "", Flags: []string{"max-size"}, Why: "without a file to bound: --record or --audit-log"},
		cliflags.NoEffect{In: o.recording.file == "" && o.sandbox.auditLog == "", Flags: []string{"force"}, Why: "without a file to replace: --record or --audit-log"},
		o.manifests.NoDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}

// checkEffects is runOptions.checkEffects for the TUI.
func (o *tuiOptions) checkEffects() error {
	return cliflags.RefuseNoEffect(o.flags,
		cliflags.NoEffect{In: o.from != "", Flags: cliflags.FlagsBeside(o.flags, "from", "plain", "theme", "page", "active", "sandbox", "ask", "approve-policy"), Why: "with --from, which shows a recording: leave one of them out"},
		o.sandbox.noAuditFile(),
		cliflags.NoEffect{In: o.plain, Flags: []string{"theme"}, Why: "with --plain, which prints no colours: leave one of them out"},
		cliflags.NoEffect{In: o.sandboxed, Flags: cliflags.ClusterNames(), Why: ownControlPlane},
		o.manifests.NoDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}

// checkEffects is runOptions.checkEffects for exec.
func (o *execOptions) checkEffects() error {
	return cliflags.RefuseNoEffect(o.flags,
		cliflags.NoEffect{In: o.sandboxed, Flags: cliflags.ClusterNames(), Why: ownControlPlane},
		cliflags.NoEffect{In: o.recording.file == "" && o.journalFile == "" && o.outputFile == "" && o.sandbox.auditLog == "" && !o.screen, Flags: []string{"max-size"}, Why: "without a file to bound: --record, --journal-file, --command-output or --audit-log"},
		cliflags.NoEffect{In: o.recording.file == "" && o.journalFile == "" && o.outputFile == "" && o.sandbox.auditLog == "", Flags: []string{"force"}, Why: "without a file to replace: --record, --journal-file, --command-output or --audit-log"},
		o.manifests.NoDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}
