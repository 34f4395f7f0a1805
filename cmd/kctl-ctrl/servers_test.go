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

	"golang.org/x/sys/unix"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/engineflags"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/watch/informers"
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
}

// A disk that is full ends the recording, and the journal says so at once.
func TestFullDiskIsTold(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("there is no /dev/full")
	}
	s, err := testEngine(t, engine.Spec{})
	if err != nil {
		t.Fatal(err)
	}
	defer engineflags.ShutDown(s, io.Discard)
	path := filepath.Join(t.TempDir(), "x.jsonl")
	recorder, err := (&engineflags.Recording{File: path}).Start(s)
	if err != nil {
		t.Fatal(err)
	}
	fillDisk(t, path)
	s.Note("test", "the first entry")
	<-recorder.Writer.Done()
	if !informers.Until(t.Context(), patience, func() bool {
		for entry := range s.Journal().Flush().Notes.All() {
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
