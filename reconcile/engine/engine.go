package engine

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Engine runs controllers against one API server. Its methods are safe for concurrent
// use.
type Engine struct {
	spec    Spec
	journal *hub.Hub
	tap     *tap.Tap
	logger  logr.Logger

	// connection is the controllers' way to the API server, and world is what they live
	// among on a sandbox.
	connection connection
	world      world
	work       work
	approvals  approvals

	writes  *settle.Writes
	settler *settle.Settler
	probing sync.Mutex // guards settler.Probes
	// scalings counts the writes by which autoscalers scaled something.
	scalings atomic.Int64
	// watches holds up those that the server ends at once.
	watches *connect.Watches
	// requests counts what is sent, by the controllers and by what they live among.
	requests meter
	lost     ending
	stops    stops
}

// ErrRunning is returned while another engine lives in this process.
var ErrRunning = errors.New("another engine runs in this process: stop it first")

// alive is held by the engine that lives: what it sets of klog, error handlers and
// feature gates is global.
var alive = make(chan struct{}, 1)

// Start makes an engine and starts it. After an error nothing is left of it.
func Start(ctx context.Context, spec Spec) (*Engine, error) {
	e, err := New(spec)
	if err != nil {
		return nil, err
	}
	if err := e.Start(ctx); err != nil {
		stopping, cancel := context.WithTimeout(context.WithoutCancel(ctx), startGrace)
		defer cancel()
		return nil, errors.Join(err, e.Stop(stopping))
	}
	return e, nil
}

// startGrace is how long what was begun may take to end where a start fails.
const startGrace = 5 * time.Second

// New makes an engine: its journal, its taps and its log. Nothing is connected yet. Stop
// must be called.
func New(spec Spec) (*Engine, error) {
	select {
	case alive <- struct{}{}:
	default:
		return nil, ErrRunning
	}
	e := &Engine{spec: spec, journal: hub.New(hub.Options{}), writes: settle.NewWrites(nil), lost: newEnding()}
	e.stops.add(func(context.Context) error { <-alive; return nil })
	e.tap = tap.New(e.journal)
	e.journal.OnControlLoss(e.tap.Restate)
	e.watches = connect.NewWatches(e.journal)
	out, err := openLog(spec.Log)
	if err != nil {
		if spec.Log.File != "" {
			e.journal.Close()
			<-alive
			return nil, err
		}
		e.journal.Record(state.Note{Source: "session", Text: "there is no log of upstream's components: " + err.Error(), Warning: true})
	}
	e.logger = sendKlogTo(out, min(spec.Log.Verbosity, maxLogVerbosity), e.tap.Logger)
	e.stops.add(func(context.Context) error {
		klog.Flush()
		return out.Close()
	})
	e.stops.add(func(context.Context) error {
		e.tap.Close()
		e.journal.Close()
		return nil
	})
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = append(slices.Clip(handlers), e.tap.ErrorHandler)
	e.stops.add(func(context.Context) error {
		utilruntime.ErrorHandlers = handlers
		return nil
	})
	e.watchForStalls()
	e.settler = &settle.Settler{Loops: activity{e}, Writes: e.writes, Horizon: spec.Horizon}
	e.decide(spec.Approvals)
	return e, nil
}

// Start starts what the engine is for: a sandbox and its controllers, or controllers on a
// cluster. It returns when all of it has begun; what it does meanwhile goes to
// Spec.Progress. For writes to a cluster it first waits for the lease. The end of ctx ends
// what was started, also later.
func (e *Engine) Start(ctx context.Context) error {
	if err := e.defaults(); err != nil {
		return err
	}
	switch {
	case e.spec.Sandbox != nil:
		return e.startSandbox(ctx)
	case e.spec.Command:
		return nil // StartProxy connects
	}
	return e.startOnCluster(ctx)
}

// defaults completes the spec.
func (e *Engine) defaults() error {
	s := &e.spec
	if (s.Sandbox == nil) == (s.Cluster == nil) {
		return errors.New("start an engine: a spec needs either a sandbox or a cluster")
	}
	if s.Mode == "" {
		if s.Mode = state.ModeDryRunClient; s.Sandbox != nil {
			s.Mode = state.ModeActive
		}
	}
	if s.Controllers == nil {
		options, err := controllers.NewOptions()
		if err != nil {
			return fmt.Errorf("read kube-controller-manager's defaults: %w", err)
		}
		s.Controllers = options
	}
	return nil
}

// ConnectBy gives the controllers another way to the API server, with a guard of Guarded
// around it. None of them may run.
func (e *Engine) ConnectBy(config *rest.Config, mode state.Mode) { e.connection.set(config, mode) }

