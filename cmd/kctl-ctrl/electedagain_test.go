package main

import (
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/userconfig"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
)

// TestWhatHasChangedWhileStandingBy has the cluster change while a process stands by:
// when the lease is its own it writes nothing, and gives the lease back.
func TestWhatHasChangedWhileStandingBy(t *testing.T) {
	testbed.Parallel(t)
	c := newContested(t)
	c.keepBusy(t, "web-1")
	for name, change := range map[string]struct {
		do   func(*testing.T, *instance)
		says string
	}{
		"upgraded": {func(_ *testing.T, p *instance) {
			p.set(answer("/version", `{"major":"1","minor":"40","gitVersion":"v1.40.0"}`))
		}, "unsupported API server version 1.40"},
		"a right less": {func(_ *testing.T, p *instance) {
			p.set(answer("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
				`{"kind":"SelfSubjectAccessReview","apiVersion":"authorization.k8s.io/v1","spec":{},"status":{"allowed":false}}`))
		}, "you may not do on context"},
		"protected": {func(t *testing.T, p *instance) {
			dir := filepath.Join(p.env("XDG_CONFIG_HOME"), "kctl-ctrl")
			if err := os.MkdirAll(dir, 0o700); err != nil {
				t.Error(err)
			}
			if err := os.WriteFile(filepath.Join(dir, userconfig.Name), []byte("apiVersion: kctl-ctrl.dev/v1alpha1\nkind: Config\nprotectedContexts: ["+contestedContext+"]\n"), 0o600); err != nil {
				t.Error(err)
			}
		}, "is protected"},
	} {
		t.Run(name, func(t *testing.T) {
			leads := c.way(t, "a").start(t, "--controllers=deployment")
			leads.says(t, "acquired")
			p := c.way(t, "b").start(t, "--controllers=deployment")
			p.says(t, " leads since ")
			change.do(t, p)
			_ = leads.Process.Signal(syscall.SIGTERM)
			leads.exits(t, exit.OK)
			p.says(t, "acquired")
			p.exits(t, exit.Failed)
			if said := p.stderr.String(); !strings.Contains(said, "the lease was acquired and is released again: ") || !strings.Contains(said, change.says) {
				t.Errorf("it said %q", said)
			}
			for _, r := range c.requests(t) {
				if r.who == "b" && !r.lease {
					t.Errorf("it wrote: %s", r.what)
				}
			}
			lease, err := c.client.CoordinationV1().Leases("kube-system").Get(t.Context(), "kube-controller-manager", metav1.GetOptions{})
			if err != nil || lease.Spec.HolderIdentity == nil || *lease.Spec.HolderIdentity != "" {
				t.Errorf("the lease was not given back: %+v, %v", lease.Spec, err)
			}
		})
	}
}

// answer answers requests for a path in the place of the server.
func answer(path, body string) func(http.ResponseWriter, *http.Request) bool {
	return func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path != path {
			return false
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, body)
		return true
	}
}

// env is a variable of the process.
func (p *instance) env(name string) (value string) {
	for _, v := range p.Env {
		if is, found := strings.CutPrefix(v, name+"="); found {
			value = is
		}
	}
	return value
}
