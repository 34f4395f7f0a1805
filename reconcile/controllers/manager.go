package controllers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/cache"
	"k8s.io/klog/v2"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Config is what a Manager works with.
type Config struct {
	// Component is upstream's configuration; Options.Complete returns one.
	Component *kubectrlmgrconfig.KubeControllerManagerConfiguration
	// REST is the cluster and the way there. It is copied for each controller;
	// every request goes through its transport.
	REST *rest.Config
	// InformerName names the shared informers in metrics; "kctl-ctrl" if empty.
	// It must be unique in the process until the Manager has stopped.
	InformerName string
	// Namespace confines the informers. Loops for which that is not safe are
	// off. Empty is the whole cluster.
	Namespace string
	// RootCA is the PEM certificate that the cluster's clients trust. Empty
	// means --root-ca-file's or else REST's.
	RootCA []byte
	// CheckAccess asks the server first for the right to read each type; a loop
	// that lacks one is off. On a cluster where everything is allowed it is
	// only a delay.
	CheckAccess bool
	// Impersonate has each controller act as its account in kube-system
	// ("system:serviceaccount:kube-system:deployment-controller"), which
	// upstream's bootstrap roles give what it needs. Informers and discovery stay
	// REST's user's: the roles leave them to kube-controller-manager's. REST must
	// not impersonate anybody. A controller whose account the user may not
	// impersonate is off; the token controller has none, and acts as the user.
	Impersonate bool

	// Untapped lets a controller run that the Taps do not fit, as after an update of
	// upstream's code: what it does per key is not recorded then, and nobody sees whether it
	// is idle. Otherwise it is off.
	Untapped bool

	// Taps and Recorder may be nil. Recorder is told of each change of a
	// controller's status, with the Manager locked.
	Taps     Taps
	Recorder state.Recorder
	// Logger is handed to the loops, by way of Taps. The zero Logger drops all.
	Logger logr.Logger
}

// Manager runs controllers against one cluster, once: after Stop it is spent.
// Statuses and Lookup may be called at any time, the other methods when Start
// has returned; then from any goroutine. What is off after Start can be started
// by StartMore.
type Manager struct {
	cfg         Config
	taps        Taps
	selected    map[string]bool
	descriptors []Descriptor

	// ctx, cancel and world are set by Start.
	ctx    context.Context
	cancel context.CancelFunc
	world  atomic.Pointer[world]
	// informed are the types that built controllers have informers for; nil until the
	// first are built.
	informed     atomic.Pointer[map[schema.GroupResource]*informed]
	informerName *cache.InformerName
	shutdown     []func()
	stopOnce     sync.Once
	stopped      chan struct{}

	// building is held while controllers are built. It is taken before mu.
	building sync.Mutex

	mu     sync.Mutex
	begun  bool
	ending bool
	status map[string]*status
	// alive are the loops that have not returned, by "controller" or
	// "controller/loop".
	alive map[string]bool
	loops sync.WaitGroup
}

// New checks the selection of controllers in cfg.Component. It does not touch
// the network and starts nothing. An unknown name is an *UnknownError.
func New(cfg Config) (*Manager, error) {
	switch {
	case cfg.Component == nil:
		return nil, errors.New("create controller manager: no component configuration")
	case cfg.REST == nil:
		return nil, errors.New("create controller manager: no REST configuration")
	case cfg.Impersonate && cfg.REST.Impersonate.UserName != "":
		return nil, fmt.Errorf("the controllers cannot impersonate their accounts while %q is impersonated: a request acts as one user", cfg.REST.Impersonate.UserName)
	}
	cfg.InformerName = cmp.Or(cfg.InformerName, "kctl-ctrl")
	descriptors := Descriptors()
	selected, err := choose(descriptors, cfg.Component.Generic.Controllers)
	if err != nil {
		return nil, err
	}
	m := &Manager{
		cfg: cfg, taps: cfg.Taps, descriptors: descriptors, selected: selected,
		stopped: make(chan struct{}),
		status:  map[string]*status{},
		alive:   map[string]bool{},
	}
	if m.taps == nil {
		m.taps = noTaps{}
	}
	return m, nil
}

