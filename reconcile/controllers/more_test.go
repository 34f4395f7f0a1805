package controllers

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Every controller can be started after the others, on informers that run
// already, with the real taps.
func TestStartMoreOneByOne(t *testing.T) {
	taps := tap.New(state.RecorderFunc(func(state.Event) {}))
	defer taps.Close()
	in := testInputs(t)
	cluster := newEmptyCluster(t)
	m := start(t, cluster, nil, func(c *Config) {
		c.Component = complete(t, in.Inputs, "--controllers=", "--kube-api-content-type=application/json", "--kube-api-qps=-1")
		c.RootCA, c.Taps = in.rootCA, taps
	})
	for _, r := range cluster.seen() {
		if !r.resource.Empty() {
			t.Errorf("%s %s though no loop runs", r.method, r.path)
		}
	}
	for i := range m.descriptors {
		r := &m.descriptors[i]
		_, gateOff := r.gateOff()
		if err := m.StartMore(t.Context(), r.Name); (err != nil) != gateOff {
			t.Errorf("%v", err)
		}
		if gateOff {
			continue
		}
		within(t, r.Name+" runs", func() bool { return statusOf(m, r.Name) == state.ControllerRunning })
		waitForSync(t, m)
		for _, g := range r.informers() {
			if of := (*m.informed.Load())[g.GroupResource()]; of == nil || of.GroupVersionResource != g {
				t.Errorf("%s is not looked up in the informer of %s", g, r.Name)
			}
		}
		within(t, "the queues of "+r.Name+" are tapped", func() bool { return len(taps.Queues(r.Name)) >= len(r.queueNames()) })
	}
	within(t, "all informers have delivered their first list", func() bool { return len(taps.Activity().Unsynced) == 0 })
	within(t, "the garbage collector has its graph", func() bool { return len(m.Busy()) == 0 })
	stop(t, m)
	for _, s := range m.Statuses() {
		if s.Status != state.ControllerStopped && s.Status != state.ControllerOff {
			t.Errorf("%s is %s after Stop", s.Controller, s.Status)
		}
	}
}

// The right to read is asked for each time, and only for the loop's types.
func TestStartMoreChecksAccess(t *testing.T) {
	cluster := newEmptyCluster(t)
	nodes := schema.GroupResource{Resource: "nodes"}
	cluster.forbidden[nodes] = true
	m := start(t, cluster, []string{"--controllers="}, func(c *Config) { c.CheckAccess = true })
	err := m.StartMore(t.Context(), "daemonset")
	if err == nil || !strings.Contains(err.Error(), "start daemonset-controller: you may not ") {
		t.Errorf("error %v", err)
	}
	i := slices.IndexFunc(m.Statuses(), func(s state.ControllerChanged) bool { return s.Controller == "daemonset-controller" })
	if s := m.Statuses()[i]; s.Status != state.ControllerOff || !strings.Contains(s.Reason, "you may not") {
		t.Errorf("status %+v", s)
	}
	if err := m.StartMore(t.Context(), "job"); err != nil {
		t.Error(err)
	}
	delete(cluster.forbidden, nodes) // nothing asks while nothing is started
	if err := m.StartMore(t.Context(), "daemonset"); err != nil {
		t.Error(err)
	}
	within(t, "both run", func() bool {
		return statusOf(m, "job-controller") == state.ControllerRunning && statusOf(m, "daemonset-controller") == state.ControllerRunning
	})
}

func TestStartMoreRefuses(t *testing.T) {
	m := start(t, newEmptyCluster(t, schema.GroupResource{Group: "batch", Resource: "cronjobs"}), []string{
		"--controllers=job,csrsigning", "--cluster-signing-cert-file=/nonexistent/ca.crt", "--cluster-signing-key-file=/nonexistent/ca.key",
	}, func(c *Config) { c.Namespace = "" })
	within(t, "the job controller runs", func() bool { return statusOf(m, "job-controller") == state.ControllerRunning })
	for name, want := range map[string]string{
		"job":        "start job-controller: it is running",
		"cronjob":    "start cronjob-controller: the server does not serve cronjobs.batch (v1)",
		"csrsigning": "start certificatesigningrequest-signing-controller: it has failed, and needs a new process: ",
		"nosuch":     `unknown controller "nosuch"`,
		"*":          `unknown controller "*"`,
		"-job":       `unknown controller "-job"`,
	} {
		if err := m.StartMore(t.Context(), name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: %v, want %s…", name, err, want)
		}
	}
	var unknown *UnknownError
	if err := m.StartMore(t.Context(), "deploymen"); !errors.As(err, &unknown) || len(unknown.Near) == 0 {
		t.Errorf("error %v", err)
	}
	stop(t, m)
	if err := m.StartMore(t.Context(), "replicaset"); err == nil || !strings.Contains(err.Error(), "being stopped") {
		t.Errorf("after Stop: %v", err)
	}
}

func TestStartMoreBeforeStart(t *testing.T) {
	m, err := New(Config{Component: complete(t, Inputs{}), REST: newEmptyCluster(t).config(), InformerName: t.Name()})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.StartMore(t.Context(), "job"); err == nil || !strings.Contains(err.Error(), "have not been started") {
		t.Errorf("error %v", err)
	}
}
