package controllers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"k8s.io/apimachinery/pkg/runtime/schema"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/klog/v2/ktesting"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// deadline is for conditions that come about by themselves.
const deadline = 20 * time.Second

// start runs a Manager on the cluster and stops it at the end of the test. The
// flags are completed as the command line's would be.
func start(t testing.TB, cluster *emptyCluster, flags []string, change func(*Config)) *Manager {
	t.Helper()
	cfg := Config{
		Component:    complete(t, Inputs{}, append(flags, "--kube-api-content-type=application/json", "--kube-api-qps=-1")...),
		REST:         cluster.config(),
		InformerName: t.Name(),
	}
	cfg.Logger, _ = ktesting.NewTestContext(t)
	cfg.Logger = cfg.Logger.V(9)
	if change != nil {
		change(&cfg)
	}
	m, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, m) })
	if err := m.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	return m
}

func stop(t testing.TB, m *Manager) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), deadline)
	defer cancel()
	if err := m.Stop(ctx); err != nil {
		t.Error(err)
	}
}

// everything selects all controllers, those off by default too.
func everything() string {
	names, _, _ := nameLists()
	return "--controllers=" + strings.Join(names, ",")
}

// offList returns the reasons of the controllers that are off and were selected, and
// the controllers that failed.
func offList(m *Manager) map[string]string {
	off := map[string]string{}
	for _, s := range m.Statuses() {
		if s.Status == state.ControllerFailed || s.Status == state.ControllerOff && s.Reason != "not selected" && s.Reason != "off by default" {
			off[s.Controller] = s.Reason
		}
	}
	return off
}

func within(t *testing.T, what string, condition func() bool) {
	t.Helper()
	for end := time.Now().Add(deadline); !condition(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", deadline, what)
		}
	}
}

// recordingTaps gives each controller a factory of its own, whose requests the
// server can tell from the others'.
type recordingTaps struct {
	noTaps
	base *rest.Config

	mu        sync.Mutex
	factories map[string]informers.SharedInformerFactory
	attached  map[string][]any
}

func (r *recordingTaps) Informers(controller string, _ informers.SharedInformerFactory) (informers.SharedInformerFactory, error) {
	cfg := rest.CopyConfig(r.base)
	cfg.UserAgent, cfg.QPS = "informers of "+controller, -1
	f := informers.NewSharedInformerFactory(kubernetes.NewForConfigOrDie(cfg), 0)
	r.mu.Lock()
	defer r.mu.Unlock()
	r.factories[controller] = f
	return f, nil
}

// Run starts a controller's informers when its loop runs; its constructor is
// called in a Run too.
func (r *recordingTaps) Run(ctx context.Context, controller string, fn func(context.Context)) {
	r.mu.Lock()
	if len(r.attached[controller]) > 0 {
		r.factories[controller].Start(ctx.Done())
	}
	r.mu.Unlock()
	fn(ctx)
}

func (r *recordingTaps) Attach(controller string, target any, _ ...tap.Spec) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attached[controller] = append(r.attached[controller], target)
	return nil
}

// Every controller is built from what an ordinary cluster serves and three
// inputs, runs and ends when told; it reads the types that the table says, with
// the client that the table says, and has as many queues.
func TestAllControllers(t *testing.T) {
	t.Run("gates as released", func(t *testing.T) {
		runAll(t, nil, map[string]string{
			"storageversion-garbage-collector-controller": "feature gate StorageVersionAPI is off",
			"podgroup-protection-controller":              "feature gate GenericWorkload is off",
			"resourcepoolstatusrequest-controller":        "feature gate DRAResourcePoolStatus is off",
		})
	})
	t.Run("gates on", func(t *testing.T) {
		gates := featuregatetesting.FeatureOverrides{}
		for _, r := range Descriptors() {
			for _, g := range r.Gates {
				gates[g] = true
			}
			for g := range r.ReadsIf {
				gates[g] = true
			}
		}
		runAll(t, gates, nil)
	})
}

