package main

import (
	"bytes"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
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
		"busy for an hour":        {answer(429, "application/json", status("429", "later"), "Retry-After", "3600"), []string{"asks for fewer requests"}},
		"unavailable for an hour": {answer(503, "application/json", status("503", "later"), "Retry-After", "3600"), []string{"the server has trouble"}},
		"gateway":                 {answer(504, "application/json", status("504", "later")), []string{"the server has trouble"}},
		"redirect": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, elsewhere.URL+r.URL.Path, http.StatusTemporaryRedirect)
			},
			[]string{"sends its clients on to " + elsewhere.URL},
		},
		"web page":  {answer(200, "text/html", "<html>log in</html>"), []string{"is no API server"}},
		"forbidden": {answer(403, "application/json", status("403", "not you")), []string{"the server answers 403 Forbidden", "not you"}},
	} {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(c.server)
			defer server.Close()
			file := kubeconfigOf(t, clientcmdapi.Cluster{Server: strings.Replace(server.URL, "//", "//bob:CANARY@", 1)}, clientcmdapi.AuthInfo{})
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
		file := kubeconfigOf(t, cluster, clientcmdapi.AuthInfo{})
		for _, verb := range []string{"get leases", "tree deployment/x", "revisions deployment/x", "rbac --check", "run --active --confirm=c --controllers=deployment", "exec -- true", "get queues --metrics-from=kube-controller-manager"} {
			command := newHouse(t).program(t, append([]string{"--kubeconfig", file}, strings.Fields(verb)...)...)
			out, err := command.CombinedOutput()
			if err == nil || !strings.Contains(string(out), "error: ") || strings.Contains(string(out), "CANARY") {
				t.Errorf("%s: %s: %v:\n%s", name, verb, err, out)
			}
		}
	}
}

// net/http logs bytes that a server sends unasked: not to the terminal.
func TestNothingLogsToTheTerminal(t *testing.T) {
	defer log.SetOutput(log.Writer())
	log.SetOutput(os.Stderr)
	silenceKlog()
	if log.Writer() != io.Discard {
		t.Error("the standard log is on the terminal")
	}
	var file bytes.Buffer
	sendKlogTo(&file, 0, func(l logr.Logger) logr.Logger { return l })
	defer silenceKlog()
	log.Print("Unsolicited response")
	if !strings.Contains(file.String(), "Unsolicited response") {
		t.Errorf("the log has %q", file.String())
	}
}

// A log does not fill the disk, however long a session lasts; of a file that the user
// has named, what was in it before stays.
func TestLogIsBounded(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	dir, err := stateDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(t.TempDir(), "ci.log")
	before := strings.Repeat("mine\n", 1000)
	for _, c := range []struct{ flag, path, kept string }{
		{"", filepath.Join(dir, logName), ""},
		{named, named, before},
	} {
		if err := os.WriteFile(c.path, []byte(before), 0o600); err != nil {
			t.Fatal(err)
		}
		file, err := openLog(c.flag)
		if err != nil {
			t.Fatal(err)
		}
		bounded, ok := file.(*boundedLog)
		if !ok {
			t.Fatalf("the log is a %T", file)
		}
		bounded.most = 1000
		line := strings.Repeat("x", 99) + "\n"
		for range 100 {
			if _, err := io.WriteString(bounded, line); err != nil {
				t.Fatal(err)
			}
		}
		if err := bounded.Close(); err != nil {
			t.Fatal(err)
		}
		text, err := os.ReadFile(c.path)
		if err != nil {
			t.Fatal(err)
		}
		ours, found := strings.CutPrefix(string(text), c.kept)
		if !found || ours == "" || len(ours) > 1000+len(line) || strings.Trim(ours, "x\n") != "" {
			t.Errorf("%s has %d bytes: %.200q", c.path, len(text), text)
		}
	}
}

// A disk that is full ends the recording, and the journal says so at once.
func TestFullDiskIsTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /dev/full")
	}
	s, err := testSession(t, sessionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.shutDown(io.Discard)
	path := filepath.Join(t.TempDir(), "x.jsonl")
	recorder, err := (&recordFlags{file: path}).start(s)
	if err != nil {
		t.Fatal(err)
	}
	fillDisk(t, path)
	s.note("test", "the first entry")
	<-recorder.writer.Done()
	if !waitFor(t.Context(), patience, func() bool {
		for entry := range s.hub.Flush().Notes.All() {
			if note, _ := entry.Event.(state.Note); strings.Contains(note.Text, "no space left on device: nothing more is recorded") {
				return true
			}
		}
		return false
	}) {
		t.Error("the journal does not tell that it is not recorded")
	}
}

// fillDisk has what is written to an open file from now on find no room.
func fillDisk(t *testing.T, path string) {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer full.Close()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if target, _ := os.Readlink(filepath.Join("/proc/self/fd", e.Name())); target == path {
			var fd int
			for _, digit := range e.Name() {
				fd = 10*fd + int(digit-'0')
			}
			if err := unix.Dup2(int(full.Fd()), fd); err != nil {
				t.Fatal(err)
			}
			return
		}
	}
	t.Fatalf("%s is not open", path)
}

// A server that takes requests and answers none does not hold why up for ever.
func TestWhyGivesUp(t *testing.T) {
	hung := make(chan struct{})
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-hung:
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	defer close(hung)
	kubeconfig := filepath.Join(t.TempDir(), "config")
	if err := clientcmd.WriteToFile(clientcmdapi.Config{
		CurrentContext: "c",
		Contexts:       map[string]*clientcmdapi.Context{"c": {Cluster: "c", AuthInfo: "c"}},
		Clusters:       map[string]*clientcmdapi.Cluster{"c": {Server: server.URL}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{"c": {}},
	}, kubeconfig); err != nil {
		t.Fatal(err)
	}
	var words bytes.Buffer
	code := execute(t.Context(), []string{"kctl-ctrl", "why", "pod/web", "--timeout=200ms", "--kubeconfig", kubeconfig},
		genericiooptions.IOStreams{In: strings.NewReader(""), Out: io.Discard, ErrOut: &words})
	if text := words.String(); code != exitError || !strings.Contains(text, "has not answered within 200ms: allow more with --timeout") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}
