// Package metrics reads the workqueue metrics of a controller process from its /metrics
// text: kube-controller-manager, kube-scheduler, operators built with controller-runtime,
// this program itself. It parses and compares, and sends no requests: watch/connect has the
// client.
//
//	before, err := metrics.Read(text, time.Now())
//	after, err := metrics.Read(laterText, time.Now())
//	rows := after.Queues(before)         // totals, and rates from the two
//	broken := checks.Exceeded(rows)      // for a probe
//
// # What is read
//
//	workqueue_*            every client-go queue (k8s.io/component-base v0.37.1
//	                       metrics/prometheus/workqueue), one row per name
//	controller_runtime_*   joined to the queue of the same name: workers, results
//	                       and the finer histogram of reconcile times
//	scheduler_*            kube-scheduler's queues: active, backoff,
//	                       unschedulable, gated (k8s.io/kubernetes v1.37.1
//	                       pkg/scheduler/metrics)
//
// No series has the keys of a queue: these are available only for the controllers of this
// program.
//
// # What is computed
//
// A queue counts an add that is not merged, raises its depth with it, lowers it when a
// worker dequeues the key, and observes work_duration when the key is done (client-go
// v0.37.1 util/workqueue/metrics.go). So
//
//	in flight = adds − depth − observations of work_duration
//
// which is not a metric of client-go. controller-runtime has such a metric, which is used.
//
// Histograms of workqueue_* have a bucket per power of ten. A quantile is reported as the
// bounds of its bucket and not interpolated, because a number in between would be invented.
//
// Counters that decreased between two scrapes belong to a process that was restarted; then
// there are no rates.
package metrics
