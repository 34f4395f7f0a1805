package tuibackend

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// screenLoops are the engine's loops in the hands of the screen. The journal tells
// what the user does with them, so that a recording says why a loop stood still.
type screenLoops struct{ e *engine.Engine }

// NewLoops gives the loops of a session to a screen. It may be made before the
// session has started them: until then each method says so.
func NewLoops(e *engine.Engine) port.Loops { return screenLoops{e} }

var errNotStarted = errors.New("the session is not ready yet")

func (l screenLoops) manager() (*controllers.Manager, error) {
	if m := l.e.Manager(); m != nil {
		return m, nil
	}
	return nil, errNotStarted
}

// Start implements port.Loops.
func (l screenLoops) Start(ctx context.Context, controller string) error {
	m, err := l.manager()
	if err != nil {
		return err
	}
	if l.e.WritesForReal() {
		return errors.New("loops write for real here, and no other joins them: step down with L, and name all of them in :active")
	}
	if err := m.StartMore(ctx, controller); err != nil {
		// The screen names the loop itself.
		return explain.Cause(ctx, trimmedError{err, "start " + controller + ": "})
	}
	l.e.Journal().Record(state.ControllerRequested{Controller: controller, Action: state.ActionStart})
	return nil
}

// trimmedError is an error without a beginning that is said elsewhere.
type trimmedError struct {
	error
	lead string
}

func (e trimmedError) Error() string { return strings.TrimPrefix(e.error.Error(), e.lead) }
func (e trimmedError) Unwrap() error { return e.error }

// hasQueue fails for a controller that cannot be paused: one that does not run,
// or whose work does not come out of a queue.
func (l screenLoops) hasQueue(controller string) error {
	m, err := l.manager()
	if err != nil {
		return err
	}
	at := slices.IndexFunc(m.Statuses(), func(c state.ControllerChanged) bool { return c.Controller == controller })
	switch {
	case at < 0:
		return fmt.Errorf("%s is not a controller of this process", controller)
	case m.Statuses()[at].Status != state.ControllerRunning:
		return fmt.Errorf("%s does not run", render.ShortName(controller))
	case len(l.e.Tap().Queues(controller)) == 0:
		return fmt.Errorf("%s works by a timer and has no queue at which it could stop", render.ShortName(controller))
	}
	return nil
}

// Pause implements port.Loops.
func (l screenLoops) Pause(controller string) error {
	if err := l.hasQueue(controller); err != nil {
		return err
	}
	l.e.Tap().Pause(controller)
	return nil
}

// Resume implements port.Loops.
func (l screenLoops) Resume(controller string) error {
	if !l.e.Tap().Paused(controller) {
		return errors.New("it is not paused")
	}
	l.e.Tap().Resume(controller)
	return nil
}

// Step implements port.Loops.
func (l screenLoops) Step(controller, queue, key string) error {
	return l.did(state.KeyStepped{Controller: controller, Queue: queue, Key: key}, l.e.Tap().Step(controller, queue, key))
}

// RetryNow implements port.Loops.
func (l screenLoops) RetryNow(controller, queue, key string) error {
	return l.did(state.KeyRetried{Controller: controller, Queue: queue, Key: key}, l.e.Tap().RetryNow(controller, queue, key))
}

// Drop implements port.Loops. The tap tells the journal of it.
func (l screenLoops) Drop(controller, queue, key string) error {
	return reasonOf(l.e.Tap().Drop(controller, queue, key))
}

// did records what the user has done, unless it failed.
func (l screenLoops) did(e state.Event, err error) error {
	if err != nil {
		return reasonOf(err)
	}
	l.e.Journal().Record(e)
	return nil
}

// reasonOf leaves out what the tap says of the attempt: the screen says it.
func reasonOf(err error) error {
	if inner := errors.Unwrap(err); inner != nil {
		return inner
	}
	return err
}

// Break implements port.Loops.
func (l screenLoops) Break(b port.Breakpoint) error {
	if err := l.hasQueue(b.Controller); err != nil {
		return err
	}
	_, err := l.e.Tap().Break(tap.Breakpoint{Controller: b.Controller, Key: b.Key, BeforeWrite: b.BeforeWrite})
	return err
}

// Unbreak implements port.Loops.
func (l screenLoops) Unbreak(number int) error { return l.e.Tap().Unbreak(number) }
