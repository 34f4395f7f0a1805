package metrics

import (
	"cmp"
	"maps"
	"math"
	"slices"
	"time"

	dto "github.com/prometheus/client_model/go"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// SchedulerController is the controller name of rows from scheduler_*.
const SchedulerController = "kube-scheduler"

// id identifies a queue in a process.
type id struct{ controller, name string }

// measured is what a process reports about one queue.
type measured struct {
	depth, adds, retries     number
	unfinished, longest      number
	active, workers          number
	reconciles, failed       number
	wait, work, reconcileFor *histogram
}

// number is a sum of samples, or nothing.
type number struct {
	v  float64
	ok bool
}

// add ignores NaN, the value of a gauge that was never set.
func (n *number) add(v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		n.v, n.ok = n.v+v, true
	}
}

func (n *number) largest(v float64) {
	if !math.IsNaN(v) && !math.IsInf(v, 0) {
		n.v, n.ok = max(n.v, v), true
	}
}

func (n number) count() *int64 {
	if !n.ok || n.v < 0 || n.v > math.MaxInt32 {
		return nil
	}
	return new(int64(math.Round(n.v)))
}

func (n number) duration() *state.Duration {
	if !n.ok || n.v < 0 {
		return nil
	}
	return new(seconds(n.v))
}

// seconds does not overflow: the maximum is 100 years.
func seconds(v float64) state.Duration {
	const most = 100 * 365 * 24 * time.Hour
	if v >= most.Seconds() {
		return state.Duration(most)
	}
	return state.Duration(v * float64(time.Second))
}

func (s *Scrape) queue(controller, name string) *measured {
	key := id{controller, name}
	m := s.queues[key]
	if m == nil {
		m = &measured{}
		s.queues[key] = m
	}
	return m
}

type families = map[string]*dto.MetricFamily

// workqueues reads client-go's metrics. controller-runtime adds a label for the
// controller, and one for the priority to the depth: depths of all priorities are added
// up.
func (s *Scrape) workqueues(f families) {
	each := func(family string, do func(*measured, *dto.Metric)) {
		for _, m := range f["workqueue_"+family].GetMetric() {
			if name := label(m, "name"); name != "" {
				do(s.queue(label(m, "controller"), name), m)
			}
		}
	}
	each("depth", func(q *measured, m *dto.Metric) { q.depth.add(value(m)) })
	each("adds_total", func(q *measured, m *dto.Metric) { q.adds.add(value(m)) })
	each("retries_total", func(q *measured, m *dto.Metric) { q.retries.add(value(m)) })
	each("unfinished_work_seconds", func(q *measured, m *dto.Metric) { q.unfinished.add(value(m)) })
	each("longest_running_processor_seconds", func(q *measured, m *dto.Metric) { q.longest.largest(value(m)) })
	each("queue_duration_seconds", func(q *measured, m *dto.Metric) { q.wait = q.wait.with(m) })
	each("work_duration_seconds", func(q *measured, m *dto.Metric) { q.work = q.work.with(m) })
}

// controllerRuntime joins controller-runtime's metrics of a controller to its queue,
// which has the controller's name.
func (s *Scrape) controllerRuntime(f families) {
	each := func(family string, do func(*measured, *dto.Metric)) {
		for _, m := range f["controller_runtime_"+family].GetMetric() {
			name := label(m, "controller")
			if name == "" {
				continue
			}
			owner := name
			if _, plain := s.queues[id{"", name}]; plain { // before it had the label
				owner = ""
			}
			do(s.queue(owner, name), m)
		}
	}
	each("active_workers", func(q *measured, m *dto.Metric) { q.active.add(value(m)) })
	each("max_concurrent_reconciles", func(q *measured, m *dto.Metric) { q.workers.add(value(m)) })
	each("reconcile_total", func(q *measured, m *dto.Metric) {
		q.reconciles.add(value(m))
		if label(m, "result") == "error" {
			q.failed.add(value(m))
		}
	})
	each("reconcile_time_seconds", func(q *measured, m *dto.Metric) { q.reconcileFor = q.reconcileFor.with(m) })
}

