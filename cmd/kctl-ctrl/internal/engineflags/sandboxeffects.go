package engineflags

import (
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
)

// NoNodes are the flags of simulated nodes where none is started.
func (f *Sandbox) NoNodes(started bool) cliflags.NoEffect {
	return cliflags.NoEffect{In: started && f.nodes == 0, Flags: []string{"node-cpu", "node-memory", "node-pods", "pods"}, Why: "with --nodes=0, which simulates no node: leave one of them out"}
}

// NoAuditFile is --force and --max-size of a command that makes no other file.
func (f *Sandbox) NoAuditFile() cliflags.NoEffect {
	return cliflags.NoEffect{In: f.AuditLog == "", Flags: []string{"force", "max-size"}, Why: "without --audit-log: add it, or leave this out"}
}
