// Package metrics reads what a controller process tells about its work queues in
// its /metrics text: kube-controller-manager, kube-scheduler, operators made with
// controller-runtime, this program itself. It parses and compares; it asks nobody:
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
// No series has the keys of a queue: those are known of this program's own loops
// only.
//
// # What follows from it
//
// A queue counts an addition when it is not merged, raises its depth with it,
// lowers it when a worker takes the key, and observes work_duration when the key
// is given back (client-go v0.37.1 util/workqueue/metrics.go). So
//
//	in flight = adds − depth − observations of work_duration
//
// which no metric says by itself. controller-runtime says it, and is believed.
//
// Histograms of workqueue_* have a bucket per power of ten. A quantile is told as
// the bounds of its bucket and not interpolated: a number in between would be
// made up.
//
// Numbers that fell between two scrapes belong to a process that was restarted;
// there are no rates then.
package metrics
