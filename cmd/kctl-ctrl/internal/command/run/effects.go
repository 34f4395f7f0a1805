package run

import (
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
)

// checkEffects refuses flags of run and record that do nothing as they are called.
func (o *Options) checkEffects() error {
	return cliflags.RefuseNoEffect(o.Set,
		cliflags.NoEffect{In: o.Sandboxed, Flags: cliflags.ClusterNames(), Why: engineflags.OwnControlPlane},
		cliflags.NoEffect{In: !o.UntilSettled, Flags: []string{"horizon", "timeout"}, Why: "without --until-settled: add it, or use --for"},
		cliflags.NoEffect{In: o.Recording.File == "" && o.Sandbox.AuditLog == "", Flags: []string{"max-size"}, Why: "without a file to bound: --record or --audit-log"},
		cliflags.NoEffect{In: o.Recording.File == "" && o.Sandbox.AuditLog == "", Flags: []string{"force"}, Why: "without a file to replace: --record or --audit-log"},
		o.Manifests.NoDirectories(),
		o.Sandbox.NoNodes(o.Sandboxed),
	)
}
