package queues

import (
	"context"
	"fmt"
	"reflect"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/cliflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/metrics"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// follow looks at the queues again and again until the user has enough or the
// process is gone.
func (o *Options) follow(ctx context.Context, in cliflags.Cluster) error {
	switch {
	case o.source.url != "":
		client, err := o.source.client(o.source.url, nil, nil)
		if err != nil {
			return err
		}
		defer client.Close()
		return explainURL(o.followMetrics(ctx, client, o.source.url))
	case o.source.given():
		return o.withPod(ctx, in, func(client *connect.MetricsClient, source string) error {
			return o.followMetrics(ctx, client, source)
		})
	}
	host, closing, err := o.attach.OpenIn(ctx, o.IOStreams, in)
	if err != nil {
		return err
	}
	defer closing()
	return o.watching(ctx, func() ([]state.QueueStats, state.Process, error) {
		queues, err := host.Queues(ctx, o.query())
		return queues, host.Process(), err
	})
}

// followMetrics takes the rates from each two readings in a row.
func (o *Options) followMetrics(ctx context.Context, client *connect.MetricsClient, source string) error {
	var before *metrics.Scrape
	return o.watching(ctx, func() ([]state.QueueStats, state.Process, error) {
		now, err := o.scrapeOnce(ctx, client)
		if err != nil {
			return nil, state.Process{}, err
		}
		queues := now.Queues(before)
		before = now
		return queues, state.Process{Source: source}, nil
	})
}

// watching prints what look sees, every interval.
func (o *Options) watching(ctx context.Context, look func() ([]state.QueueStats, state.Process, error)) error {
	ticker := time.NewTicker(o.interval)
	defer ticker.Stop()
	var known []state.QueueStats
	for first := true; ; first = false {
		queues, process, err := look()
		if err != nil {
			return err
		}
		if queues, err = o.arrange(queues); err != nil {
			return err
		}
		if err := o.printChanges(known, queues, process, first); err != nil {
			return err
		}
		known = queues
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// printChanges draws the table again on a terminal; elsewhere it prints the
// queues that changed.
func (o *Options) printChanges(before, now []state.QueueStats, process state.Process, first bool) error {
	if o.printer.ForPeople() && console.IsTerminal(o.Out) {
		if !first {
			fmt.Fprint(o.Out, console.ClearScreen)
		}
		table := o.queueTable(now, o.printer.Format() == "wide")
		if err := table.Write(o.Out, render.TableOptions{NoHeaders: o.printer.NoHeaders, Color: o.printer.Color}); err != nil || !o.keys {
			return err
		}
		return o.printKeys(now)
	}
	if changed := changedQueues(before, now); len(changed) > 0 || first {
		return o.print(changed, process)
	}
	return nil
}

// changedQueues are those that are not as they were. That time goes by is no
// change: neither of the age of a key or a sync, nor of a rate or a latency
// without a new key.
func changedQueues(before, now []state.QueueStats) []state.QueueStats {
	type id struct{ context, controller, name string }
	was := map[id]state.QueueStats{}
	for _, q := range before {
		was[id{q.Context, q.Controller, q.Name}] = timeless(q)
	}
	changed := []state.QueueStats{}
	for _, q := range now {
		if old, known := was[id{q.Context, q.Controller, q.Name}]; !known || !reflect.DeepEqual(old, timeless(q)) {
			changed = append(changed, q)
		}
	}
	return changed
}

func timeless(q state.QueueStats) state.QueueStats {
	q.Unfinished, q.Longest, q.Oldest = nil, nil, nil
	q.Wait, q.Work, q.RecentWait, q.RecentWork = nil, nil, nil, nil
	for _, c := range []**state.Counter{&q.Adds, &q.Retries, &q.Syncs, &q.Errors} {
		if *c != nil {
			*c = &state.Counter{Total: (*c).Total}
		}
	}
	return q
}
