package guard_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
)

// redirecting is a server that sends everything on to another one. Both have
// the same certificate, so that a client would follow.
func redirecting(t *testing.T, code int) (from, to *server) {
	t.Helper()
	from, to = newServer(t), newServer(t)
	from.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to.URL+r.URL.RequestURI(), code)
	})
	return from, to
}

// clientOf makes a client as the program does: the guard inside the wrapper
// that adds the token. A nil guard is none.
func clientOf(t *testing.T, s *server, g *guard.Guard) *kubernetes.Clientset {
	t.Helper()
	config := &rest.Config{Host: s.URL, BearerToken: "secret", QPS: -1, TLSClientConfig: rest.TLSClientConfig{CAData: s.authority()}}
	if g != nil {
		config.Wrap(g.Wrap)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		t.Fatal(err)
	}
	return client
}

// redirected are requests of each kind that leaves in some mode.
var redirected = []struct {
	name string
	ask  func(context.Context, *kubernetes.Clientset) error
}{
	{"get", func(ctx context.Context, c *kubernetes.Clientset) error {
		_, err := c.CoreV1().Secrets("shop").Get(ctx, "s", metav1.GetOptions{})
		return err
	}},
	{"watch", func(ctx context.Context, c *kubernetes.Clientset) error {
		_, err := c.CoreV1().Pods("shop").Watch(ctx, metav1.ListOptions{})
		return err
	}},
	{"version", func(_ context.Context, c *kubernetes.Clientset) error {
		_, err := c.Discovery().ServerVersion()
		return err
	}},
	{"review", func(ctx context.Context, c *kubernetes.Clientset) error {
		_, err := c.AuthorizationV1().SelfSubjectAccessReviews().Create(ctx, &authorizationv1.SelfSubjectAccessReview{}, metav1.CreateOptions{})
		return err
	}},
	{"create", func(ctx context.Context, c *kubernetes.Clientset) error {
		_, err := c.CoreV1().Pods("shop").Create(ctx, pod(), metav1.CreateOptions{})
		return err
	}},
	{"update", func(ctx context.Context, c *kubernetes.Clientset) error {
		_, err := c.CoreV1().Pods("shop").Update(ctx, pod(), metav1.UpdateOptions{})
		return err
	}},
	{"patch", func(ctx context.Context, c *kubernetes.Clientset) error {
		_, err := c.CoreV1().Pods("shop").Patch(ctx, "web", types.MergePatchType, []byte(`{}`), metav1.PatchOptions{})
		return err
	}},
	{"delete", func(ctx context.Context, c *kubernetes.Clientset) error {
		return c.CoreV1().Pods("shop").Delete(ctx, "web", metav1.DeleteOptions{})
	}},
	{"delete collection", func(ctx context.Context, c *kubernetes.Clientset) error {
		return c.CoreV1().Pods("shop").DeleteCollection(ctx, metav1.DeleteOptions{}, metav1.ListOptions{})
	}},
}

// Nothing follows a redirect to another server, in no mode, whether the guard
// was told which server is its own or has seen it.
func TestRedirectsAreNotFollowed(t *testing.T) {
	for _, code := range []int{http.StatusFound, http.StatusTemporaryRedirect, http.StatusPermanentRedirect} {
		for _, mode := range allModes {
			for _, told := range []bool{true, false} {
				from, to := redirecting(t, code)
				o := guard.Options{Mode: mode, Recorder: &journal{}}
				if told {
					o.Server = from.URL
				}
				if mode == state.ModeActive {
					o.Grant = from.grant(t)
				}
				g, err := guard.New(o)
				if err != nil {
					t.Fatal(err)
				}
				client := clientOf(t, from, g)
				for _, r := range redirected {
					err := r.ask(t.Context(), client)
					answered := mode == state.ModeDryRunClient && (r.name == "create" || r.name == "delete collection")
					if (err == nil) != answered {
						t.Errorf("%d, %s, %s: %v", code, mode, r.name, err)
					}
					if strings.Contains(r.name, "get") && (!guard.Refused(err) || !strings.Contains(err.Error(), "this session talks to "+from.URL) || !strings.Contains(err.Error(), to.URL)) {
						t.Errorf("%d, %s, %s: the error does not say where it would have gone: %v", code, mode, r.name, err)
					}
				}
				if arrived := to.all(); len(arrived) != 0 {
					t.Errorf("%d, %s, told %v: %d requests reached another server, the first: %+v", code, mode, told, len(arrived), arrived[0])
				}
			}
		}
	}
}

// The test above must be able to fail: without the guard, the token and the
// delete go to the other server.
func TestRedirectsWouldBeFollowed(t *testing.T) {
	from, to := redirecting(t, http.StatusTemporaryRedirect)
	client := clientOf(t, from, nil)
	for _, r := range redirected {
		_ = r.ask(t.Context(), client)
	}
	arrived := to.all()
	if len(arrived) != len(redirected) {
		t.Errorf("%d of %d redirects were followed", len(arrived), len(redirected))
	}
	for _, a := range arrived {
		if a.Header.Get("Authorization") != "Bearer secret" {
			t.Errorf("%s %s arrived without the token", a.Method, a.Path)
		}
	}
}