// scheduler reads kube-scheduler's queues, which are not workqueues. Attempts are made
// from the active queue, so their metrics are in its row.
func (s *Scrape) scheduler(f families) {
	for _, m := range f["scheduler_pending_pods"].GetMetric() {
		s.queue(SchedulerController, label(m, "queue")).depth.add(value(m))
	}
	for _, m := range f["scheduler_queue_incoming_pods_total"].GetMetric() {
		q := s.queue(SchedulerController, label(m, "queue"))
		q.adds.add(value(m))
		q.retries.add(0)
		if label(m, "event") == "ScheduleAttemptFailure" {
			q.retries.add(value(m))
		}
	}
	active := s.queues[id{SchedulerController, "active"}]
	if active == nil {
		return
	}
	for _, m := range f["scheduler_schedule_attempts_total"].GetMetric() {
		active.reconciles.add(value(m))
		active.failed.add(0)
		if label(m, "result") == "error" {
			active.failed.add(value(m))
		}
	}
	for _, m := range f["scheduler_scheduling_attempt_duration_seconds"].GetMetric() {
		active.reconcileFor = active.reconcileFor.with(m)
	}
	for _, m := range f["scheduler_goroutines"].GetMetric() {
		if label(m, "operation") == "binding" {
			active.active.add(value(m))
		}
	}
}

// Queues returns a row per queue, by controller and name. Rates and recent latencies
// are since before, which may be nil: there are none then, nor after a restart of the
// process.
func (s *Scrape) Queues(before *Scrape) []state.QueueStats {
	ids := slices.SortedFunc(maps.Keys(s.queues), func(a, b id) int {
		return cmp.Or(cmp.Compare(a.controller, b.controller), cmp.Compare(a.name, b.name))
	})
	rows := make([]state.QueueStats, 0, len(ids))
	for _, key := range ids {
		var old *measured
		var elapsed time.Duration
		if before != nil && s.At.After(before.At) && s.Started.Equal(before.Started) {
			old, elapsed = before.queues[key], s.At.Sub(before.At)
		}
		row := s.queues[key].row(old, elapsed)
		row.Controller, row.Name = key.controller, key.name
		rows = append(rows, row)
	}
	return rows
}

func (m *measured) row(old *measured, elapsed time.Duration) state.QueueStats {
	if old == nil {
		old, elapsed = &measured{}, 0
	}
	row := state.QueueStats{
		Depth: m.depth.count(), InFlight: m.inFlight(), Workers: m.workers.count(),
		Adds: rate(m.adds, old.adds, elapsed), Retries: rate(m.retries, old.retries, elapsed),
		Syncs: rate(m.syncs(), old.syncs(), elapsed), Errors: rate(m.failed, old.failed, elapsed),
		Unfinished: m.unfinished.duration(), Longest: m.longest.duration(),
		Wait: m.wait.latency(), Work: m.worked().latency(),
	}
	if elapsed > 0 {
		row.RecentWait = m.wait.since(old.wait).latency()
		row.RecentWork = m.worked().since(old.worked()).latency()
	}
	return row
}

// worked prefers reconcile_time, which has finer buckets.
func (m *measured) worked() *histogram {
	if m.reconcileFor != nil {
		return m.reconcileFor
	}
	return m.work
}

func (m *measured) syncs() number {
	if m.reconciles.ok || m.work == nil {
		return m.reconciles
	}
	return number{float64(m.work.count), true}
}

// inFlight: see the package comment. The metrics of one scrape are not collected at one
// moment, so a negative difference counts as zero.
func (m *measured) inFlight() *int64 {
	switch {
	case m.active.ok:
		return m.active.count()
	case m.adds.ok && m.depth.ok && m.work != nil:
		return number{max(0, m.adds.v-m.depth.v-float64(m.work.count)), true}.count()
	}
	return nil
}

func rate(now, before number, elapsed time.Duration) *state.Counter {
	if !now.ok || now.v < 0 || now.v > math.MaxInt64 {
		return nil
	}
	c := &state.Counter{Total: uint64(now.v)}
	if elapsed > 0 && before.ok && now.v >= before.v {
		c.PerSecond = new((now.v - before.v) / elapsed.Seconds())
	}
	return c
}
