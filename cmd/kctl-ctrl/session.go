package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	controllernames "k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/plan"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/simulate"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// session is one run of the loops against one API server: the journal, the
// taps, the guard, and what was started, in the order in which it is stopped.
//
// There is one session in a process at a time: feature gates, klog and upstream's
// error handlers are global.
type session struct {
	hub     *hub.Hub
	tap     *tap.Tap
	writes  *settle.Writes
	settler *settle.Settler
	logger  logr.Logger

	// config is the loops' way to the API server; world is that of what they
	// live among on a sandbox: manifests, scheduler, nodes. Where the session may
	// become active while it lasts, connection reads it.
	config, world *rest.Config
	// mode is what becomes of the loops' writes; empty before there is a config.
	mode state.Mode
	// foreign is the cluster of a context, where the session is of one.
	foreign *standing
	// schedules: what runs here is kube-scheduler and not loops; scheduler is it,
	// once it runs, and is looked at on any goroutine that writes.
	schedules bool
	// auditLogFull: the sandbox's audit log has reached --max-size.
	auditLogFull atomic.Bool
	// scheduleWithin is how long its informers may take to sync.
	scheduleWithin time.Duration
	scheduler      atomic.Pointer[scheduling]
	// impersonate has the loops act as their accounts in kube-system.
	impersonate bool
	// untapped has controllers run that the taps do not fit.
	untapped bool
	// applyOptions leave out the waits for loops that do not run.
	applyOptions plan.Options

	sandbox *sandbox.Sandbox
	cluster *simulate.Cluster
	// watches holds up those that the server ends at once.
	watches *connect.Watches
	// scalings counts the writes by which autoscalers scaled something.
	scalings atomic.Int64
	// requests counts what is sent, by the loops and by what they live among.
	requests meter
	// broken is for tests that must see the guard fail; see guard.Broken.
	broken         guard.Broken
	brokenElection election.Broken
	// end ends what the session is for, with the reason.
	end context.CancelCauseFunc

	// approval decides about the loops' writes, where somebody has to.
	approval approval

	// manager is looked at by the guard on any goroutine that writes.
	manager atomic.Pointer[controllers.Manager]

	mu    sync.Mutex
	stops []func(context.Context) error
}

// sessionOptions say what a session is made of.
type sessionOptions struct {
	logFile      string
	logVerbosity int
	horizon      time.Duration
}

// maxLogVerbosity keeps klog below the level at which client-go v0.37.1 logs the
// bodies of requests and answers (transport/round_trippers.go, rest/request.go):
// Secrets would be among them.
const maxLogVerbosity = 7

// newSession makes the journal and the taps. Nothing is connected yet.
func newSession(o sessionOptions) (*session, error) {
	s := &session{hub: hub.New(hub.Options{}), writes: settle.NewWrites(nil)}
	s.tap = tap.New(s.hub)
	s.hub.OnControlLoss(s.tap.Restate)
	s.watches = connect.NewWatches(s.hub)
	out, err := openLog(o.logFile)
	if err != nil {
		if o.logFile != "" {
			s.hub.Close()
			return nil, err
		}
		s.hub.Record(state.Note{Source: "session", Text: "there is no log of upstream's components: " + err.Error(), Warning: true})
	}
	s.logger = sendKlogTo(out, min(o.logVerbosity, maxLogVerbosity), s.tap.Logger)
	s.onStop(func(context.Context) error {
		klog.Flush()
		return out.Close()
	})
	s.onStop(func(context.Context) error {
		s.tap.Close()
		s.hub.Close()
		return nil
	})
	handlers := utilruntime.ErrorHandlers
	utilruntime.ErrorHandlers = append(slices.Clip(handlers), s.tap.ErrorHandler)
	s.onStop(func(context.Context) error {
		utilruntime.ErrorHandlers = handlers
		return nil
	})
	s.watchForStalls()
	s.settler = &settle.Settler{Loops: loops{s}, Writes: s.writes, Horizon: o.horizon}
	return s, nil
}

// watchForStalls has the taps look at their queues every second until the
// session stops.
func (s *session) watchForStalls() {
	ctx, cancel := context.WithCancel(klog.NewContext(context.Background(), s.logger))
	ticker := time.NewTicker(time.Second)
	var watching sync.WaitGroup
	watching.Go(func() { s.tap.WatchForStalls(ctx, ticker.C) })
	s.onStop(func(context.Context) error {
		ticker.Stop()
		cancel()
		watching.Wait()
		return nil
	})
}

// connectBy gives the loops another way to the API server. None of them may run.
func (s *session) connectBy(config *rest.Config, mode state.Mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.config, s.mode = config, mode
}

// connection is the loops' way to the API server, and what becomes of their
// writes.
func (s *session) connection() (*rest.Config, state.Mode) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.config, s.mode
}

// onStop registers what stop has to do; the last registered comes first.
func (s *session) onStop(f func(context.Context) error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stops = append(s.stops, f)
}

// addProbe has the settler ask p too. Parts of a session start side by side.
func (s *session) addProbe(p settle.Probe) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.settler.Probes = append(s.settler.Probes, p)
}

// stop ends everything that was started, in reverse order, within ctx.
func (s *session) stop(ctx context.Context) error {
	s.mu.Lock()
	stops := s.stops
	s.stops = nil
	s.mu.Unlock()
	var errs []error
	for i := len(stops) - 1; i >= 0; i-- {
		errs = append(errs, stops[i](ctx))
	}
	return errors.Join(errs...)
}

