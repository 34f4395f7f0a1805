package run

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"k8s.io/component-base/metrics/legacyregistry"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/controllers"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// healthServer answers /healthz, /healthz/CONTROLLER and /metrics while controllers run.
type healthServer struct {
	server   *http.Server
	listener net.Listener
}

// StartHealth listens on address, which must be on loopback: what it tells
// about the cluster is for this machine. checks is asked at each request.
func StartHealth(address string, checks func() map[string]func(*http.Request) error) (*healthServer, error) {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return nil, fmt.Errorf("listen for health checks on %q: %w: use an address such as 127.0.0.1:10257", address, err)
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("listen for health checks on %q: only loopback addresses are allowed, such as 127.0.0.1:10257", address)
	}
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listen for health checks: %w: choose another port with --health-address", err)
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, r *http.Request) { serveHealth(w, r, checks()) })
	mux.HandleFunc("GET /healthz/{loop}", func(w http.ResponseWriter, r *http.Request) {
		name, check := CheckCalled(checks(), r.PathValue("loop"))
		if check == nil {
			http.Error(w, fmt.Sprintf("no controller %q is running: /healthz lists those that are", r.PathValue("loop")), http.StatusNotFound)
			return
		}
		serveHealth(w, r, map[string]func(*http.Request) error{name: check})
	})
	mux.Handle("GET /metrics", legacyregistry.Handler())
	s := &healthServer{
		listener: listener,
		server:   &http.Server{Handler: mux, ReadHeaderTimeout: 5 * time.Second},
	}
	go func() { _ = s.server.Serve(listener) }()
	return s, nil
}

// CheckCalled finds the check of a controller by its name, long or short, or by an
// alias; nil where there is none.
func CheckCalled(checks map[string]func(*http.Request) error, called string) (string, func(*http.Request) error) {
	full, err := controllers.Resolve(called)
	if err != nil {
		full = called
	}
	for name, check := range checks {
		if name == called || name == full || render.ShortName(name) == called {
			return name, check
		}
		if resolved, err := controllers.Resolve(name); err == nil && resolved == full {
			return name, check
		}
	}
	return "", nil
}

// address is where it listens, with the port that was chosen for port 0.
func (s *healthServer) address() string { return s.listener.Addr().String() }

// Close ends it.
func (s *healthServer) Close() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	if err := s.server.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		_ = s.server.Close()
	}
}

// serveHealth answers as kube-controller-manager does: a line for each check
// and 500 if one fails.
func serveHealth(w http.ResponseWriter, r *http.Request, checks map[string]func(*http.Request) error) {
	var out strings.Builder
	failed := 0
	names := make([]string, 0, len(checks))
	for name := range checks {
		names = append(names, name)
	}
	slices.Sort(names)
	for _, name := range names {
		if err := checks[name](r); err != nil {
			failed++
			fmt.Fprintf(&out, "[-]%s failed: %v\n", name, err)
		} else {
			fmt.Fprintf(&out, "[+]%s ok\n", name)
		}
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	if failed > 0 {
		fmt.Fprintf(&out, "healthz check failed: %d of %d\n", failed, len(checks))
		w.WriteHeader(http.StatusInternalServerError)
	} else {
		out.WriteString("healthz check passed\n")
	}
	_, _ = w.Write([]byte(out.String()))
}
