package recording

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/kctl-ctrl/kctl-ctrl/watch/hub"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// DefaultMaxBytes is the default size limit of a file.
const DefaultMaxBytes = 1 << 30

const (
	// flushAfter is the maximum age of an entry that is not in the file yet.
	flushAfter = time.Second
	// flushBytes is how much text may wait for that, and flushLeast how much near the
	// size limit of the file, which may be exceeded by that amount.
	flushBytes = 1 << 20
	flushLeast = 4 << 10
	// encoderWindow is zstd's window size, which determines its memory use.
	encoderWindow = 4 << 20
)

// WriterOptions control a recording.
type WriterOptions struct {
	// Version is the program's version, for the header.
	Version string
	// Replace replaces an existing file.
	Replace bool
	// MaxBytes limits the file size; DefaultMaxBytes if zero.
	MaxBytes int64
}

// Writer records the journal of a hub until one of them is closed.
type Writer struct {
	path   string
	max    int64
	header state.Header
	hub    *hub.Hub
	stream *hub.Subscription
	begun  *state.Snapshot

	file *counter
	text flusher
	done chan struct{}

	// The following fields belong to the writing goroutine.
	headed  bool
	dirty   bool
	flushAt time.Time
	waiting int
	last    state.Entry
	lost    uint64

	mu    sync.Mutex
	stats Stats
}

// Stats is the progress of a recording.
type Stats struct {
	Path string `json:"path"`
	// Entries counts the entries written, Bytes the size of the file.
	Entries uint64 `json:"entries"`
	Bytes   int64  `json:"bytes"`
	// Dropped counts the entries that are missing because of the size limit or a slow
	// disk.
	Dropped uint64 `json:"dropped,omitempty"`
	// Full: the size limit is reached.
	Full bool `json:"full,omitempty"`
	// Err is why writing stopped, or nil.
	Err error `json:"-"`
}

// flusher is the destination of the text.
type flusher interface {
	io.WriteCloser
	Flush() error
}

// Start creates the file and starts recording, with the hub's existing state if there
// is any. Call Close.
func Start(h *hub.Hub, path string, o WriterOptions) (*Writer, error) {
	file, err := create(path, o.Replace)
	if err != nil {
		return nil, err
	}
	w := &Writer{
		path: path, max: o.MaxBytes, header: state.Header{Version: o.Version}, hub: h,
		file: &counter{file: file}, done: make(chan struct{}), stats: Stats{Path: path},
	}
	if w.max <= 0 {
		w.max = DefaultMaxBytes
	}
	w.text = plainText{w.file}
	if compressed(path) {
		encoder, err := zstd.NewWriter(w.file, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithEncoderConcurrency(1), zstd.WithWindowSize(encoderWindow))
		if err != nil {
			return nil, fmt.Errorf("record to %s: %w", path, errors.Join(err, file.Close(), os.Remove(path)))
		}
		w.text = encoder
	}
	// In this order nothing is missed; duplicates are recognised by their number.
	w.stream = h.Subscribe(0)
	w.begun = h.Flush()
	go w.run()
	return w, nil
}

// Stats returns the progress.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// Done is closed when nothing more will be written.
func (w *Writer) Done() <-chan struct{} { return w.done }

// Close writes what was recorded before the call, closes the file and returns the first
// error of the recording, if any. Closing again waits and returns the same.
func (w *Writer) Close() error {
	w.hub.Flush()
	w.stream.Close()
	<-w.done
	return w.Stats().Err
}

func (w *Writer) run() {
	defer close(w.done)
	err := w.begin()
	for err == nil {
		var entries []state.Entry
		entries, err = w.next()
		for _, e := range entries {
			if err == nil && e.Seq > w.begun.Seq {
				err = w.entry(e)
			}
		}
		if err == nil && w.dirty && !time.Now().Before(w.flushAt) {
			err = w.flush()
		}
	}
	if errors.Is(err, io.EOF) {
		err = w.end()
	}
	w.stream.Close()
	for _, closing := range []func() error{w.text.Close, w.file.file.Sync, w.file.file.Close} {
		if failed := closing(); err == nil {
			err = failed // the first says it all
		}
	}
	w.tell(func(s *Stats) {
		s.Bytes = w.file.n
		if err != nil {
			s.Err = fmt.Errorf("record to %s: %w", w.path, err)
		}
	})
}

