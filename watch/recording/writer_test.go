package recording

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func newHub() *hub.Hub {
	return hub.New(hub.Options{Now: func() time.Time { return time.Now().UTC() }, Interval: time.Millisecond})
}

// Whatever a session has seen before it is recorded, and whatever comes while the
// recording begins: folded, it gives the session's own snapshot.
func TestRecordingFoldsToTheSession(t *testing.T) {
	for _, name := range []string{"session.jsonl", "session.jsonl.zst", "session.zst"} {
		for _, before := range []int{0, 200} {
			t.Run(fmt.Sprintf("%s after %d syncs", name, before), func(t *testing.T) {
				h := newHub()
				defer h.Close()
				record := func(from, to int) {
					for i := from; i < to; i++ {
						for _, e := range busy(i) {
							h.Record(e)
						}
					}
				}
				if before > 0 {
					h.Record(state.SessionStarted{Version: "v1", Context: "prod", Mode: state.ModeDryRunClient})
					record(0, before)
				}
				var producing sync.WaitGroup
				producing.Go(func() { record(before, before+200) })
				path := filepath.Join(t.TempDir(), name)
				w, err := Start(h, path, WriterOptions{Version: "v0.1.0"})
				if err != nil {
					t.Fatal(err)
				}
				producing.Wait()
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
				live := h.Flush()

				r, entries := readFile(t, path)
				if r.Problem() != "" || r.Unknown() != 0 {
					t.Errorf("problem %q, %d unknown", r.Problem(), r.Unknown())
				}
				same(t, "the recording", state.Fold(nil, entries...), live)
				if h := r.Header(); h.Version != "v0.1.0" || before > 0 && (h.Context != "prod" || h.Mode != state.ModeDryRunClient) || h.Started.IsZero() {
					t.Errorf("the header is %+v", h)
				}
				stats := w.Stats()
				if info, err := os.Stat(path); err != nil || info.Size() != stats.Bytes || stats.Dropped != 0 {
					t.Errorf("stats %+v of a file of %d bytes (%v)", stats, info.Size(), err)
				}
				if packed := strings.HasPrefix(string(mustRead(t, path)), string(zstdMagic)); packed != strings.HasSuffix(name, ".zst") {
					t.Errorf("compressed: %v", packed)
				}
			})
		}
	}
}

// The file is the user's alone and no other than the one made here.
func TestFileIsPrivateAndNobodyElses(t *testing.T) {
	h := newHub()
	defer h.Close()
	dir := t.TempDir()
	for _, umask := range []int{0, 0o777} {
		path := filepath.Join(dir, fmt.Sprintf("mask-%o.zst", umask))
		for _, replace := range []bool{false, true} {
			old := syscall.Umask(umask)
			w, err := Start(h, path, WriterOptions{Replace: replace})
			syscall.Umask(old)
			if err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			if info, err := os.Stat(path); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("umask %o, replace %v: mode %v, %v", umask, replace, info.Mode(), err)
			}
		}
	}

	precious, other := filepath.Join(dir, "precious"), filepath.Join(dir, "other")
	if err := os.WriteFile(precious, []byte("mine"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Link(precious, other); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(precious, link); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{precious, link} {
		if _, err := Start(h, path, WriterOptions{}); !errors.Is(err, ErrExists) {
			t.Errorf("%s: %v, want that it exists", path, err)
		}
	}
	if _, err := Start(h, dir, WriterOptions{}); err == nil || errors.Is(err, ErrExists) || !strings.Contains(err.Error(), "is a directory") {
		t.Errorf("a directory: %v", err)
	}
	for _, path := range []string{link, dir, "/dev/null"} {
		if _, err := Start(h, path, WriterOptions{Replace: true}); err == nil {
			t.Errorf("%s was replaced", path)
		}
	}
	w, err := Start(h, precious, WriterOptions{Replace: true})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r, _ := readFile(t, precious); r.Header().Kind != state.RecordingKind {
		t.Error("the file was not replaced")
	}
	if string(mustRead(t, other)) != "mine" {
		t.Error("another name of the replaced file lost its content")
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 5 {
		t.Errorf("%v (%v) are left, want no temporary file", files, err)
	}
}

// Killed at any moment, a program leaves what it had flushed: about a second ago,
// or more often where there is much. A file cut anywhere gives its beginning.
func TestCutRecordingIsReadable(t *testing.T) {
	for _, name := range []string{"cut.jsonl", "cut.zst"} {
		t.Run(name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), name)
			var flushed []byte
			var want int
			synctest.Test(t, func(t *testing.T) {
				h := newHub()
				defer h.Close()
				w, err := Start(h, path, WriterOptions{})
				if err != nil {
					t.Fatal(err)
				}
				for i := range 6 {
					for _, e := range busy(i) {
						h.Record(e)
						want++
					}
					time.Sleep(700 * time.Millisecond)
				}
				time.Sleep(flushAfter + time.Second)
				synctest.Wait()
				flushed = mustRead(t, path) // as after kill -9
				if err := w.Close(); err != nil {
					t.Fatal(err)
				}
			})
			_, whole := readFile(t, path)
			if len(whole) != want {
				t.Fatalf("%d entries, want %d", len(whole), want)
			}
			most := 0
			for n := 0; n <= len(flushed); n += 1 + len(flushed)/1500 {
				if n+len(flushed)/1500 >= len(flushed) {
					n = len(flushed)
				}
				r, err := NewReader(strings.NewReader(string(flushed[:n])), Bounds{})
				if err != nil {
					if most > 0 || !strings.Contains(err.Error(), "read recording") {
						t.Fatalf("cut after %d bytes: %v", n, err)
					}
					continue
				}
				entries := readAll(t, r)
				if err := r.Close(); err != nil {
					t.Fatal(err)
				}
				if len(entries) < most || !slices.EqualFunc(entries, whole[:len(entries)], func(a, b state.Entry) bool { return a.Seq == b.Seq && a.At.Equal(b.At) }) {
					t.Fatalf("cut after %d bytes it has %d entries, after fewer %d", n, len(entries), most)
				}
				most = len(entries)
				if most < want && name == "cut.zst" && r.Problem() == "" {
					t.Fatalf("cut after %d bytes, and nothing said", n)
				}
			}
			if most != want {
				t.Errorf("flushed were %d entries, want all %d", most, want)
			}
		})
	}
}

