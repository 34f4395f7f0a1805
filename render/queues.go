package render

import (
	"slices"
	"strconv"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// QueueOptions control a table of queues.
type QueueOptions struct {
	Wide bool
	// Steady keeps columns without known values: a later table of the same stream may
	// have them.
	Steady bool
}

// queueColumn is one column of a table of queues. It is omitted if no queue has a
// value, unless always is set.
type queueColumn struct {
	title  string
	text   bool
	always bool
	wide   bool
	cell   func(*state.QueueStats) string
}

var queueColumns = []queueColumn{
	{title: "CONTEXT", text: true, cell: func(q *state.QueueStats) string { return OrNone(q.Context) }},
	{title: "CONTROLLER", text: true, cell: func(q *state.QueueStats) string { return OrNone(q.Controller) }},
	{title: "QUEUE", text: true, always: true, cell: func(q *state.QueueStats) string { return OrNone(q.Name) }},
	{title: "DEPTH", always: true, cell: func(q *state.QueueStats) string { return figure(q.Depth) }},
	{title: "DELAYED", cell: func(q *state.QueueStats) string { return figure(q.Waiting) }},
	{title: "IN FLIGHT", always: true, cell: func(q *state.QueueStats) string { return figure(q.InFlight) }},
	{title: "WORKERS", wide: true, cell: func(q *state.QueueStats) string { return figure(q.Workers) }},
	{title: "LONGEST", always: true, cell: func(q *state.QueueStats) string { return lastingFor(q.Longest) }},
	{title: "UNFINISHED", wide: true, cell: func(q *state.QueueStats) string { return lastingFor(q.Unfinished) }},
	{title: "OLDEST", wide: true, cell: func(q *state.QueueStats) string { return lastingFor(q.Oldest) }},
	{title: "ADDS", always: true, cell: func(q *state.QueueStats) string { return totalOf(q.Adds) }},
	{title: "ADDS/S", cell: func(q *state.QueueStats) string { return rateOf(q.Adds) }},
	{title: "RETRIES", always: true, cell: func(q *state.QueueStats) string { return totalOf(q.Retries) }},
	{title: "RETRIES/S", cell: func(q *state.QueueStats) string { return rateOf(q.Retries) }},
	{title: "SYNCS", wide: true, cell: func(q *state.QueueStats) string { return totalOf(q.Syncs) }},
	{title: "SYNCS/S", wide: true, cell: func(q *state.QueueStats) string { return rateOf(q.Syncs) }},
	{title: "ERRORS", cell: func(q *state.QueueStats) string { return totalOf(q.Errors) }},
	{title: "ERRORS/S", wide: true, cell: func(q *state.QueueStats) string { return rateOf(q.Errors) }},
	{title: "WAIT P50", wide: true, cell: func(q *state.QueueStats) string { return p50(q.Wait) }},
	{title: "WAIT P99", cell: func(q *state.QueueStats) string { return p99(q.Wait) }},
	{title: "WORK P50", wide: true, cell: func(q *state.QueueStats) string { return p50(q.Work) }},
	{title: "WORK P99", cell: func(q *state.QueueStats) string { return p99(q.Work) }},
	{title: "RECENT WAIT P99", wide: true, cell: func(q *state.QueueStats) string { return p99(q.RecentWait) }},
	{title: "RECENT WORK P99", wide: true, cell: func(q *state.QueueStats) string { return p99(q.RecentWork) }},
}

// Queues is a table of work queues. Latencies have the precision of their histogram:
// "1.2ms" is a measurement, "≤1ms" the upper bound of a bucket, ">10s" is above the
// last bucket.
func Queues(queues []state.QueueStats, o QueueOptions) Table {
	rows := make([][]string, len(queues))
	var t Table
	for _, c := range queueColumns {
		if c.wide && !o.Wide {
			continue
		}
		cells := make([]string, len(queues))
		for i := range queues {
			cells[i] = c.cell(&queues[i])
		}
		if !c.always && (!o.Steady || c.text) && !slices.ContainsFunc(cells, func(cell string) bool { return cell != NoFigure && cell != None }) {
			continue
		}
		t.Columns = append(t.Columns, Column{Title: c.title, Right: !c.text})
		for i, cell := range cells {
			rows[i] = append(rows[i], cell)
		}
	}
	t.Rows = rows
	return t
}

// QueueKeys is a table of the keys that the queues list, with the number of keys left
// out.
func QueueKeys(queues []state.QueueStats, times Times) Table {
	t := Table{Columns: []Column{
		{Title: "QUEUE"}, {Title: "KEY", Max: 80}, {Title: "PHASE"}, {Title: "SINCE"}, {Title: "DUE"},
		{Title: "RETRIES", Right: true}, {Title: "CAUSE", Max: 80}, {Title: "LAST ERROR", Max: 80},
	}}
	for _, q := range queues {
		for _, k := range q.Keys {
			t.Rows = append(t.Rows, []string{
				q.Name, k.Key, string(k.Phase), times.Since(k.Since), times.Until(k.Due),
				strconv.Itoa(k.Retries), OrNone(k.Cause.String()), Resolved(k.LastError, k.LastErrorCleared),
			})
		}
		if q.MoreKeys > 0 {
			t.Rows = append(t.Rows, []string{q.Name, "and " + strconv.Itoa(q.MoreKeys) + " more"})
		}
	}
	return t
}

func figure(n *int64) string {
	if n == nil {
		return NoFigure
	}
	return strconv.FormatInt(*n, 10)
}

func totalOf(c *state.Counter) string {
	if c == nil {
		return NoFigure
	}
	return number(c.Total)
}

func rateOf(c *state.Counter) string {
	if c == nil || c.PerSecond == nil {
		return NoFigure
	}
	switch v := *c.PerSecond; {
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v == 0:
		return "0"
	default:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
}

// lastingFor formats a current duration; below a millisecond it is NoFigure.
func lastingFor(d *state.Duration) string {
	switch {
	case d == nil:
		return NoFigure
	case time.Duration(*d) < time.Millisecond:
		return "0s"
	}
	return state.Short(time.Duration(*d))
}

func p50(l *state.Latency) string {
	if l == nil || l.Count == 0 {
		return NoFigure
	}
	return quantile(l.P50)
}

func p99(l *state.Latency) string {
	if l == nil || l.Count == 0 {
		return NoFigure
	}
	return quantile(l.P99)
}

func quantile(q state.Quantile) string {
	above, atMost := time.Duration(q.Above), time.Duration(q.AtMost)
	switch {
	case atMost == 0 && above > 0:
		return ">" + state.Short(above)
	case above == atMost:
		return roughly(atMost)
	}
	return "≤" + state.Short(atMost)
}
