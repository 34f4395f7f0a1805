package guard_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The one exception to "connections are refused" is one pod, one subresource,
// two methods, and sessions that only read.
func TestPortForward(t *testing.T) {
	const forward = "/api/v1/namespaces/shop/pods/web/portforward"
	server := newServer(t)
	g, err := guard.New(guard.Options{Mode: state.ModeReadOnly, PortForward: &state.Ref{Namespace: "shop", Name: "web"}})
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: g.Wrap(server.Client().Transport)}
	spdy := http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}
	for _, test := range []struct {
		name, method, path string
		header             http.Header
		leaves             bool
	}{
		{"over SPDY", "POST", forward, spdy, true},
		{"over SPDY, upgraded below the guard", "POST", forward, nil, true},
		{"over a WebSocket, upgraded below the guard", "GET", forward, nil, true},
		{"with a query", "POST", forward + "?ports=10257", spdy, true},
		{"by another method", "PUT", forward, spdy, false},
		{"with another method in a header", "POST", forward, http.Header{"X-Http-Method-Override": {"DELETE"}}, false},
		{"to another protocol", "POST", forward, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"h2c"}}, false},
		{"to two protocols", "POST", forward, http.Header{"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}, "upgrade": {"h2c"}}, false},
		{"with an escape", "POST", "/api/v1/namespaces/shop/pods/w%65b/portforward", nil, false},
		{"deleting it", "DELETE", forward, nil, false},
		{"to another pod", "POST", "/api/v1/namespaces/shop/pods/db/portforward", spdy, false},
		{"in another namespace", "POST", "/api/v1/namespaces/else/pods/web/portforward", spdy, false},
		{"of another group", "POST", "/apis/shop.example/v1/namespaces/shop/pods/web/portforward", spdy, false},
		{"of a service", "POST", "/api/v1/namespaces/shop/services/web/portforward", spdy, false},
		{"behind the subresource", "POST", forward + "/more", spdy, false},
		{"with a doubled slash", "POST", forward + "//", spdy, false},
		{"exec", "POST", "/api/v1/namespaces/shop/pods/web/exec", spdy, false},
		{"attach", "GET", "/api/v1/namespaces/shop/pods/web/attach", nil, false},
		{"proxy", "GET", "/api/v1/namespaces/shop/pods/web/proxy/metrics", nil, false},
		{"upgrade of a read", "GET", "/api/v1/namespaces/shop/pods/web", spdy, false},
		{"a write", "POST", "/api/v1/namespaces/shop/pods", nil, false},
		{"old proxy path", "GET", "/api/v1/proxy/namespaces/shop/pods/web/portforward", nil, false},
	} {
		before := len(server.arrivals)
		u, err := url.Parse(server.URL + test.path)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(&http.Request{Method: test.method, URL: u, Header: test.header.Clone()})
		if err != nil {
			t.Errorf("%s: %v", test.name, err)
			continue
		}
		_ = resp.Body.Close()
		if left := len(server.arrivals) > before; left != test.leaves {
			t.Errorf("%s: left = %v, want %v (answer %s)", test.name, left, test.leaves, resp.Status)
		}
	}
}

func TestPortForwardOnlyWhereItIsAllowed(t *testing.T) {
	pod := &state.Ref{Namespace: "shop", Name: "web"}
	grant := newServer(t).grant(t)
	for _, o := range []guard.Options{
		{Mode: state.ModeDryRunClient, PortForward: pod},
		{Mode: state.ModeDryRunServer, PortForward: pod},
		{Mode: state.ModeActive, Grant: grant, PortForward: pod},
		{Mode: state.ModeReadOnly, PortForward: &state.Ref{Namespace: "shop"}},
		{Mode: state.ModeReadOnly, PortForward: &state.Ref{Name: "web"}},
	} {
		if _, err := guard.New(o); err == nil {
			t.Errorf("%s with %v: a guard was made", o.Mode, o.PortForward)
		}
	}
	allowed, err := guard.New(guard.Options{Mode: state.ModeReadOnly, PortForward: pod})
	if err != nil {
		t.Fatal(err)
	}
	for subresource, want := range map[string]guard.Action{
		"portforward": guard.ActionForward, "exec": guard.ActionRefuse, "attach": guard.ActionRefuse, "proxy": guard.ActionRefuse,
	} {
		r := request.Classify("POST", &url.URL{Path: "/api/v1/namespaces/shop/pods/web/" + subresource}, http.Header{})
		if got := allowed.Decide(r); got.Action != want {
			t.Errorf("%s: %+v, want %s", subresource, got, want)
		}
	}
	plain, err := guard.New(guard.Options{Mode: state.ModeReadOnly})
	if err != nil {
		t.Fatal(err)
	}
	r := request.Classify("POST", &url.URL{Path: "/api/v1/namespaces/shop/pods/web/portforward"}, http.Header{"Upgrade": {"SPDY/3.1"}})
	if got := plain.Decide(r); got.Action != guard.ActionRefuse {
		t.Errorf("without the option: %+v", got)
	}
}

