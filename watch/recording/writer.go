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

// DefaultMaxBytes bounds a file where nothing else is said.
const DefaultMaxBytes = 1 << 30

const (
	// flushAfter is how old an entry may get before it is in the file.
	flushAfter = time.Second
	// flushBytes is how much text may wait for that, and flushLeast how much may
	// near the bound of the file: by so much it may get longer.
	flushBytes = 1 << 20
	flushLeast = 4 << 10
	// encoderWindow is how far back zstd looks, and what it costs in memory.
	encoderWindow = 4 << 20
)

// WriterOptions say how a recording is written.
type WriterOptions struct {
	// Version is the program's own, for the header.
	Version string
	// Replace puts the recording in the place of a file that is there.
	Replace bool
	// MaxBytes bounds the file; DefaultMaxBytes where it is zero.
	MaxBytes int64
}

// Writer records the journal of a hub until it is closed or the hub is.
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

	// What follows belongs to the goroutine that writes.
	headed  bool
	dirty   bool
	flushAt time.Time
	waiting int
	last    state.Entry
	lost    uint64

	mu    sync.Mutex
	stats Stats
}

// Stats is how far a recording is.
type Stats struct {
	Path string `json:"path"`
	// Entries are those of the journal that were written, Bytes those of the file.
	Entries uint64 `json:"entries"`
	Bytes   int64  `json:"bytes"`
	// Dropped counts the entries that are not in it, because of the file's bound
	// or because the disk did not keep up.
	Dropped uint64 `json:"dropped,omitempty"`
	// Full: the bound is reached.
	Full bool `json:"full,omitempty"`
	// Err is why nothing more is written, or nil.
	Err error `json:"-"`
}

// flusher is what text is written to.
type flusher interface {
	io.WriteCloser
	Flush() error
}

// Start makes the file and begins to record: with what the hub knows already,
// if that is anything. Close must be called.
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
	// In this order nothing is missed; what comes twice is known by its number.
	w.stream = h.Subscribe(0)
	w.begun = h.Flush()
	go w.run()
	return w, nil
}

// Stats says how far it is.
func (w *Writer) Stats() Stats {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.stats
}

// Done is closed when nothing more will be written.
func (w *Writer) Done() <-chan struct{} { return w.done }

// Close writes what was recorded before the call, ends the file and returns what
// went wrong with it, if anything did. Closing again waits and says the same.
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

// next waits for entries, but not beyond the time of the next flush.
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

// begin writes the header and the state so far. In a session that has just
// begun, the header waits for the first entry, which says what it is of.
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
	if w.lost == 0 { // this is the place to say it, also if the program is killed later
		err = w.write(state.Entry{Seq: w.last.Seq, At: w.last.At, Event: state.Note{
			Source: "recording", Warning: true, Text: fmt.Sprintf("recording stopped: size limit of %d bytes reached", w.max),
		}})
	}
	w.last = e
	w.lost++
	w.tell(func(s *Stats) { s.Dropped++ })
	return err
}

// write writes one line. What cannot be encoded, such as a date of the year
// 10000, is told as a loss.
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

// end writes what is to be said at the end, and the header where there was
// nothing to record.
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

// plainText is a file without compression: each write is there at once.
type plainText struct{ *counter }

func (plainText) Flush() error { return nil }
func (plainText) Close() error { return nil }

// counter counts what is written to a file.
type counter struct {
	file *os.File
	n    int64
}

func (c *counter) Write(p []byte) (int, error) {
	n, err := c.file.Write(p)
	c.n += int64(n)
	return n, err
}
