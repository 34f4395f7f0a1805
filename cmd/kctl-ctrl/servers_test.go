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
	"testing"

	"github.com/go-logr/logr"
	"golang.org/x/sys/unix"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

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
	dir, err := about.StateDir()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	named := filepath.Join(t.TempDir(), "ci.log")
	before := strings.Repeat("mine\n", 1000)
	for _, c := range []struct{ flag, path, kept string }{
		{"", filepath.Join(dir, about.LogName), ""},
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
	if text := words.String(); code != exit.Failed || !strings.Contains(text, "has not answered within 200ms: allow more with --timeout") {
		t.Errorf("exit code %d\n%s", code, text)
	}
}
