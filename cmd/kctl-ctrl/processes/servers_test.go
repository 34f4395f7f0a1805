package processes

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// What answers is no API server, or one that has no time. Whoever asks is told so in
// one line, at once, and the password in the server's address is told nobody.
func TestServersThatDoNotHelp(t *testing.T) {
	var stolen atomic.Int32
	elsewhere := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { stolen.Add(1) }))
	defer elsewhere.Close()
	answer := func(code int, media, body string, headers ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", media)
			for i := 0; i < len(headers); i += 2 {
				w.Header().Set(headers[i], headers[i+1])
			}
			w.WriteHeader(code)
			_, _ = io.WriteString(w, body)
		}
	}
	status := func(code, message string) string {
		return `{"kind":"Status","apiVersion":"v1","status":"Failure","code":` + code + `,"message":"` + message + `"}`
	}
	for name, c := range map[string]struct {
		server http.HandlerFunc
		want   []string // one of them
	}{
		"busy for an hour":        {answer(429, "application/json", status("429", "later"), "Retry-After", "3600"), []string{"rate-limited by the API server (429)"}},
		"unavailable for an hour": {answer(503, "application/json", status("503", "later"), "Retry-After", "3600"), []string{"the server is not healthy"}},
		"gateway":                 {answer(504, "application/json", status("504", "later")), []string{"the server is not healthy"}},
		"redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
			},
			[]string{"redirects to " + elsewhere.URL},
		},
		"web page":  {answer(200, "text/html", "<html>log in</html>"), []string{"not a Kubernetes API server"}},
		"forbidden": {answer(403, "application/json", status("403", "not you")), []string{"the server answers 403 Forbidden", "not you"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.server)
			defer server.Close()
			file := programtest.KubeconfigOf(t, clientcmdapi.Cluster{Server: strings.Replace(server.URL, "//", "//bob:CANARY@", 1)}, clientcmdapi.AuthInfo{})
			for _, verb := range []string{"get leases", "tree deployment/x", "why deployment/x", "revisions deployment/x", "run --controllers=deployment", "run --dry-run=server --controllers=deployment", "exec -- true"} {
				command := newHouse(t).program(t, append([]string{"--kubeconfig", file}, strings.Fields(verb)...)...)
				var out, errOut bytes.Buffer
				command.Stdout, command.Stderr = &out, &errOut
				_ = command.Run()
				if code := command.ProcessState.ExitCode(); code != exitError {
					t.Errorf("%s: exit code %d", verb, code)
				}
				_, said, _ := strings.Cut(errOut.String(), "error: ")
				found := false
				for _, want := range c.want {
					found = found || strings.Contains(said, want)
				}
				if !found || strings.Count(said, "\n") != 1 {
					t.Errorf("%s: want %q in one line, got %q", verb, c.want, errOut.String())
				}
				if strings.Contains(out.String()+errOut.String(), "CANARY") {
					t.Errorf("%s tells the password:\n%s%s", verb, out.String(), errOut.String())
				}
			}
		})
	}
	if n := stolen.Load(); n > 0 {
		t.Errorf("the other server was asked %d times", n)
	}
}

// What cannot be read of a kubeconfig may be a password.
func TestAddressesThatAreNone(t *testing.T) {
	for name, cluster := range map[string]clientcmdapi.Cluster{
		"the server's": {Server: "https://bob:CANARY%zz@127.0.0.1:1"},
		"the proxy's":  {Server: "https://127.0.0.1:1", ProxyURL: "http://bob:CANARY%zz@127.0.0.1:1"},
	} {
		file := programtest.KubeconfigOf(t, cluster, clientcmdapi.AuthInfo{})
		for _, verb := range []string{"get leases", "tree deployment/x", "revisions deployment/x", "rbac --check", "run --active --confirm=c --controllers=deployment", "exec -- true", "get queues --metrics-from=kube-controller-manager"} {
			command := newHouse(t).program(t, append([]string{"--kubeconfig", file}, strings.Fields(verb)...)...)
			out, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "error: ") || strings.Contains(string(out), "CANARY") {
				t.Errorf("%s: %s: %v:\n%s", name, verb, err, out)
			}
		}
	}
}