func TestBoundIsCounted(t *testing.T) {
	for _, name := range []string{"full.jsonl", "full.zst"} {
		t.Run(name, func(t *testing.T) {
			h := newHub()
			defer h.Close()
			path := filepath.Join(t.TempDir(), name)
			w, err := Start(h, path, WriterOptions{MaxBytes: 20_000})
			if err != nil {
				t.Fatal(err)
			}
			recorded := 0
			for i := range 8000 {
				for _, e := range busy(i) {
					h.Record(e)
					recorded++
				}
				if i%1000 == 0 {
					h.Flush()
				}
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
			stats := w.Stats()
			if !stats.Full || stats.Dropped == 0 || stats.Entries+stats.Dropped != uint64(recorded) || stats.Bytes > 20_000+2*flushLeast {
				t.Errorf("%d were recorded, and the stats are %+v", recorded, stats)
			}
			_, entries := readFile(t, path)
			s := state.Fold(nil, entries...)
			if n, _ := s.Dropped.Get("recording"); n != stats.Dropped || s.Lost != 0 {
				t.Errorf("the recording tells of %d dropped and %d lost, want %d and 0", n, s.Lost, stats.Dropped)
			}
			said := false
			for n := range s.Notes.All() {
				note, ok := n.Event.(state.Note)
				said = said || ok && note.Warning && strings.Contains(note.Text, "recording stopped")
			}
			if !said {
				t.Error("it does not say where it stops")
			}
		})
	}
}

// A disk that fails ends the recording and not the session.
func TestFailingDisk(t *testing.T) {
	h := newHub()
	defer h.Close()
	w, err := Start(h, filepath.Join(t.TempDir(), "x.jsonl"), WriterOptions{})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.file.file.Close(); err != nil {
		t.Fatal(err)
	}
	h.Record(state.Note{Source: "test", Text: "lost"})
	h.Flush()
	<-w.Done()
	if err := w.Close(); err == nil || w.Stats().Err == nil || strings.Contains(err.Error(), "\n") {
		t.Errorf("the error is %v, want one line", err)
	}
	h.Record(state.Note{Source: "test", Text: "goes on"})
	if h.Flush().Entries != 2 {
		t.Error("the journal stopped with its recording")
	}
}

func TestEmptyRecording(t *testing.T) {
	h := newHub()
	path := filepath.Join(t.TempDir(), "x.zst")
	w, err := Start(h, path, WriterOptions{Version: "v0.1.0"})
	if err != nil {
		t.Fatal(err)
	}
	h.Close() // which ends the recording too
	<-w.Done()
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if r, entries := readFile(t, path); len(entries) != 0 || r.Header().Version != "v0.1.0" || r.Problem() != "" {
		t.Errorf("%d entries, header %+v, problem %q", len(entries), r.Header(), r.Problem())
	}
}