// A redirect on the same server is followed.
func TestRedirectWithinTheServer(t *testing.T) {
	s := newServer(t)
	s.serve("/version/", `{"gitVersion":"v1.37.1"}`)
	inner := s.Config.Handler
	s.Config.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/version" {
			http.Redirect(w, r, "/version/", http.StatusFound)
			return
		}
		inner.ServeHTTP(w, r)
	})
	g, err := guard.New(guard.Options{Mode: state.ModeReadOnly, Server: s.URL + "/a/path/that/is/ignored"})
	if err != nil {
		t.Fatal(err)
	}
	if v, err := clientOf(t, s, g).Discovery().ServerVersion(); err != nil || v.GitVersion != "v1.37.1" {
		t.Errorf("%v, %v", v, err)
	}
}

func TestServer(t *testing.T) {
	for _, test := range []struct {
		server, url, host string
		leaves            bool
	}{
		{"https://host", "https://host", "", true},
		{"https://host", "https://HOST:443", "host", true},
		{"https://host:443/k8s", "https://host", "HOST:443", true},
		{"http://[::1]:80", "http://[::1]", "", true},
		{"https://host:6443", "https://host:6443", "host:6443", true},
		{"https://host", "http://host", "", false},
		{"https://host", "http://host:443", "", false},
		{"https://host", "https://host:6443", "", false},
		{"https://host", "https://host.example", "", false},
		{"https://host", "https://host@other", "", false},
		{"https://host", "https://other:443", "host", false},
		{"https://host", "https://host", "other", false},
		{"https://host", "https://host", "host:6443", false},
		{"https://host", "//host", "", false},
	} {
		for _, mode := range []state.Mode{state.ModeReadOnly, state.ModeDryRunClient, state.ModeDryRunServer} {
			g, err := guard.New(guard.Options{Mode: mode, Server: test.server})
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range []struct{ method, path string }{
				{"GET", podPath}, {"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews"}, {"DELETE", podPath}, {"GET", "/version"},
			} {
				if r.method == "DELETE" && mode != state.ModeDryRunServer {
					continue
				}
				u, err := url.Parse(test.url + r.path)
				if err != nil {
					t.Fatal(err)
				}
				inner := &recorder{}
				resp, err := g.Wrap(inner).RoundTrip(&http.Request{Method: r.method, URL: u, Host: test.host, Header: http.Header{}})
				if err != nil {
					t.Fatal(err)
				}
				if left := len(inner.arrived) > 0; left != test.leaves || (resp.StatusCode == http.StatusForbidden) == left {
					t.Errorf("%s, %s %s with Host %q behind a guard for %s: left = %v, status %d", mode, r.method, u, test.host, test.server, left, resp.StatusCode)
				}
			}
		}
	}
}

func TestServerOfAGuard(t *testing.T) {
	s := newServer(t)
	for _, o := range []guard.Options{
		{Mode: state.ModeReadOnly, Server: "host:6443"},
		{Mode: state.ModeReadOnly, Server: "host"},
		{Mode: state.ModeReadOnly, Server: "ftp://host"},
		{Mode: state.ModeReadOnly, Server: "https://:6443"},
		{Mode: state.ModeReadOnly, Server: "https://\x7f"},
		{Mode: state.ModeActive, Grant: s.grant(t), Server: "https://host"},
	} {
		if _, err := guard.New(o); err == nil {
			t.Errorf("%s for %q: a guard was made", o.Mode, o.Server)
		}
	}
	// In active mode the grant tells: a first request elsewhere settles nothing.
	g, err := guard.New(guard.Options{Mode: state.ModeActive, Grant: s.grant(t)})
	if err != nil {
		t.Fatal(err)
	}
	other := newServer(t)
	if _, err := clientOf(t, other, g).CoreV1().Pods("shop").Get(t.Context(), "web", metav1.GetOptions{}); !guard.Refused(err) || len(other.all()) != 0 {
		t.Errorf("a read of another server: %v", err)
	}
}

// A header that asks for another method is not let out, whoever would heed it.
func TestMethodOverride(t *testing.T) {
	for _, mode := range allModes {
		w := newWorld(t, mode, "")
		for _, name := range []string{"X-Http-Method", "X-HTTP-Method-Override", "x-method-override", "X_HTTP_METHOD_OVERRIDE"} {
			for _, method := range []string{"GET", "POST", "DELETE"} {
				if code, _ := w.do(t, method, podPath, http.Header{name: {"DELETE"}}, nil); code != http.StatusForbidden {
					t.Errorf("%s: %s with %s: %d", mode, method, name, code)
				}
			}
		}
		if arrived := w.server.all(); len(arrived) != 0 {
			t.Errorf("%s: arrived %+v", mode, arrived)
		}
	}
}