// guarded makes the guard from the options that depend on the server, and
// returns the wrapper that every transport of the session gets.
func (s *session) guarded(o guard.Options) (connect.Wrap, error) {
	g, err := guard.New(guard.Options{
		ReadsAsUser: s.impersonate, ReadsBefore: o.ReadsBefore,
		Mode: o.Mode, Grant: o.Grant, Server: o.Server, BasePath: o.BasePath, TrustsDryRun: o.TrustsDryRun, Broken: s.broken,
		Cause:    s.tap.Cause,
		Recorder: s.hub,
		OnWrite: func(w state.WriteFinished) {
			s.tap.CountWrite(w.Cause)
			if w.Result != state.WriteDone && w.Object.Group == "" && w.Object.Resource == "secrets" {
				s.tap.WithholdErrors(w.Cause)
			}
			s.writes.Finished(w)
			s.boundDry(w)
			if w.Controller == controllernames.HorizontalPodAutoscalerController && w.Subresource == "scale" && w.Result == state.WriteDone {
				s.scalings.Add(1)
			}
			if o.OnWrite != nil {
				o.OnWrite(w)
			}
		},
		Before: s.beforeWrite(o.Before),
		Writer: o.Writer, Local: o.Local,
		Lookup: func(ref state.Ref) runtime.Object {
			manager := s.manager.Load()
			// A client of its own has seen another version of an object than our
			// loops: its dry runs start from the server's.
			if manager == nil || o.Writer != nil && o.Mode == state.ModeDryRunClient {
				return nil
			}
			return manager.Lookup(ref)
		},
		Diff: func(ref state.Ref, old, new map[string]any) []state.FieldChange {
			return redact.Diff(ref, old, new, redact.DiffOptions{})
		},
	})
	if err != nil {
		return nil, err
	}
	return func(rt http.RoundTripper) http.RoundTripper {
		rt = s.requests.wrap(s.writes.Wrap(g.Wrap(rt)))
		if o.Writer != nil {
			return rt // the command's watches are its own
		}
		return s.watches.Wrap(rt)
	}, nil
}

// loops joins what the taps know of deliveries with what the simulated parts,
// which have informers of their own, know.
type loops struct{ *session }

func (l loops) Activity() settle.Activity {
	a := l.tap.Activity()
	out := settle.Activity{Moving: a.Moving(), Generation: a.Generation}
	for _, due := range a.Waiting {
		out.Waiting = append(out.Waiting, settle.Due{Controller: due.Controller, Queue: due.Queue, Key: due.Key, At: due.Due, Retries: due.Retries})
	}
	return out
}

func (l loops) Changed() <-chan struct{} { return l.tap.Changed() }

func (l loops) Seen(object state.Ref, resourceVersion string) bool {
	return l.tap.Seen(object, resourceVersion) && (l.cluster == nil || l.cluster.Seen(object, resourceVersion))
}

func (l loops) SeenDeleted(object state.Ref) bool {
	return l.tap.SeenDeleted(object) && (l.cluster == nil || l.cluster.SeenDeleted(object))
}

// startLoops runs the selected controllers until the session stops.
func (s *session) startLoops(ctx context.Context, c controllers.Config) error {
	c.REST, _ = s.connection()
	c.Taps, c.Recorder, c.Logger = s.tap, s.hub, s.logger
	c.InformerName, c.Impersonate = "kctl-ctrl", s.impersonate
	c.Untapped = c.Untapped || s.untapped
	manager, err := controllers.New(c)
	if err != nil {
		return err
	}
	s.manager.Store(manager)
	s.onStop(manager.Stop)
	if gate := s.approval.gate; gate != nil && !s.approval.ofCommand {
		s.onStop(func(context.Context) error { gate.Close(); return nil }) // no worker stands there when it is to end
	}
	if err := manager.Start(ctx); err != nil {
		return err
	}
	s.addProbe(manager)
	s.note("controllers", "%s", describeLoops(manager.Statuses()))
	return nil
}

// stopping says what a signal does to a run.
func (s *session) stopping() string {
	const again = "; press Ctrl-C again to leave at once"
	switch snap := s.hub.Snapshot(); {
	case s.manager.Load() != nil:
		return "stopping the loops" + again
	case snap.Election != nil && snap.Election.Phase == state.ElectionCandidate:
		return "not standing by any more" + again
	}
	return "stopping" + again
}

// describeLoops says in a sentence which loops run and which do not, of those
// that were asked for.
func describeLoops(statuses []state.ControllerChanged) string {
	on, off := sortLoops(statuses)
	text := fmt.Sprintf("%d loops run", len(on))
	if len(on) == 1 {
		text = "1 loop runs"
	}
	if len(on) > 0 && len(on) <= 8 {
		text += ": " + strings.Join(on, ", ")
	}
	if len(off) > 0 {
		text += "; off: " + strings.Join(off, ", ")
	}
	return text
}

// sortLoops names those that run and, with the reason, those that were asked for
// and do not.
func sortLoops(statuses []state.ControllerChanged) (on, off []string) {
	for _, status := range statuses {
		name := render.ShortName(status.Controller)
		switch {
		case status.Status == state.ControllerFailed:
			off = append(off, fmt.Sprintf("%s (failed: %s)", name, status.Reason))
		case status.Status != state.ControllerOff:
			on = append(on, name)
		case status.Reason != controllers.NotSelected && status.Reason != controllers.OffByDefault:
			off = append(off, fmt.Sprintf("%s (%s)", name, status.Reason))
		}
	}
	return on, off
}

// note puts a sentence into the journal.
func (s *session) note(source, format string, args ...any) {
	s.hub.Record(state.Note{Source: source, Text: fmt.Sprintf(format, args...)})
}
