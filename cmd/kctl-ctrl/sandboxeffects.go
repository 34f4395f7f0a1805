package main

import (
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
)

// noNodes are the flags of simulated nodes where none is started.
func (f *sandboxFlags) noNodes(started bool) cliflags.NoEffect {
	return cliflags.NoEffect{In: started && f.nodes == 0, Flags: []string{"node-cpu", "node-memory", "node-pods", "pods"}, Why: "with --nodes=0, which simulates no node: leave one of them out"}
}

// noAuditFile is --force and --max-size of a command that makes no other file.
func (f *sandboxFlags) noAuditFile() cliflags.NoEffect {
	return cliflags.NoEffect{In: f.auditLog == "", Flags: []string{"force", "max-size"}, Why: "without --audit-log: add it, or leave this out"}
}
