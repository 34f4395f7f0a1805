package ownerflags

import (
	"context"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
)

// InOne has read ask the one cluster that the flags name, and shows on standard error what
// it waits for. reason says why several clusters are an error. A signal ends the context of
// read, and is then the error.
func (o *Flags) InOne(ctx context.Context, streams genericiooptions.IOStreams, reason string, read func(ctx context.Context, c *Cluster, progress func(string)) error) error {
	cluster, err := cliflags.OneCluster(o.Cluster, reason)
	if err != nil {
		return err
	}
	ctx, cancel := console.WithSignals(ctx, streams.ErrOut, "stopped")
	defer cancel()
	progress := console.NewProgress(streams.ErrOut)
	defer progress.Done()
	c, err := o.Open(cluster, progress.Line)
	if err != nil {
		return err
	}
	if err := read(ctx, c, progress.Line); err != nil {
		return explain.Cause(ctx, err)
	}
	return nil
}
