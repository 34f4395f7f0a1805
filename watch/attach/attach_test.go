package attach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// host answers with what it was made with, and notes what it was asked.
type host struct {
	pid  int
	rows []state.QueueStats
	view state.CacheView
	err  error
	// hang makes Informers wait for the asker to go away, and tell.
	hang chan struct{}

	mu    sync.Mutex
	asked []any
}

func (h *host) note(q any) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.asked = append(h.asked, q)
}

func (h *host) Process() state.Process {
	return state.Process{Source: "test", PID: h.pid, Version: "v0", Started: time.Unix(int64(h.pid), 0).UTC()}
}

func (h *host) Queues(_ context.Context, q QueueQuery) ([]state.QueueStats, error) {
	h.note(q)
	return h.rows, h.err
}

func (h *host) Informers(ctx context.Context) ([]state.StoreStats, error) {
	if h.hang != nil {
		h.hang <- struct{}{}
		<-ctx.Done()
		h.hang <- struct{}{}
	}
	return []state.StoreStats{{Type: "pods", Objects: 3}}, h.err
}

func (h *host) Cache(_ context.Context, q CacheQuery) (state.CacheView, error) {
	h.note(q)
	return h.view, h.err
}

// directory is one with a short path: a socket's must be.
func directory(t *testing.T) string {
	t.Helper()
	parent, err := os.MkdirTemp("/tmp", "attach")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(parent) })
	return filepath.Join(parent, "a")
}

func listen(t *testing.T, h Host, dir string) *Server {
	t.Helper()
	s, err := Listen(h, []string{dir})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	return s
}

func only(t *testing.T, dir string) *Peer {
	t.Helper()
	peers, silent := Find(t.Context(), []string{dir})
	if len(peers) != 1 || len(silent) != 0 {
		t.Fatalf("%d peers, silent: %q", len(peers), silent)
	}
	return peers[0]
}

func TestQuestionsAndAnswers(t *testing.T) {
	h := &host{
		pid:  7,
		rows: []state.QueueStats{{Name: "q", Depth: new(int64(0)), Longest: new(state.Duration(1500 * time.Millisecond)), Keys: []state.Key{{Key: "a\x1b[31m/b", Phase: state.PhaseReady}}}},
		view: state.CacheView{Store: state.StoreStats{Type: "pods"}, Objects: []state.CachedObject{{ResourceVersion: "7", Object: map[string]any{"kind": "Pod"}}}},
	}
	dir := directory(t)
	s := listen(t, h, dir)
	p := only(t, dir)
	if p.Process() != h.Process() {
		t.Errorf("process: %+v", p.Process())
	}
	rows, err := p.Queues(t.Context(), QueueQuery{Keys: 5})
	if err != nil || len(rows) != 1 || *rows[0].Depth != 0 || *rows[0].Longest != *h.rows[0].Longest || rows[0].InFlight != nil || rows[0].Keys[0].Key != "a\x1b[31m/b" {
		t.Errorf("queues: %+v, %v", rows, err)
	}
	stores, err := p.Informers(t.Context())
	if err != nil || len(stores) != 1 || stores[0].Objects != 3 {
		t.Errorf("informers: %+v, %v", stores, err)
	}
	query := CacheQuery{Type: "pods", Namespace: "shop", Name: "web", Whole: true, Compare: true, Wait: time.Second}
	view, err := p.Cache(t.Context(), query)
	if err != nil || view.Store.Type != "pods" || view.Objects[0].Object["kind"] != "Pod" {
		t.Errorf("cache: %+v, %v", view, err)
	}
	if h.asked[0] != (QueueQuery{Keys: 5}) || h.asked[1] != query {
		t.Errorf("the questions arrived as %+v", h.asked)
	}

	h.err = errors.New("the store is on fire")
	if _, err := p.Queues(t.Context(), QueueQuery{}); err == nil || !strings.Contains(err.Error(), "on fire") {
		t.Errorf("an error arrives as %v", err)
	}
	var absent *NotFoundError
	h.err = &NotFoundError{"no such type"}
	if _, err := p.Cache(t.Context(), query); !errors.As(err, &absent) || absent.Text != "no such type" {
		t.Errorf("not found arrives as %v", err)
	}

	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 0 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
	if _, err := p.Queues(t.Context(), QueueQuery{}); err == nil {
		t.Error("a closed server answers")
	}
}