func runAll(t *testing.T, gates featuregatetesting.FeatureOverrides, wantOff map[string]string) {
	cluster := newEmptyCluster(t)
	taps := &recordingTaps{
		base:      cluster.config(),
		factories: map[string]informers.SharedInformerFactory{}, attached: map[string][]any{},
	}
	var recorded life
	in := testInputs(t)
	m := start(t, cluster, nil, func(c *Config) {
		c.Component = complete(t, in.Inputs, everything(), "--kube-api-content-type=application/json", "--kube-api-qps=-1")
		featuregatetesting.SetFeatureGatesDuringTest(t, utilfeature.DefaultFeatureGate, gates)
		c.RootCA = in.rootCA
		c.Taps = taps
		c.Recorder = &recorded
	})
	if diff := cmp.Diff(wantOff, offList(m), cmpopts.EquateEmpty()); diff != "" {
		t.Fatalf("off or failed (- want, + got):\n%s", diff)
	}
	within(t, "the other controllers run", func() bool {
		return !slices.ContainsFunc(m.Statuses(), func(s state.ControllerChanged) bool {
			return s.Status != state.ControllerRunning && s.Status != state.ControllerOff
		})
	})
	for name, f := range taps.factories {
		for typ, synced := range f.WaitForCacheSync(t.Context().Done()) {
			if !synced {
				t.Errorf("%s: informer of %v did not sync", name, typ)
			}
		}
	}
	read, agents := cluster.readers()
	for i := range m.descriptors {
		r := &m.descriptors[i]
		if wantOff[r.Name] != "" {
			continue
		}
		if diff := cmp.Diff(typeNames(r.informers()), read[r.Name], cmpopts.EquateEmpty()); diff != "" && !r.ReadsAll {
			t.Errorf("%s reads other types than the table says (- table, + seen):\n%s", r.Name, diff)
		}
		for _, name := range typeNames(r.informers()) {
			if !slices.Contains(read[r.Name], name) {
				t.Errorf("%s does not read %s", r.Name, name)
			}
		}
		if diff := cmp.Diff(r.Loops(), loopNames(m, r.Name)); diff != "" {
			t.Errorf("%s: loops in the table and built ones:\n%s", r.Name, diff)
		}
		var notItsOwn []any
		if r.Name != "garbage-collector-controller" {
			notItsOwn = append(notItsOwn, m.world.Load().graph)
		}
		within(t, fmt.Sprintf("%s has as many queues as the table lists: %v", r.Name, r.queueNames()), func() bool {
			return countQueues(taps.attached[r.Name], notItsOwn...) == len(r.queueNames())
		})
	}
	for _, agent := range agents {
		name, ok := strings.CutPrefix(agent, "kctl-ctrl/")
		known := slices.ContainsFunc(m.descriptors, func(r Descriptor) bool { return r.Name == name }) ||
			slices.Contains([]string{"controller-discovery", "shared-informers", "metadata-informers"}, name)
		if !ok || !known {
			t.Errorf("user agent %q", agent)
		}
	}

	stop(t, m)
	for _, s := range m.Statuses() {
		if wantOff[s.Controller] == "" && s.Status != state.ControllerStopped {
			t.Errorf("%s is %s after Stop: %s", s.Controller, s.Status, s.Reason)
		}
	}
	want := []state.ControllerStatus{state.ControllerStarting, state.ControllerRunning, state.ControllerStopped}
	if diff := cmp.Diff(want, recorded.of("deployment-controller")); diff != "" {
		t.Errorf("the deployment controller's life:\n%s", diff)
	}
}

// life records what becomes of controllers.
type life struct {
	mu     sync.Mutex
	events []state.ControllerChanged
}

func (l *life) Record(e state.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events = append(l.events, e.(state.ControllerChanged))
}

func (l *life) of(controller string) (statuses []state.ControllerStatus) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, e := range l.events {
		if e.Controller == controller {
			statuses = append(statuses, e.Status)
		}
	}
	return statuses
}

func loopNames(m *Manager, name string) (names []string) {
	m.eachBuilt(func(r *Descriptor, loops []loop) {
		for _, l := range loops {
			if r.Name == name {
				names = append(names, l.name)
			}
		}
	})
	return names
}

func typeNames(types []schema.GroupVersionResource) []string {
	var out []string
	for _, t := range types {
		out = append(out, t.String())
	}
	slices.Sort(out)
	return out
}

func TestStartInterval(t *testing.T) {
	m := start(t, newEmptyCluster(t), []string{"--controllers=job", "--controller-start-interval=10h"}, nil)
	if got := statusOf(m, "job-controller"); got != state.ControllerStarting {
		t.Errorf("the job controller is %s within its start interval", got)
	}
	stop(t, m)
	if got := statusOf(m, "job-controller"); got != state.ControllerStopped {
		t.Errorf("the job controller is %s after Stop", got)
	}
}

// stuckTaps keeps a loop from returning.
type stuckTaps struct {
	noTaps
	release chan struct{}
	loops   map[string]bool
}

func (s *stuckTaps) Attach(controller string, _ any, _ ...tap.Spec) error {
	s.loops[controller] = true
	return nil
}

func (s *stuckTaps) Run(ctx context.Context, controller string, fn func(context.Context)) {
	fn(ctx)
	if s.loops[controller] && controller == "job-controller" {
		<-s.release
	}
}

func TestStopNamesTheStuck(t *testing.T) {
	taps := &stuckTaps{release: make(chan struct{}), loops: map[string]bool{}}
	m := start(t, newEmptyCluster(t), []string{"--controllers=job,cronjob"}, func(c *Config) { c.Taps = taps })
	within(t, "both run", func() bool {
		return statusOf(m, "job-controller") == state.ControllerRunning && statusOf(m, "cronjob-controller") == state.ControllerRunning
	})
	ctx, cancel := context.WithCancel(context.Background())
	within(t, "only the stuck one has not returned", func() bool {
		go func() { time.AfterFunc(10*time.Millisecond, cancel) }()
		err := m.Stop(ctx)
		return err != nil && err.Error() == "stop controllers: still running: job-controller: context canceled"
	})
	close(taps.release)
}

