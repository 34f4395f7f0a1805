package main

const ownControlPlane = "with --sandbox, which starts a control plane of its own: leave one of them out"

// checkEffects refuses flags of run and record that do nothing as they are called.
func (o *runOptions) checkEffects() error {
	return refuseNoEffect(o.flags,
		noEffect{o.sandboxed, clusterFlags(), ownControlPlane},
		noEffect{!o.untilSettled, []string{"horizon", "timeout"}, "without --until-settled: add it, or use --for"},
		noEffect{o.recording.file == "" && o.sandbox.auditLog == "", []string{"max-size"}, "without a file to bound: --record or --audit-log"},
		noEffect{o.recording.file == "" && o.sandbox.auditLog == "", []string{"force"}, "without a file to replace: --record or --audit-log"},
		o.manifests.noDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}

// checkEffects is runOptions.checkEffects for the TUI.
func (o *tuiOptions) checkEffects() error {
	return refuseNoEffect(o.flags,
		noEffect{o.from != "", flagsBeside(o.flags, "from", "plain", "theme", "page", "active", "sandbox", "ask", "approve-policy"), "with --from, which shows a recording: leave one of them out"},
		o.sandbox.noAuditFile(),
		noEffect{o.plain, []string{"theme"}, "with --plain, which prints no colours: leave one of them out"},
		noEffect{o.sandboxed, clusterFlags(), ownControlPlane},
		o.manifests.noDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}

// checkEffects is runOptions.checkEffects for exec.
func (o *execOptions) checkEffects() error {
	return refuseNoEffect(o.flags,
		noEffect{o.sandboxed, clusterFlags(), ownControlPlane},
		noEffect{o.recording.file == "" && o.journalFile == "" && o.outputFile == "" && o.sandbox.auditLog == "" && !o.screen, []string{"max-size"}, "without a file to bound: --record, --journal-file, --command-output or --audit-log"},
		noEffect{o.recording.file == "" && o.journalFile == "" && o.outputFile == "" && o.sandbox.auditLog == "", []string{"force"}, "without a file to replace: --record, --journal-file, --command-output or --audit-log"},
		o.manifests.noDirectories(),
		o.sandbox.noNodes(o.sandboxed),
	)
}