func TestPrivate(t *testing.T) {
	dir := directory(t)
	s := listen(t, &host{}, dir)
	for path, want := range map[string]fs.FileMode{s.path: 0o600, dir: 0o700} {
		info, err := os.Stat(path)
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v, want %v", path, info.Mode(), err, want)
		}
	}
	// Nobody listens or looks where others could put something in between.
	for name, spoil := range map[string]func(dir string) error{
		"open to others":      func(dir string) error { return os.Chmod(dir, 0o755) },
		"below an open place": func(dir string) error { return os.Chmod(filepath.Dir(dir), 0o777) },
		"a link": func(dir string) error {
			return errors.Join(os.Rename(dir, dir+"-moved"), os.Symlink(dir+"-moved", dir))
		},
	} {
		dir := directory(t)
		listen(t, &host{}, dir)
		if err := spoil(dir); err != nil {
			t.Fatal(err)
		}
		if peers, _ := Find(t.Context(), []string{dir}); len(peers) != 0 {
			t.Errorf("%s: found", name)
		}
		if s, err := Listen(&host{}, []string{dir}); err == nil {
			t.Errorf("%s: listened there", name)
			_ = s.Close()
		}
	}
}

func TestListenElsewhere(t *testing.T) {
	long, good := filepath.Join(directory(t), strings.Repeat("x", 120)), directory(t)
	s, err := Listen(&host{}, []string{long, "/proc/nowhere/a", good})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if filepath.Dir(s.path) != good {
		t.Errorf("it listens on %s", s.path)
	}
	if _, err := Listen(&host{}, []string{long}); err == nil || !strings.Contains(err.Error(), "too long") {
		t.Errorf("%v", err)
	}
}

