// Package metrics reads the workqueue metrics of a controller process from its /metrics
// text: kube-controller-manager, kube-scheduler, operators built with
// controller-runtime, this program. It parses and compares; it sends no requests:
// watch/connect has the client.
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
// No metric contains the keys of a queue: those are known only for the controllers of
// this program.
//
// # What is computed
//
// A queue counts an add unless it is merged, increments its depth, decrements it when a
// worker dequeues the key, and observes work_duration when the worker is done with the
// key (client-go v0.37.1 util/workqueue/metrics.go). So
//
//	in flight = adds − depth − observations of work_duration
//
// which no workqueue metric contains. controller-runtime reports it, and its value is
// used.
//
// Histograms of workqueue_* have one bucket per power of ten. A quantile is reported as
// the bounds of its bucket, without interpolation, which would be false precision.
//
// Counters that decrease between two scrapes belong to a process that was restarted;
// there are no rates then.
package metrics
