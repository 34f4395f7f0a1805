package controlplane

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime/debug"
	"sync"
	"syscall"
	"time"

	"k8s.io/klog/v2"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// RunChild turns the process into a control plane and never returns if it was started
// by sandbox.Start; in any other process it does nothing.
func RunChild() {
	if os.Getenv(wire.Env) != wire.ControlPlane {
		return
	}
	os.Exit(runChild(time.Now()))
}

// child is the control plane's process, in that process.
type child struct {
	dir    string
	start  time.Time
	mu     sync.Mutex // orders events
	events *json.Encoder
	ending sync.Mutex // locked permanently by end
}

func runChild(start time.Time) int {
	os.Unsetenv(wire.Env)
	debug.SetGCPercent(startGCPercent)
	seclude()
	control := os.NewFile(wire.ControlFD, "control")
	events := os.NewFile(wire.EventsFD, "events")
	dir, err := os.Getwd()
	if err != nil || !wire.IsRunDir(dir) {
		fmt.Fprintf(os.Stderr, "%s=%s is for internal use: %s is not the run directory of a sandbox\n", wire.Env, wire.ControlPlane, dir)
		return 2
	}
	c := &child{dir: dir, start: start, events: json.NewEncoder(events)}

	var config wire.Config
	decoder := json.NewDecoder(control)
	if err := decoder.Decode(&config); err != nil {
		return c.end() // the parent exited before it could send anything
	}
	go func() {
		_, _ = io.Copy(io.Discard, control) // returns when the parent has closed it or exited
		os.Exit(c.end())
	}()
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP)
	go func() {
		sig := <-signals
		c.send(wire.Event{Type: wire.Failed, Message: fmt.Sprintf("control plane got signal %q", sig)})
		c.end()
		os.Exit(1)
	}()

	if err := c.serve(context.Background(), &config); err != nil {
		klog.ErrorS(err, "Control plane failed")
		klog.Flush()
		c.send(wire.Event{Type: wire.Failed, Message: err.Error()})
		events.Close()
	}
	select {} // until the parent closes the control pipe
}

// end removes the run directory and returns the exit status. Only the first call
// returns.
func (c *child) end() int {
	c.ending.Lock()
	if err := wire.RemoveRunDir(c.dir); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// send sends an event to the parent. It is not an error if the parent no longer
// listens: the end of the control pipe follows.
func (c *child) send(event wire.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	_ = c.events.Encode(event)
}

func (c *child) progressf(format string, args ...any) {
	c.send(wire.Event{Type: wire.Progress, Message: fmt.Sprintf(format, args...)})
}

// elapsed formats the time since the child was started.
func (c *child) elapsed() time.Duration { return time.Since(c.start).Round(10 * time.Millisecond) }

// serve runs etcd and kube-apiserver until one of them fails.
//
// Both start at the same time: kube-apiserver is busy for half a second before
// it needs etcd.
func (c *child) serve(ctx context.Context, config *wire.Config) error {
	if err := announceVersion(); err != nil {
		return err
	}
	failed := make(chan error, 2)
	etcd := make(chan error, 1)
	go func() { etcd <- c.startEtcd(failed) }()

	server, err := newAPIServer(ctx, c.dir, config, func() { c.send(wire.Event{Type: wire.AuditFull}) })
	if err := errors.Join(err, <-etcd); err != nil {
		return err
	}
	go func() {
		err := server.run(ctx)
		if err == nil {
			err = errors.New("kube-apiserver stopped")
		}
		failed <- err
	}()
	go c.report(server)
	return <-failed
}

// startGCPercent halves the work of the garbage collector during the start, about 0.2 s
// of 1.2, and costs 30 MB.
const (
	startGCPercent   = 300
	defaultGCPercent = 100
)

// readyPoll is how often the child checks whether it is ready, in memory, which takes
// about 0.1 ms.
const readyPoll = 5 * time.Millisecond

// report tells the parent when the server listens and when it is ready.
func (c *child) report(server *apiServer) {
	<-server.accepting
	c.send(wire.Event{
		Type:    wire.Listening,
		Address: server.listener.Addr().String(),
		Message: fmt.Sprintf("kube-apiserver listening on %s (%v)", server.listener.Addr(), c.elapsed()),
	})
	for !server.ready() {
		time.Sleep(readyPoll)
	}
	debug.SetGCPercent(defaultGCPercent)
	c.send(wire.Event{Type: wire.Ready, Message: fmt.Sprintf("control plane ready (%v)", c.elapsed())})
}