// progress tells what a start does.
func (e *Engine) progress(text string) {
	if e.spec.Progress == nil {
		e.Note("session", "%s", text)
		return
	}
	e.spec.Progress(text)
}

// watchForStalls has the taps look at their queues every second until the engine stops.
func (e *Engine) watchForStalls() {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), e.logger))
	ticker := time.NewTicker(time.Second)
	var watching sync.WaitGroup
	watching.Go(func() { e.tap.WatchForStalls(ctx, ticker.C) })
	e.stops.add(func(context.Context) error {
		ticker.Stop()
		cancel()
		watching.Wait()
		return nil
	})
}

// Stop ends everything that was started, in reverse order, within ctx. It is done once.
func (e *Engine) Stop(ctx context.Context) error { return e.stops.run(ctx) }

// OnStop has f called when the engine stops, before what was started earlier ends.
func (e *Engine) OnStop(f func(context.Context) error) { e.stops.add(f) }

// Journal is what happens, in order. It is closed by Stop.
func (e *Engine) Journal() *hub.Hub { return e.journal }

// Note puts a sentence into the journal.
func (e *Engine) Note(source, format string, args ...any) {
	e.journal.Record(state.Note{Source: source, Text: fmt.Sprintf(format, args...)})
}

// Tap controls the queues of the controllers, and knows what their informers hold.
func (e *Engine) Tap() *tap.Tap { return e.tap }

// Manager runs the controllers; nil before they are started.
func (e *Engine) Manager() *controllers.Manager { return e.work.manager.Load() }

// Mode is what becomes of writes now, and empty before the engine is connected.
func (e *Engine) Mode() state.Mode {
	_, mode := e.connection.get()
	return mode
}

// Sandbox is the control plane; nil on a cluster.
func (e *Engine) Sandbox() *sandbox.Sandbox { return e.world.sandbox }

// AuditLogFull reports whether the audit log has reached its bound.
func (e *Engine) AuditLogFull() bool { return e.world.auditLogFull.Load() }

// Watches holds up watches that the server ends at once, of whoever wraps a transport by
// it.
func (e *Engine) Watches() *connect.Watches { return e.watches }

// Requests is how many requests were sent to the API server; CountRequests counts others'.
func (e *Engine) Requests() uint64 { return e.requests.count.Load() }

// CountRequests has Requests count what goes through a transport.
func (e *Engine) CountRequests(next http.RoundTripper) http.RoundTripper {
	return e.requests.wrap(next)
}

// Lost is closed when the engine cannot go on: the control plane of its sandbox has ended
// unasked, or the lease was lost. Err says why.
func (e *Engine) Lost() <-chan struct{} { return e.lost.done }

// Err is why the engine cannot go on; nil while it can.
func (e *Engine) Err() error { return e.lost.err() }

// started tells the journal what the engine is.
func (e *Engine) started(mode state.Mode, context, server string) state.SessionStarted {
	return state.SessionStarted{
		Version: e.spec.Version, Kubernetes: e.spec.Kubernetes, Server: server, Context: context,
		Mode: mode, Sandbox: e.spec.Sandbox != nil, Namespace: e.spec.Namespace,
	}
}

// connection is the controllers' way to the API server, and what becomes of their writes;
// empty before there is one. An engine that becomes active while it lasts gets another.
type connection struct {
	mu     sync.Mutex
	config *rest.Config
	mode   state.Mode
}

// set gives what runs another way. None of it may run.
func (c *connection) set(config *rest.Config, mode state.Mode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.config, c.mode = config, mode
}

func (c *connection) get() (*rest.Config, state.Mode) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.config, c.mode
}

// stops are what an engine has to do when it stops; the last added comes first.
type stops struct {
	mu    sync.Mutex
	funcs []func(context.Context) error
}

func (s *stops) add(f func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.funcs = append(s.funcs, f)
}

func (s *stops) run(ctx context.Context) error {
	s.mu.Lock()
	funcs := s.funcs
	s.funcs = nil
	s.mu.Unlock()
	var errs []error
	for _, f := range slices.Backward(funcs) {
		errs = append(errs, f(ctx))
	}
	return errors.Join(errs...)
}

// ending is why something ended, once.
type ending struct {
	done   chan struct{}
	once   *sync.Once
	reason *error
}

func newEnding() ending { return ending{make(chan struct{}), &sync.Once{}, new(error)} }

func (e ending) end(reason error) {
	e.once.Do(func() {
		*e.reason = reason
		close(e.done)
	})
}

func (e ending) err() error {
	select {
	case <-e.done:
		return *e.reason
	default:
		return nil
	}
}

// meter counts requests.
type meter struct{ count atomic.Uint64 }

func (m *meter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		m.count.Add(1)
		return next.RoundTrip(req)
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }
