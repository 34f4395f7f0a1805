package main

// noNodes are the flags of simulated nodes where none is started.
func (f *sandboxFlags) noNodes(started bool) noEffect {
	return noEffect{started && f.nodes == 0, []string{"node-cpu", "node-memory", "node-pods", "pods"}, "with --nodes=0, which simulates no node: leave one of them out"}
}

// noAuditFile is --force and --max-size of a command that makes no other file.
func (f *sandboxFlags) noAuditFile() noEffect {
	return noEffect{f.auditLog == "", []string{"force", "max-size"}, "without --audit-log: add it, or leave this out"}
}