// Start builds the selected controllers, starts the informers and then the
// loops, and returns when each loop has its goroutine. The loops end when ctx is
// done or Stop is called; Stop must be called in either case.
//
// What keeps one controller from running (a feature gate, a type the server
// does not have, a missing input, an error of its constructor) does not keep the
// others: see Statuses. An error means that the server could not be asked what
// it offers.
//
// Controllers are built one after the other, sorted by name: upstream's constructors
// add indexes to shared informers by looking first, and the CSI plugin
// initialises variables of its package.
func (m *Manager) Start(ctx context.Context) error {
	m.mu.Lock()
	if m.begun {
		m.mu.Unlock()
		return errors.New("start controllers: started before")
	}
	m.begun = true
	m.mu.Unlock()
	m.building.Lock()
	defer m.building.Unlock()

	ctx, m.cancel = context.WithCancel(klog.NewContext(ctx, m.taps.Logger(m.cfg.Logger)))
	m.ctx = ctx
	if err := m.enter(ctx); err != nil {
		m.cancel()
		m.leave()
		return fmt.Errorf("start controllers: %w", err)
	}
	m.build(ctx)
	m.startInformers()
	close(m.world.Load().informersStarted)

	for i := range m.descriptors {
		m.launch(ctx, &m.descriptors[i])
	}
	return nil
}

// build makes the loops of each selected controller and attaches the taps.
func (m *Manager) build(ctx context.Context) {
	f := m.facts()
	var candidates []*Descriptor
	for i := range m.descriptors {
		d := &m.descriptors[i]
		if reason := m.off(d, f); reason != "" {
			m.set(d, state.ControllerOff, reason)
			continue
		}
		candidates = append(candidates, d)
	}
	if m.cfg.CheckAccess {
		candidates = m.permitted(ctx, candidates)
	}
	if m.cfg.Impersonate {
		candidates = m.impersonable(ctx, candidates)
	}
	for _, d := range candidates {
		_ = m.construct(ctx, d) // the controller's status says it
	}
}

func (m *Manager) facts() *facts {
	return &facts{
		component: m.cfg.Component,
		hasRootCA: len(m.world.Load().rootCA) > 0,
		selected:  func(name string) bool { return m.selected[name] },
	}
}

func (m *Manager) startInformers() {
	m.noteInformers()
	w := m.world.Load()
	w.informers.Start(m.ctx.Done())
	w.objectOrMetadata.Start(m.ctx.Done())
}

// construct builds a controller and sets its status by what came of it.
func (m *Manager) construct(ctx context.Context, d *Descriptor) error {
	loops, err := m.buildLoops(ctx, d)
	var absent notServed
	var misfit notObserved
	switch {
	case errors.As(err, &absent):
		m.set(d, state.ControllerOff, absent.Error())
	case errors.As(err, &misfit):
		m.set(d, state.ControllerOff, misfit.Error())
	case err != nil:
		m.set(d, state.ControllerFailed, err.Error())
	default:
		m.set(d, state.ControllerStarting, "", loops...)
	}
	return err
}

// The reasons of controllers that are off because --controllers does not name
// them, or does so only by "*".
const (
	NotSelected  = "not selected"
	OffByDefault = "off by default"
)

// off returns why a controller is not to be built, or "".
func (m *Manager) off(d *Descriptor, f *facts) string {
	switch {
	case !m.selected[d.Name] && d.OffByDefault:
		return OffByDefault
	case !m.selected[d.Name]:
		return NotSelected
	}
	if reason := d.off(f); reason != "" {
		return reason
	}
	if m.cfg.Namespace != "" && !d.NamespaceSafe {
		return wholeCluster(m.cfg.Namespace)
	}
	return m.world.Load().served.missing(d.informers())
}

// wholeCluster is why a controller is off where informers see one namespace.
func wholeCluster(namespace string) string {
	return fmt.Sprintf("it works on the whole cluster and would see namespace %s only", namespace)
}

// permitted switches off the controllers whose types the user may not read. If the
// question fails, all stay on: the server will say so itself.
func (m *Manager) permitted(ctx context.Context, descriptors []*Descriptor) []*Descriptor {
	var types []schema.GroupVersionResource
	for _, d := range descriptors {
		types = append(types, d.needsToRead()...)
	}
	slices.SortFunc(types, func(a, b schema.GroupVersionResource) int { return strings.Compare(a.String(), b.String()) })
	a := access{}
	if client, err := m.world.Load().clients.Client("access-review"); err != nil {
		a.err = err
	} else {
		a = checkAccess(ctx, client, m.cfg.Namespace, slices.Compact(types))
	}
	if a.err != nil {
		m.record(state.Note{Source: "controllers", Text: a.err.Error(), Warning: true})
	}
	return slices.DeleteFunc(descriptors, func(d *Descriptor) bool {
		reason := a.missing(d.needsToRead())
		if reason != "" {
			m.set(d, state.ControllerOff, reason)
		}
		return reason != ""
	})
}

