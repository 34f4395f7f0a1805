package metrics

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Check is a limit for every queue.
type Check struct {
	// What is one of Checkable.
	What  string
	limit float64 // keys, keys per second or seconds
}

// figure is one measurement of a queue.
type figure struct {
	name    string
	time    bool
	rate    bool // per second
	measure func(*state.QueueStats) (float64, bool)
}

// checkable are the supported limits with their measurement, which returns false if the
// queue does not report it.
var checkable = []figure{
	{"depth", false, false, func(q *state.QueueStats) (float64, bool) { return counted(q.Depth) }},
	{"inflight", false, false, func(q *state.QueueStats) (float64, bool) { return counted(q.InFlight) }},
	{"retries", false, true, func(q *state.QueueStats) (float64, bool) { return perSecond(q.Retries) }},
	{"errors", false, true, func(q *state.QueueStats) (float64, bool) { return perSecond(q.Errors) }},
	{"oldest", true, false, oldest},
	{"longest", true, false, func(q *state.QueueStats) (float64, bool) { return lasting(q.Longest) }},
	{"wait", true, false, func(q *state.QueueStats) (float64, bool) { return p99(q.RecentWait, q.Wait) }},
	{"work", true, false, func(q *state.QueueStats) (float64, bool) { return p99(q.RecentWork, q.Work) }},
}

// Checkable lists what can be checked: depth and inflight in keys; retries and errors
// per second, which need two readings (see NeedRates); oldest, longest, wait and work
// as durations.
//
// oldest is the age of the oldest item: the longest running sync and, for controllers
// of this program, the key that has been ready longest. wait and work are the lower
// bounds of the 99th percentile between two scrapes, if anything was observed.
func Checkable() []string {
	names := make([]string, 0, len(checkable))
	for _, c := range checkable {
		names = append(names, c.name)
	}
	return names
}

// ParseChecks reads "depth=100,oldest=5m".
func ParseChecks(text string) ([]Check, error) {
	var checks []Check
	for part := range strings.SplitSeq(text, ",") {
		name, bound, ok := strings.Cut(strings.TrimSpace(part), "=")
		i := slices.IndexFunc(checkable, func(f figure) bool { return f.name == name })
		if !ok || i < 0 {
			return nil, fmt.Errorf("invalid check %q: not NAME=LIMIT with one of %s", part, strings.Join(Checkable(), ", "))
		}
		check := Check{What: name}
		if checkable[i].time {
			d, err := time.ParseDuration(bound)
			if err != nil || d < 0 {
				return nil, fmt.Errorf("invalid check %q: %q is not a duration (example: 30s)", part, bound)
			}
			check.limit = d.Seconds()
		} else {
			v, err := strconv.ParseFloat(bound, 64)
			if err != nil || !(v >= 0) {
				return nil, fmt.Errorf("invalid check %q: %q is not a non-negative number", part, bound)
			}
			check.limit = v
		}
		checks = append(checks, check)
	}
	return checks, nil
}

// Exceeded describes where queues exceed a limit, one sentence each. Reaching the limit
// does not exceed it.
func (c Check) Exceeded(queues []state.QueueStats) []string {
	var out []string
	for i := range queues {
		if v, known := c.measure(&queues[i]); known && v > c.limit {
			out = append(out, fmt.Sprintf("%s: %s is %s, more than %s", Name(&queues[i]), c.What, c.text(v), c.text(c.limit)))
		}
	}
	return out
}

// Stalled describes queues with a ready key and idle workers, one sentence each.
func Stalled(queues []state.QueueStats) []string {
	var out []string
	for i := range queues {
		if s := queues[i].Stalled; s != nil {
			out = append(out, fmt.Sprintf("%s: %s", Name(&queues[i]), state.DescribeParts(*s).Text))
		}
	}
	return out
}

// Measured reports whether any queue reports what is checked. A probe without data
// would always pass.
func (c Check) Measured(queues []state.QueueStats) bool {
	return slices.ContainsFunc(queues, func(q state.QueueStats) bool {
		_, known := c.measure(&q)
		return known
	})
}

func (c Check) measure(q *state.QueueStats) (float64, bool) {
	for _, known := range checkable {
		if known.name == c.What {
			return known.measure(q)
		}
	}
	return 0, false
}

func (c Check) text(v float64) string {
	for _, known := range checkable {
		if known.name == c.What && known.time {
			return state.Short(time.Duration(seconds(v)))
		}
		if known.name == c.What && known.rate {
			return strconv.FormatFloat(v, 'g', 4, 64) + "/s"
		}
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}

// Name is the name of a queue in messages: "kube-scheduler/active".
func Name(q *state.QueueStats) string {
	if q.Controller == "" || q.Controller == q.Name {
		return q.Name
	}
	return q.Controller + "/" + q.Name
}

func counted(n *int64) (float64, bool) {
	if n == nil {
		return 0, false
	}
	return float64(*n), true
}

func perSecond(c *state.Counter) (float64, bool) {
	if c == nil || c.PerSecond == nil {
		return 0, false
	}
	return *c.PerSecond, true
}

func lasting(d *state.Duration) (float64, bool) {
	if d == nil {
		return 0, false
	}
	return time.Duration(*d).Seconds(), true
}

func oldest(q *state.QueueStats) (float64, bool) {
	running, known := lasting(q.Longest)
	standing, alsoKnown := lasting(q.Oldest)
	return max(running, standing), known || alsoKnown
}

func p99(latencies ...*state.Latency) (float64, bool) {
	for _, l := range latencies {
		if l == nil || l.Count == 0 {
			continue
		}
		if l.P99.Above == l.P99.AtMost {
			return time.Duration(l.P99.AtMost).Seconds(), true
		}
		return time.Duration(l.P99.Above).Seconds(), true
	}
	return 0, false
}
