package recording

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/klauspost/compress/zstd"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Bounds limit a recording. The zero value means DefaultBounds.
type Bounds struct {
	// Bytes limits the uncompressed size.
	Bytes int64
	// Entries limits the number of entries.
	Entries int
}

// DefaultBounds suit a day of a busy cluster.
func DefaultBounds() Bounds { return Bounds{Bytes: 8 << 30, Entries: 20_000_000} }

func (b Bounds) orDefault() Bounds {
	if b.Bytes <= 0 {
		b.Bytes = DefaultBounds().Bytes
	}
	if b.Entries <= 0 {
		b.Entries = DefaultBounds().Entries
	}
	return b
}

// decoderWindow bounds the memory that a compressed file may request. By default,
// Writer and the zstd program need at most 8 MiB.
const decoderWindow = 64 << 20

// zstdMagic is at the start of a compressed file.
var zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}

// Reader reads a recording once, from its start.
type Reader struct {
	decoder *state.Decoder
	source  *source
	closers []func() error

	bounds  Bounds
	entries int
	unknown uint64
	problem string
	cut     bool
	// held is a line that may turn out to be the last, and truncated.
	held []byte
	has  bool
}

// Open opens a file. Call Close.
func Open(path string, b Bounds) (*Reader, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read recording: %w", err)
	}
	r, err := NewReader(file, b)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, errors.Join(err, file.Close()))
	}
	r.closers = append(r.closers, file.Close)
	return r, nil
}

// NewReader reads the header. Anything without one is not a recording.
func NewReader(in io.Reader, b Bounds) (*Reader, error) {
	r := &Reader{bounds: b.orDefault()}
	buffered := bufio.NewReaderSize(in, 64<<10)
	r.source = &source{from: buffered, left: r.bounds.Bytes}
	if begin, _ := buffered.Peek(len(zstdMagic)); bytes.Equal(begin, zstdMagic) {
		text, err := zstd.NewReader(buffered, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(decoderWindow), zstd.WithDecoderLowmem(true))
		if err != nil {
			return nil, fmt.Errorf("read recording: %w", err)
		}
		r.source.from, r.source.packed = text, true
		r.closers = append(r.closers, func() error {
			text.Close()
			return nil
		})
	}
	var err error
	if r.decoder, err = state.NewDecoder(r.source); err != nil {
		return nil, errors.Join(err, r.Close())
	}
	return r, nil
}

// Header is the recording's first line.
func (r *Reader) Header() state.Header { return r.decoder.Header() }

// Problem describes in one sentence why the recording ends early, once Next has
// returned io.EOF; empty if it does not.
func (r *Reader) Problem() string { return r.problem }

// Cut reports whether the only Problem is a truncated file, as after its writer was
// killed: everything that was written is there.
func (r *Reader) Cut() bool { return r.cut }

// Unknown counts the lines that became Unknown events so far.
func (r *Reader) Unknown() uint64 { return r.unknown }

// Close closes the file.
func (r *Reader) Close() error {
	var errs []error
	for _, c := range r.closers {
		errs = append(errs, c())
	}
	r.closers = nil
	return errors.Join(errs...)
}

// Next returns the next entry, or io.EOF at the end, early or not: see Problem. An
// unreadable line becomes an Unknown event. Other errors are I/O errors.
func (r *Reader) Next() (state.Entry, error) {
	line, err := r.line()
	if err != nil {
		return state.Entry{}, err
	}
	entry := state.DecodeLine(line)
	if _, unknown := entry.Event.(state.Unknown); unknown {
		r.unknown++
	}
	return entry, nil
}

// line returns the next line, for state.DecodeLine. It reads one line ahead, because
// the last line of a truncated file is incomplete and not an event.
func (r *Reader) line() ([]byte, error) {
	if !r.has {
		if err := r.advance(); err != nil {
			return nil, err
		}
	}
	line := r.held
	err := r.advance()
	switch {
	case err == nil:
		return line, nil
	case !errors.Is(err, io.EOF):
		return nil, err
	case r.problem == "" && r.source.last != '\n' && unreadable(line):
		r.cut = true
		r.problem = "the recording is truncated: its last line is incomplete"
		return nil, io.EOF
	}
	return line, nil
}

func unreadable(line []byte) bool {
	unknown, is := state.DecodeLine(line).Event.(state.Unknown)
	return is && unknown.Type == ""
}

// advance moves the next line into held. After the end there is none.
func (r *Reader) advance() error {
	r.has = false
	if r.problem != "" {
		return io.EOF
	}
	if r.entries >= r.bounds.Entries {
		r.problem = fmt.Sprintf("the recording has too many entries: entries after the first %d were not read", r.bounds.Entries)
		return io.EOF
	}
	line, err := r.decoder.Line()
	var damage *damageError
	switch {
	case err == nil:
		r.held, r.has = line, true
		r.entries++
		return nil
	case errors.Is(err, io.EOF):
		return io.EOF
	case errors.Is(err, errTooMuch):
		r.problem = fmt.Sprintf("the recording is too large: entries after the first %d bytes were not read", r.bounds.Bytes)
		return io.EOF
	case errors.As(err, &damage) && errors.Is(err, io.ErrUnexpectedEOF):
		r.cut = true
		r.problem = "the recording is truncated: unexpected end of file"
		return io.EOF
	case errors.As(err, &damage):
		r.problem = "the recording is corrupted: " + damage.err.Error()
		return io.EOF
	}
	return err
}

var errTooMuch = errors.New("too much text")

// damageError is an error of the decompressor.
type damageError struct{ err error }

func (e *damageError) Error() string { return e.err.Error() }
func (e *damageError) Unwrap() error { return e.err }

// source limits the text and records how it ended.
type source struct {
	from   io.Reader
	packed bool
	left   int64
	last   byte
}

func (s *source) Read(p []byte) (int, error) {
	if s.left <= 0 {
		return 0, errTooMuch
	}
	n, err := s.from.Read(p[:min(int64(len(p)), s.left)])
	if n > 0 {
		s.left -= int64(n)
		s.last = p[n-1]
	}
	if err != nil && !errors.Is(err, io.EOF) && s.packed {
		err = &damageError{err}
	}
	return n, err
}
