package processes

import (
	"bytes"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// silent is a server that answers nothing; asked is closed by its first request.
func silent(t *testing.T) (url string, asked <-chan struct{}) {
	t.Helper()
	first, over := make(chan struct{}), make(chan struct{})
	begun := make(chan struct{}, 1)
	begun <- struct{}{}
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		select {
		case <-begun:
			close(first)
		default:
		}
		select {
		case <-r.Context().Done():
		case <-over:
		}
	}))
	t.Cleanup(func() { close(over); server.Close() })
	return server.URL, first
}

// begins waits for what a channel tells.
func begins(t *testing.T, told <-chan struct{}) {
	t.Helper()
	select {
	case <-told:
	case <-time.After(programtest.Patience):
		t.Fatal("the program has not begun")
	}
}

// On Linux the kernel tells what a process ignores.
func TestNohupIsHonoured(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("there is no /proc to look into")
	}
	url, asked := silent(t)
	command := newHouse(t).program(t, "run", "--controllers=deployment", "--kubeconfig", programtest.KubeconfigOf(t, clientcmdapi.Cluster{Server: url}, clientcmdapi.AuthInfo{}))
	command.Args = slices.Concat([]string{"sh", "-c", `trap "" HUP; exec "$0" "$@"`, command.Path}, command.Args[1:])
	command.Path = "/bin/sh"
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	begins(t, asked)
	status, err := os.ReadFile("/proc/" + strconv.Itoa(command.Process.Pid) + "/status")
	if err != nil {
		t.Fatal(err)
	}
	_, mask, _ := strings.Cut(string(status), "SigIgn:")
	ignored, err := strconv.ParseUint(strings.Fields(mask)[0], 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if ignored&(1<<(syscall.SIGHUP-1)) == 0 {
		t.Error("run under nohup ends with the terminal")
	}
	_ = command.Process.Signal(syscall.SIGTERM)
	_ = command.Wait()
}

// A signal ends a command whatever holds it up: a credential plugin that hangs, and
// nobody who reads what is printed.
func TestASignalEndsWhatHangs(t *testing.T) {
	t.Run("a credential plugin", func(t *testing.T) {
		t.Parallel()
		dir := t.TempDir()
		plugin, pid := filepath.Join(dir, "login"), filepath.Join(dir, "pid")
		if err := os.WriteFile(plugin, []byte("#!/bin/sh\necho $$ >"+pid+".new && mv "+pid+".new "+pid+"\nexec sleep 600\n"), 0o700); err != nil {
			t.Fatal(err)
		}
		url, _ := silent(t)
		file := programtest.KubeconfigOf(t, clientcmdapi.Cluster{Server: strings.Replace(url, "http:", "https:", 1), InsecureSkipTLSVerify: true},
			clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{Command: plugin, APIVersion: "client.authentication.k8s.io/v1", InteractiveMode: clientcmdapi.NeverExecInteractiveMode}})
		command := newHouse(t).program(t, "run", "--controllers=deployment", "--kubeconfig", file)
		command.WaitDelay = time.Second // the plugin has its standard error, and goes on
		var said bytes.Buffer
		command.Stderr = &said
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		var number int
		if !within(t, func() bool {
			text, _ := os.ReadFile(pid)
			number, _ = strconv.Atoi(strings.TrimSpace(string(text)))
			return number > 0
		}) {
			t.Fatal("the plugin was not run")
		}
		defer func() { _ = syscall.Kill(number, syscall.SIGKILL) }()
		begin := time.Now()
		endsBySignal(t, command, begin)
		programtest.InOrder(t, said.String(), "stopping", "not everything has ended")
	})
	t.Run("an output that nobody reads", func(t *testing.T) {
		t.Parallel()
		url, asked := silent(t)
		h := newHouse(t)
		command := h.program(t, "run", "--controllers=deployment", "--record=work.jsonl", "--kubeconfig", programtest.KubeconfigOf(t, clientcmdapi.Cluster{Server: url}, clientcmdapi.AuthInfo{}))
		out, in, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		defer out.Close()
		// As full as it gets, so that the first word blocks.
		if err := in.SetWriteDeadline(time.Now().Add(50 * time.Millisecond)); err != nil {
			t.Skip(err)
		}
		_, _ = io.Copy(in, endless{})
		command.Stdout, command.Stderr = in, in
		if err := command.Start(); err != nil {
			t.Fatal(err)
		}
		_ = in.Close()
		begins(t, asked)
		// As timeout(1) does: the second one finds the word on the first held up.
		_ = command.Process.Signal(syscall.SIGTERM)
		endsBySignal(t, command, time.Now())
		isEnded(t, h.path("work", "work.jsonl"))
	})
}

// The two signals of timeout(1) end exec in order too while it has no command yet.
func TestTwoSignalsEndExecInOrder(t *testing.T) {
	t.Parallel()
	url, asked := silent(t)
	h := newHouse(t)
	command := h.program(t, "exec", "--record=work.jsonl", "--kubeconfig", programtest.KubeconfigOf(t, clientcmdapi.Cluster{Server: url}, clientcmdapi.AuthInfo{}), "--", "true")
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	begins(t, asked)
	_ = command.Process.Signal(syscall.SIGHUP) // two of a kind could be told as one
	endsBySignal(t, command, time.Now())
	isEnded(t, h.path("work", "work.jsonl"))
}

// isEnded wants a recording that was ended in order: it has its header.
func isEnded(t *testing.T, path string) {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil || !bytes.Contains(text, []byte("kctl-ctrl.dev/")) {
		t.Errorf("the recording: %v, %q", err, text)
	}
}

// endless is text without an end.
type endless struct{}

func (endless) Read(p []byte) (int, error) { return len(p), nil }

func endsBySignal(t *testing.T, command *exec.Cmd, begin time.Time) {
	t.Helper()
	_ = command.Process.Signal(syscall.SIGTERM)
	_ = command.Wait()
	if code := command.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit code %d after %s, want %d", code, time.Since(begin), exitInterrupted)
	}
}
