package engine

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// onePod is a server that has one pod, in a version, and takes every write.
type onePod struct {
	mu      sync.Mutex
	version string
	writes  []string
}

func (p *onePod) RoundTrip(req *http.Request) (*http.Response, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	answer := []byte(`{"kind":"Status","apiVersion":"v1","status":"Success"}`)
	if req.Method == http.MethodGet {
		answer, _ = json.Marshal(&corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web-1", UID: "u", ResourceVersion: p.version}})
	} else {
		p.writes = append(p.writes, req.Method+" "+req.URL.Path)
	}
	return &http.Response{StatusCode: http.StatusOK, Request: req, Header: http.Header{"Content-Type": {"application/json"}}, Body: io.NopCloser(bytes.NewReader(answer))}, nil
}

func (p *onePod) change(version string) { p.mu.Lock(); defer p.mu.Unlock(); p.version = version }

func (p *onePod) sent() []string { p.mu.Lock(); defer p.mu.Unlock(); return slices.Clone(p.writes) }

// A write that stood at a breakpoint is not sent for what is not there any more.
func TestAHeldWriteIsLookedAtAgain(t *testing.T) {
	for name, c := range map[string]struct {
		mode      state.Mode
		meanwhile string
		leaves    bool
	}{
		"changed":                     {state.ModeActive, "8", false},
		"unchanged":                   {state.ModeActive, "7", true},
		"changed, and nothing stored": {state.ModeDryRunServer, "8", true},
	} {
		t.Run(name, func(t *testing.T) {
			s, err := testEngine(t, Spec{})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = s.Stop(context.Background()) })
			const server, controller = "https://127.0.0.1:1", "replicaset-controller"
			options := guard.Options{Mode: c.mode, Server: server}
			if c.mode == state.ModeActive {
				if options.Grant, err = guard.GrantSandbox(server, []byte("ca"), func([]byte) bool { return true }); err != nil {
					t.Fatal(err)
				}
			}
			wrap, err := s.Guarded(options)
			if err != nil {
				t.Fatal(err)
			}
			pod := &onePod{version: "7"}
			client, err := kubernetes.NewForConfigAndClient(&rest.Config{Host: server, QPS: -1}, &http.Client{Transport: named{wrap(pod), controller}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := s.Tap().Break(tap.Breakpoint{Controller: controller, BeforeWrite: true}); err != nil {
				t.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- client.CoreV1().Pods("shop").Delete(t.Context(), "web-1", metav1.DeleteOptions{}) }()
			eventually(t, "the write is held", func() bool { return len(s.Tap().Breakpoints()[0].Held) == 1 })
			pod.change(c.meanwhile)
			s.Tap().Resume(controller)
			err = <-done
			if (err == nil) != c.leaves || (len(pod.sent()) == 1) != c.leaves {
				t.Errorf("sent %q, answered %v", pod.sent(), err)
			}
			if !c.leaves && (!approve.Skipped(err) || !strings.Contains(err.Error(), "it stood at a breakpoint, and was not sent: the object has changed meanwhile (rv 7→8)")) {
				t.Errorf("answered %v", err)
			}
		})
	}
}

// named sends requests with the user agent of a loop.
type named struct {
	http.RoundTripper
	controller string
}

func (n named) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.Header.Set("User-Agent", "kctl-ctrl/"+n.controller)
	return n.RoundTripper.RoundTrip(req)
}
