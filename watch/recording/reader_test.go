package recording

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const headLine = `{"apiVersion":"kctl-ctrl.dev/v1alpha1","kind":"Recording"}` + "\n"

func pressed(t testing.TB, text []byte, o ...zstd.EOption) []byte {
	t.Helper()
	var out bytes.Buffer
	w, err := zstd.NewWriter(&out, o...)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := w.Write(text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// A damaged line is one Unknown event; damage that zstd notices ends the reading,
// and is said.
func TestDamage(t *testing.T) {
	text := headLine + "\x00 garbage\n" + `{"seq":1,"type":"Later","event":{}}` + "\n" + `{"seq":2,"type":"Note","event":{"text":"hello"}}` + "\n"
	r, err := NewReader(strings.NewReader(text), Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	if entries := readAll(t, r); len(entries) != 3 || r.Unknown() != 2 || r.Problem() != "" {
		t.Errorf("%d entries, %d unknown, problem %q", len(entries), r.Unknown(), r.Problem())
	}
	packed := pressed(t, bytes.Repeat([]byte(text), 10_000))
	packed[len(packed)/2] ^= 0xff
	if r, err = NewReader(bytes.NewReader(packed), Bounds{}); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	readAll(t, r)
	if !strings.HasPrefix(r.Problem(), "the recording is corrupted") || r.Cut() {
		t.Errorf("the problem is %q, cut %v", r.Problem(), r.Cut())
	}
}

// A small file cannot become a large one.
func TestBombs(t *testing.T) {
	note := `{"seq":1,"type":"Note","event":{}}` + "\n"
	for name, c := range map[string]struct {
		file []byte
		want string
	}{
		"text":         {pressed(t, append([]byte(headLine), bytes.Repeat([]byte(note), 1<<16)...)), "the first 1048576 bytes"},
		"blank":        {pressed(t, append([]byte(headLine), bytes.Repeat([]byte{'\n'}, 64<<20)...)), "the first 1048576 bytes"},
		"one line":     {pressed(t, append([]byte(headLine), bytes.Repeat([]byte{'x'}, 64<<20)...)), "the first 1048576 bytes"},
		"many entries": {[]byte(headLine + strings.Repeat("1\n", 2000)), "the first 1000 were not read"},
	} {
		t.Run(name, func(t *testing.T) {
			r, err := NewReader(bytes.NewReader(c.file), Bounds{Bytes: 1 << 20, Entries: 1000})
			if name == "text" {
				r.bounds.Entries = 1 << 20
			}
			if err != nil {
				t.Fatal(err)
			}
			defer r.Close()
			readAll(t, r)
			if !strings.Contains(r.Problem(), c.want) || r.Cut() {
				t.Errorf("the problem is %q, want %q", r.Problem(), c.want)
			}
		})
	}
	// A frame that asks for 256 MiB of window gets none of it.
	if _, err := NewReader(io.MultiReader(bytes.NewReader([]byte{0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x90})), Bounds{}); err == nil {
		t.Error("a huge window was taken")
	}
}

func TestNotARecording(t *testing.T) {
	if _, err := Open(os.DevNull, Bounds{}); err == nil || !strings.Contains(err.Error(), os.DevNull) {
		t.Errorf("an empty file: %v, want its name", err)
	}
	if _, err := Open("no-such-file", Bounds{}); !os.IsNotExist(err) && !strings.Contains(err.Error(), "no such file") {
		t.Errorf("no file: %v", err)
	}
}

// FuzzReader reads anything, and plays it: what the Player shows at the end is
// what the Reader's entries fold to.
func FuzzReader(f *testing.F) {
	// Short seeds: of a long one an execution, and making an input smaller, take long.
	session := mustRead(f, shop)
	session = session[:bytes.LastIndexByte(session[:1_500], '\n')+1]
	f.Add(session)
	f.Add(pressed(f, session))
	f.Add(pressed(f, session)[:300])
	f.Add([]byte(headLine + `{"seq":9,"type":"Checkpoint","event":{"head":{"seq":9,"entries":4,"session":{"version":"","kubernetes":"","mode":""}}}}` + "\n" +
		`{"seq":9,"type":"Checkpoint","event":{"key":{"controller":"c","queue":"q","key":"k","isReady":true,"isProcessing":true,"attempts":[null]}}}` + "\n{\n"))
	bounds := Bounds{Bytes: 1 << 20, Entries: 5000}
	f.Fuzz(func(t *testing.T, file []byte) {
		r, err := NewReader(bytes.NewReader(file), bounds)
		if err != nil {
			return
		}
		entries := readAll(t, r)
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		want := state.Fold(state.NewSnapshot(state.Limits{}), entries...)

		if r, err = NewReader(bytes.NewReader(file), bounds); err != nil {
			t.Fatal(err)
		}
		p := newPlayer(r)
		defer p.Close()
		if err := p.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
		status := p.Status()
		if err := p.Step(status.Entries); err != nil {
			t.Fatal(err)
		}
		if p.Snapshot().Seq != want.Seq || p.Snapshot().Entries != want.Entries {
			t.Fatalf("it ends at seq %d after %d entries, want %d after %d", p.Snapshot().Seq, p.Snapshot().Entries, want.Seq, want.Entries)
		}
		if err := p.Seek(status.Start.Add(status.End.Sub(status.Start) / 2)); err != nil {
			t.Fatal(err)
		}
		if _, err := p.PreviousError(); err != nil {
			t.Fatal(err)
		}
		if err := p.Step(-1); err != nil {
			t.Fatal(err)
		}
	})
}