// A loop that returns unasked has failed, and its health check says so.
type deadTaps struct{ noTaps }

func (deadTaps) Run(ctx context.Context, controller string, fn func(context.Context)) {
	done, cancel := context.WithCancel(ctx)
	cancel()
	fn(done)
}

func TestReturnedUnasked(t *testing.T) {
	m := start(t, newEmptyCluster(t), []string{"--controllers=job"}, func(c *Config) { c.Taps = deadTaps{} })
	within(t, "the job controller has failed", func() bool { return statusOf(m, "job-controller") == state.ControllerFailed })
	if err := m.HealthChecks()["job-controller"](nil); err == nil || err.Error() != "job-controller returned without being asked to" {
		t.Errorf("health check: %v", err)
	}
}

// A tap that does not fit keeps its controller from running unobserved.
type misfitTaps struct{ noTaps }

func (misfitTaps) Attach(controller string, _ any, _ ...tap.Spec) error {
	if controller == "job-controller" {
		return errors.New("no field queue")
	}
	return nil
}

func TestAttachFails(t *testing.T) {
	m := start(t, newEmptyCluster(t), []string{"--controllers=job,cronjob"}, func(c *Config) { c.Taps = misfitTaps{} })
	want := map[string]string{"job-controller": "it cannot be observed: no field queue"}
	if diff := cmp.Diff(want, offList(m)); diff != "" {
		t.Errorf("failed (- want, + got):\n%s", diff)
	}
	if s := statusOf(m, "job-controller"); s != state.ControllerOff {
		t.Errorf("job-controller is %s", s)
	}
	within(t, "the other one runs", func() bool { return statusOf(m, "cronjob-controller") == state.ControllerRunning })
	stop(t, m)
}

// Where it is asked for, it runs unobserved, and the journal says so.
func TestUntapped(t *testing.T) {
	for name, taps := range map[string]Taps{"Attach": misfitTaps{}, "Informers": strangeTaps{}} {
		var mu sync.Mutex
		var notes []state.Note
		m := start(t, newEmptyCluster(t), []string{"--controllers=job,cronjob"}, func(c *Config) {
			c.Taps, c.Untapped = taps, true
			c.Recorder = state.RecorderFunc(func(e state.Event) {
				mu.Lock()
				defer mu.Unlock()
				if n, ok := e.(state.Note); ok {
					notes = append(notes, n)
				}
			})
		})
		within(t, "both run", func() bool {
			return statusOf(m, "job-controller") == state.ControllerRunning && statusOf(m, "cronjob-controller") == state.ControllerRunning
		})
		stop(t, m)
		mu.Lock()
		if len(notes) == 0 || notes[0].Source != "job-controller" || !notes[0].Warning || !strings.Contains(notes[0].Text, "it runs untapped") {
			t.Errorf("%s: notes %+v", name, notes)
		}
		mu.Unlock()
	}
}

// strangeTaps do not know the factory that job-controller gets its informers from.
type strangeTaps struct{ noTaps }

func (strangeTaps) Informers(controller string, f informers.SharedInformerFactory) (informers.SharedInformerFactory, error) {
	if controller == "job-controller" {
		return nil, errors.New("no field namespace")
	}
	return f, nil
}

// A factory that the taps do not know turns off the controllers that it was for.
func TestInformersFail(t *testing.T) {
	m := start(t, newEmptyCluster(t), []string{"--controllers=job,cronjob"}, func(c *Config) { c.Taps = strangeTaps{} })
	want := map[string]string{"job-controller": "it cannot be observed: no field namespace"}
	if diff := cmp.Diff(want, offList(m)); diff != "" {
		t.Errorf("off (- want, + got):\n%s", diff)
	}
	stop(t, m)
}

func TestStartOnce(t *testing.T) {
	m := start(t, newEmptyCluster(t), []string{"--controllers="}, nil)
	if err := m.Start(t.Context()); err == nil {
		t.Error("a second Start is accepted")
	}
}

func TestUnreachable(t *testing.T) {
	cluster := newEmptyCluster(t)
	cluster.Close()
	m, err := New(Config{Component: complete(t, Inputs{}), REST: cluster.config(), InformerName: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Start(t.Context()); err == nil || !strings.Contains(err.Error(), "discover what the server offers") {
		t.Errorf("error %v", err)
	}
	stop(t, m)
}

// informersOf are those of a manager that was started.
func informersOf(m *Manager) informers.SharedInformerFactory { return m.world.Load().informers }

// waitForSync waits until the informers that the loops began with have listed.
func waitForSync(t testing.TB, m *Manager) {
	t.Helper()
	for typ, synced := range informersOf(m).WaitForCacheSync(t.Context().Done()) {
		if !synced {
			t.Fatalf("the informer of %s has not listed", typ)
		}
	}
}

func statusOf(m *Manager, name string) state.ControllerStatus {
	for _, s := range m.Statuses() {
		if s.Controller == name {
			return s.Status
		}
	}
	return ""
}