// With a forward allowed to one pod, everything else that leaves is a read or a
// review: whatever is asked for, in whatever way.
func TestOnlyTheForwardLeaves(t *testing.T) {
	pod := &state.Ref{Namespace: "ns", Name: "a"}
	const path = "/api/v1/namespaces/ns/pods/a/portforward"
	g, err := guard.New(guard.Options{Mode: state.ModeReadOnly, PortForward: pod, Server: "https://host"})
	if err != nil {
		t.Fatal(err)
	}
	pod.Name = "b" // the guard has its own
	near := rapid.Custom(func(t *rapid.T) *http.Request {
		req := anyRequest(t)
		if rapid.Bool().Draw(t, "far") {
			return req
		}
		parts := strings.Split(path, "/")
		for range rapid.IntRange(0, 2).Draw(t, "changes") {
			i := rapid.IntRange(0, len(parts)-1).Draw(t, "where")
			parts[i] = rapid.SampledFrom([]string{"", ".", "..", "a", "A", "b", "ns", "%61", "a%2fexec", "pods", "services", "nodes", "portforward", "exec",
				"attach", "proxy", "api", "apis/x.io", "v2", "watch", "status", "portforward/x", "a/portforward"}).Draw(t, "part")
		}
		host := rapid.SampledFrom([]string{"https://host", "https://host", "https://host", "https://other", "http://host", "https://host:6443"}).Draw(t, "host")
		if u, err := url.Parse(host + strings.Join(parts, "/")); err == nil {
			u.RawQuery = req.URL.RawQuery
			req.URL = u
		}
		if rapid.Bool().Draw(t, "plain") {
			req.Body, req.GetBody, req.ContentLength = nil, nil, 0
			req.Method = rapid.SampledFrom([]string{"GET", "POST"}).Draw(t, "usual method")
			req.Header = rapid.SampledFrom([]http.Header{{}, {"Connection": {"Upgrade"}, "Upgrade": {"SPDY/3.1"}}}).Draw(t, "usual header")
		}
		return req
	})
	forwarded := 0
	rapid.Check(t, func(t *rapid.T) {
		req, inner := near.Draw(t, "request"), &recorder{}
		origin := req.URL.Scheme + "://" + req.URL.Host
		if _, err := g.Wrap(inner).RoundTrip(req); err != nil {
			t.Fatal(err)
		}
		for _, a := range inner.arrived {
			if origin != "https://host" {
				t.Fatalf("left for %s: %+v", origin, a)
			}
			for name := range a.Header {
				if strings.EqualFold(name, "X-Http-Method-Override") {
					t.Fatalf("left: %+v", a)
				}
			}
			upgrade := a.Header.Get("Upgrade")
			if a.Path == path && req.URL.RawPath == "" && (a.Method == "GET" || a.Method == "POST") && len(a.Body) == 0 && (upgrade == "" || upgrade == "SPDY/3.1" || upgrade == "websocket") {
				forwarded++
				continue
			}
			if mutates(t, a) || upgrade != "" {
				t.Fatalf("left: %+v", a)
			}
		}
	})
	if forwarded == 0 && !testing.Short() { // which draws 20
		t.Error("no forward left: the test draws none")
	}
}
