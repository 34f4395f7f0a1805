// Package engine runs controllers against one API server: those of
// kube-controller-manager, or kube-scheduler, dry or for real, on a control plane of its
// own or on the cluster of a context. Every command that runs controllers is made of it,
// and so can other programs be.
//
//	func main() {
//		controlplane.RunChild() // before anything else: the sandbox is a child of this binary
//		…
//		e, err := engine.Start(ctx, engine.Spec{Sandbox: &engine.Sandbox{Nodes: 2}, Mode: state.ModeActive})
//		if err != nil {
//			return err
//		}
//		defer e.Stop(context.Background())
//		if err := e.Apply(ctx, objects, ""); err != nil {
//			return err
//		}
//		due, err := e.WaitSettled(ctx, time.Minute)
//	}
//
// # Starting and stopping
//
// Spec is what an engine runs, as plain data. Start makes an engine and starts it. Who
// wants to see its journal from the first entry makes it with New, subscribes to Journal,
// and calls its method Start. Stop ends everything in reverse order, and is called
// whatever Start returned.
//
// One engine lives in a process at a time: feature gates, klog and upstream's error
// handlers are the process's. New fails with ErrRunning while another one lives, until
// that is stopped. Feature gates that a KubernetesVersion has set stay set.
//
// # What it is made of
//
//	journal     what happens, in order; package watch/hub
//	tap         the decorators of queues and handlers; package reconcile/tap
//	guard       what becomes of writes; package reconcile/guard, around each transport
//	approvals   the gate at which writes wait; package reconcile/approve
//	world       the sandbox and what controllers live among there: nodes, scheduler, volumes
//	work        what runs: controllers or kube-scheduler
//	settler     knows when all queues are idle; package reconcile/settle
//	leadership  the lease under which writes to a cluster are real; package engine/lead
//
// It prints nothing. What it does is in the journal, with notes in words; what a start
// waits for goes to Spec.Progress.
package engine