// buildLoops builds a controller on a goroutine marked as the controller's, so that what
// its constructor starts is marked too.
func (m *Manager) buildLoops(ctx context.Context, d *Descriptor) (loops []loop, err error) {
	s, err := m.world.Load().scope(d)
	if err != nil {
		return nil, err
	}
	defer m.taps.Hold(d.Name)()
	m.taps.Run(named(ctx, d.Name), d.Name, func(ctx context.Context) { loops, err = d.build(ctx, s) })
	if err != nil {
		return nil, fmt.Errorf("build %s: %w", d.Name, err)
	}
	for _, l := range loops {
		specs, err := d.Specs(l.name)
		if err != nil {
			return nil, fmt.Errorf("attach taps to %s: %w", loopID(d, l), err)
		}
		if err := m.taps.Attach(d.Name, l.target, specs...); err != nil {
			if err := m.untapped(d.Name, err); err != nil {
				return nil, err
			}
		}
	}
	return loops, nil
}

// launch starts the loops of a controller that was built.
func (m *Manager) launch(ctx context.Context, d *Descriptor) {
	m.mu.Lock()
	loops := m.status[d.Name].loops
	for _, l := range loops {
		m.alive[loopID(d, l)] = true
	}
	m.mu.Unlock()
	for _, l := range loops {
		m.loops.Go(func() {
			if pause(ctx, m.cfg.Component.Generic.ControllerStartInterval.Duration) {
				m.taps.Run(named(ctx, d.Name), d.Name, func(ctx context.Context) {
					m.set(d, state.ControllerRunning, "")
					l.run(ctx)
				})
			}
			m.returned(ctx, d, l)
		})
	}
}

// pause waits for the start interval, up to doubled at random so that the loops
// do not list all at once; an interval of zero is no pause. It returns false if
// ctx was done first.
func pause(ctx context.Context, interval time.Duration) bool {
	if interval <= 0 {
		return ctx.Err() == nil
	}
	const startJitter = 1.0
	timer := time.NewTimer(wait.Jitter(interval, startJitter))
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// returned notes the end of a loop. One that ends unasked has failed.
func (m *Manager) returned(ctx context.Context, d *Descriptor, l loop) {
	m.mu.Lock()
	delete(m.alive, loopID(d, l))
	s := m.status[d.Name]
	s.left--
	last := s.left == 0
	m.mu.Unlock()
	switch {
	case ctx.Err() == nil:
		m.set(d, state.ControllerFailed, loopID(d, l)+" returned without being asked to")
	case last:
		m.set(d, state.ControllerStopped, "")
	}
}

// Stop ends the loops and the informers and waits until their goroutines have
// returned or ctx is done; in that case the error names the loops that are
// still running. It may be called more than once.
func (m *Manager) Stop(ctx context.Context) error {
	m.mu.Lock()
	begun := m.begun
	m.mu.Unlock()
	if !begun {
		return nil
	}
	m.stopOnce.Do(func() {
		m.mu.Lock()
		m.ending = true
		m.mu.Unlock()
		m.cancel()
		go func() {
			m.building.Lock() // what is being built has its goroutines then
			defer m.building.Unlock()
			m.loops.Wait()
			m.leave()
			close(m.stopped)
		}()
	})
	select {
	case <-m.stopped:
		return nil
	case <-ctx.Done():
		running := m.running()
		if len(running) == 0 {
			return fmt.Errorf("stop controllers: informers are still running: %w", context.Cause(ctx))
		}
		return fmt.Errorf("stop controllers: still running: %s: %w", strings.Join(running, ", "), context.Cause(ctx))
	}
}

// Ended reports whether Stop was called and everything has ended.
func (m *Manager) Ended() bool {
	select {
	case <-m.stopped:
		return true
	default:
		return false
	}
}

// running returns the loops that have not returned, sorted.
func (m *Manager) running() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	var out []string
	for id := range m.alive {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

func named(ctx context.Context, name string) context.Context {
	return klog.NewContext(ctx, klog.LoggerWithName(klog.FromContext(ctx), name))
}