// next waits for entries, at most until the next flush.
func (w *Writer) next() ([]state.Entry, error) {
	ctx := context.Background()
	if w.dirty {
		var cancel context.CancelFunc
		ctx, cancel = context.WithDeadline(ctx, w.flushAt)
		defer cancel()
	}
	entries, err := w.stream.Next(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, nil
	}
	return entries, err
}

// begin writes the header and the state so far. In a session that has just started, the
// header waits for the first entry, which describes the session.
func (w *Writer) begin() error {
	if w.begun.Entries == 0 {
		return nil
	}
	if err := w.head(w.begun.Session, w.begun.At); err != nil {
		return err
	}
	for piece := range w.begun.Checkpoint() {
		if err := w.write(state.Entry{Seq: w.begun.Seq, At: w.begun.At, Event: piece}); err != nil {
			return err
		}
		if w.stats.Full {
			return errors.New("the initial state exceeds the size limit of the recording")
		}
	}
	w.begun = &state.Snapshot{Seq: w.begun.Seq, Entries: w.begun.Entries} // let go of the rest
	return w.flush()
}

func (w *Writer) head(session state.SessionStarted, at time.Time) error {
	w.header.Started, w.header.Context, w.header.Mode = at, session.Context, session.Mode
	if w.header.Version == "" {
		w.header.Version = session.Version
	}
	w.headed = true
	return state.NewEncoder(w.text, w.header).Begin()
}

func (w *Writer) entry(e state.Entry) error {
	if !w.headed {
		session, _ := e.Event.(state.SessionStarted)
		if err := w.head(session, e.At); err != nil {
			return err
		}
	}
	if d, ok := e.Event.(state.Dropped); ok && d.Where == "subscriber" {
		w.tell(func(s *Stats) { s.Dropped += d.Count })
	}
	if !w.stats.Full {
		w.last = e
		if err := w.write(e); err != nil {
			return err
		}
		w.tell(func(s *Stats) { s.Entries++ })
		return nil
	}
	var err error
	if w.lost == 0 { // report it here, so that it is recorded even if the program is killed later
		err = w.write(state.Entry{Seq: w.last.Seq, At: w.last.At, Event: state.Note{
			Source: "recording", Warning: true, Text: fmt.Sprintf("recording stopped: size limit of %d bytes reached", w.max),
		}})
	}
	w.last = e
	w.lost++
	w.tell(func(s *Stats) { s.Dropped++ })
	return err
}

// write writes one line. An entry that cannot be encoded, such as one dated in the year
// 10000, is reported as a loss.
func (w *Writer) write(e state.Entry) error {
	line, err := state.EncodeEntry(e)
	if err != nil {
		w.tell(func(s *Stats) { s.Dropped++ })
		if line, err = state.EncodeEntry(state.Entry{Seq: e.Seq, Event: state.Dropped{Where: "recording", Count: 1}}); err != nil {
			return err
		}
	}
	if _, err := w.text.Write(append(line, '\n')); err != nil {
		return err
	}
	if !w.dirty {
		w.dirty, w.flushAt = true, time.Now().Add(flushAfter)
	}
	if w.waiting += len(line); int64(w.waiting) >= min(flushBytes, max(flushLeast, w.max-w.file.n)) {
		return w.flush()
	}
	return nil
}

func (w *Writer) flush() error {
	w.dirty, w.waiting = false, 0
	if err := w.text.Flush(); err != nil {
		return err
	}
	w.tell(func(s *Stats) { s.Bytes, s.Full = w.file.n, s.Full || w.file.n >= w.max })
	return nil
}

// end writes the final reports, and the header if nothing was recorded.
func (w *Writer) end() error {
	if !w.headed {
		if err := w.head(state.SessionStarted{}, time.Now()); err != nil {
			return err
		}
	}
	if w.lost > 0 {
		if err := w.write(state.Entry{Seq: w.last.Seq, At: w.last.At, Event: state.Dropped{Where: "recording", Count: w.lost}}); err != nil {
			return err
		}
	}
	return w.flush()
}

func (w *Writer) tell(change func(*Stats)) {
	w.mu.Lock()
	defer w.mu.Unlock()
	change(&w.stats)
}

// plainText is an uncompressed file: every write is immediate.
type plainText struct{ *counter }

func (plainText) Flush() error { return nil }
func (plainText) Close() error { return nil }

// counter counts the bytes written to a file.
type counter struct {
	file *os.File
	n    int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	c.n += int64(n)
	return n, err
}