// The sockets of processes that were killed go; what is not ours to judge stays.
func TestStaleSockets(t *testing.T) {
	dir := directory(t)
	live := listen(t, &host{pid: 1}, dir)
	stale := filepath.Join(dir, "99999-abcd.sock")
	l, err := net.ListenUnix("unix", &net.UnixAddr{Name: stale, Net: "unix"})
	if err != nil {
		t.Fatal(err)
	}
	l.SetUnlinkOnClose(false)
	_ = l.Close()
	other := filepath.Join(dir, "notes.sock")
	if err := os.WriteFile(other, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	only(t, dir)
	for path, there := range map[string]bool{stale: false, other: true, live.path: true} {
		if _, err := os.Lstat(path); (err == nil) != there {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A process that listens and says nothing (it is stopped, for one) is named.
func TestSilent(t *testing.T) {
	dir := directory(t)
	if err := makeDirectory(dir); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(dir, "4711-abcd.sock"))
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	peers, silent := Find(ctx, []string{dir})
	if len(peers) != 0 || len(silent) != 1 || !strings.Contains(silent[0], "process 4711 does not respond") {
		t.Errorf("%v, %q", peers, silent)
	}
}

func TestSeveral(t *testing.T) {
	dir := directory(t)
	for pid := range 3 {
		listen(t, &host{pid: pid + 1}, dir)
	}
	peers, _ := Find(t.Context(), []string{dir, dir + "-none"})
	var pids []int
	for _, p := range peers {
		pids = append(pids, p.Process().PID)
	}
	if fmt.Sprint(pids) != "[3 2 1]" {
		t.Errorf("the last started is not first: %v", pids)
	}
}

// What is not a question of this protocol gets an answer that says so, or none;
// the server goes on.
func TestStrangers(t *testing.T) {
	dir := directory(t)
	s := listen(t, &host{pid: 1}, dir)
	for text, want := range map[string]string{
		"{\"protocol\":99,\"ask\":\"queues\"}\n":         "uses attach protocol 1",
		"{\"protocol\":1,\"ask\":\"passwords\"}\n":       "does not support the request",
		"{\"protocol\":1,\"ask\":\"queues\"}\n":          "does not support the request",
		"GET / HTTP/1.1\n":                               "does not support the request",
		"{\"protocol\":1,\"ask\":\"process\",\"x\":1}\n": "",
	} {
		c, err := net.Dial("unix", s.path)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		var a answer
		if err := json.NewDecoder(c).Decode(&a); err != nil || a.Protocol != 1 || a.Process.PID != 1 || !strings.Contains(a.Error, want) || want == "" && a.Error != "" {
			t.Errorf("%q: %+v, %v", text, a, err)
		}
		_ = c.Close()
	}
	c, err := net.Dial("unix", s.path)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, _ = c.Write([]byte(strings.Repeat("x", maxQuestion+1)))
	if _, err := c.Read(make([]byte, 1)); err == nil {
		t.Error("a question without end is answered")
	}
	only(t, dir)
}

// Askers that go away and a server that closes both end a question under way.
func TestEndOfAQuestion(t *testing.T) {
	h := &host{hang: make(chan struct{})}
	dir := directory(t)
	s := listen(t, h, dir)
	p := only(t, dir)

	ctx, cancel := context.WithCancelCause(t.Context())
	failed := make(chan error, 1)
	go func() {
		_, err := p.Informers(ctx)
		failed <- err
	}()
	<-h.hang
	cancel(errors.New("enough"))
	<-h.hang // the host was told
	if err := <-failed; err == nil || !strings.Contains(err.Error(), "enough") {
		t.Errorf("the asker got %v", err)
	}

	go func() {
		_, err := p.Informers(t.Context())
		failed <- err
	}()
	<-h.hang
	closed := make(chan error)
	go func() { closed <- s.Close() }()
	<-h.hang
	if err := <-closed; err != nil {
		t.Error(err)
	}
	if err := <-failed; err == nil {
		t.Error("an answer came from a closed server")
	}
	if err := s.Close(); err != nil {
		t.Errorf("closing again: %v", err)
	}
}

func TestManyAskers(t *testing.T) {
	dir := directory(t)
	rows := make([]state.QueueStats, 2000)
	for i := range rows {
		rows[i] = state.QueueStats{Name: fmt.Sprint("queue-", i), Depth: new(int64(i))}
	}
	listen(t, &host{rows: rows}, dir)
	p := only(t, dir)
	var wg sync.WaitGroup
	for range 4 * maxAskers {
		wg.Go(func() {
			got, err := p.Queues(t.Context(), QueueQuery{})
			if err != nil || len(got) != len(rows) || *got[1999].Depth != 1999 {
				t.Errorf("%d rows, %v", len(got), err)
			}
		})
	}
	wg.Wait()
}

// A process that is killed leaves its socket, and the next who looks removes it.
func TestKilled(t *testing.T) {
	if dir := os.Getenv("ATTACH_TEST_LISTEN"); dir != "" {
		if _, err := Listen(&host{pid: os.Getpid()}, []string{dir}); err != nil {
			t.Fatal(err)
		}
		fmt.Println("listening")
		select {}
	}
	dir := directory(t)
	child := exec.Command(os.Args[0], "-test.run=^TestKilled$", "-test.v")
	child.Env = append(os.Environ(), "ATTACH_TEST_LISTEN="+dir)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	said := make([]byte, 4096)
	for text := ""; !strings.Contains(text, "listening"); {
		n, err := out.Read(said)
		if err != nil {
			t.Fatalf("%v after %q", err, text)
		}
		text += string(said[:n])
	}
	if p := only(t, dir); p.Process().PID != child.Process.Pid {
		t.Errorf("pid %d, want %d", p.Process().PID, child.Process.Pid)
	}
	if err := child.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = child.Wait()
	if peers, silent := Find(t.Context(), []string{dir}); len(peers)+len(silent) != 0 {
		t.Errorf("found %d, silent %q", len(peers), silent)
	}
	if entries, _ := os.ReadDir(dir); len(entries) != 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestDirectories(t *testing.T) {
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	if got := Directories(env("XDG_RUNTIME_DIR", "/run/user/5", "KCTL_CTRL_ATTACH_DIR", "/tmp/x")); fmt.Sprint(got) != "[/tmp/x]" {
		t.Errorf("%v", got)
	}
	if got := Directories(env("XDG_RUNTIME_DIR", "/run/user/5", "KCTL_CTRL_ATTACH_DIR", "relative")); got[0] != "/run/user/5/kctl-ctrl/attach" || len(got) < 2 {
		t.Errorf("%v", got)
	}
}
