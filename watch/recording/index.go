package recording

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"runtime"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// chunkEntries is how many entries are decoded to access one of them.
	chunkEntries = 512
	// maxCheckpoints bounds the snapshots that an index keeps. A longer recording keeps
	// one per several chunks.
	maxCheckpoints = 2048
)

// index is a recording in memory: its lines in compressed chunks, and the state before
// some of them. Snapshots share unchanged parts, so that each costs about as much as
// the changes since the previous one.
//
// A place in a recording is the number of entries before it: 0 is before the first.
// Time never goes backwards: an entry without a date, or dated before its predecessor,
// counts as being of the same time.
type index struct {
	chunks []chunk
	// base is the state before the first entry.
	base *state.Snapshot
	// stride: one chunk in this many has a snapshot.
	stride int
	// limit is maxCheckpoints.
	limit int
	// errors are the places after the entries that report an error.
	errors []int
	start  time.Time
	end    time.Time
	size   int
	// tail is the state after the last entry; unknown counts unreadable ones.
	tail    *state.Snapshot
	unknown uint64
}

type chunk struct {
	first, size int
	begin, end  time.Time
	lines       []byte // compressed
	before      *state.Snapshot
}

// piece is a decoded chunk to be added to an index.
type piece struct {
	entries []state.Entry
	lines   []byte
}

// load reads a recording to its end and passes each chunk to add, in order. Decoding,
// which is most of the work, uses all cores.
func load(ctx context.Context, r *Reader, add func(piece) error) error {
	packer, err := newPacker()
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	pending := make(chan chan piece, runtime.GOMAXPROCS(0))
	failed := make(chan error, 1)
	go func() {
		defer close(pending)
		for {
			lines, err := readLines(r)
			if len(lines) > 0 {
				decoded := make(chan piece, 1)
				select {
				case pending <- decoded:
				case <-ctx.Done():
					return
				}
				go func() { decoded <- pack(lines, packer) }()
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					failed <- err
				}
				return
			}
		}
	}()
	for decoded := range pending {
		if p := <-decoded; err == nil {
			if err = add(p); err == nil {
				err = ctx.Err()
			}
			if err != nil {
				cancel() // and let the reader see it
			}
		}
	}
	select {
	case failure := <-failed:
		return errors.Join(err, failure)
	default:
		return err
	}
}

func readLines(r *Reader) ([][]byte, error) {
	var lines [][]byte
	for len(lines) < chunkEntries {
		line, err := r.line()
		if err != nil {
			return lines, err
		}
		lines = append(lines, line)
	}
	return lines, nil
}

// pack decodes lines and compresses them. Each line is preceded by its length; a line
// that was too long has none.
func pack(lines [][]byte, packer *zstd.Encoder) piece {
	p := piece{entries: make([]state.Entry, len(lines))}
	var text []byte
	for i, line := range lines {
		p.entries[i] = state.DecodeLine(line)
		text = binary.AppendUvarint(text, uint64(len(line)))
		text = append(text, line...)
	}
	p.lines = slices.Clip(packer.EncodeAll(text, nil))
	return p
}

// newPacker returns compressors for as many chunks at once as there are cores. Creating
// one per chunk costs more than compressing a few entries.
func newPacker() (*zstd.Encoder, error) {
	packer, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(zstd.SpeedFastest), zstd.WithLowerEncoderMem(true))
	if err != nil {
		return nil, fmt.Errorf("compress chunks: %w", err)
	}
	return packer, nil
}

// unpack returns the entries of a chunk.
func unpack(c chunk) ([]state.Entry, error) {
	decoder, err := zstd.NewReader(bytes.NewReader(c.lines), zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true))
	if err != nil {
		return nil, err
	}
	defer decoder.Close()
	text, err := io.ReadAll(decoder)
	if err != nil {
		return nil, err
	}
	entries := make([]state.Entry, 0, c.size)
	for len(text) > 0 {
		length, n := binary.Uvarint(text)
		line := text[n : n+int(length)]
		entries = append(entries, state.DecodeLine(line))
		text = text[n+int(length):]
	}
	return entries[len(entries)-c.size:], nil
}

// add adds a chunk.
func (x *index) add(p piece) {
	entries := p.entries
	if x.size == 0 {
		// The state with which it begins is no entry: it is where one begins.
		for len(entries) > 0 && isCheckpoint(entries[0]) {
			x.base = state.Fold(x.base, entries[0])
			entries = entries[1:]
		}
		x.tail = x.base
		x.start, x.end = x.base.At, x.base.At
		if len(entries) == 0 {
			return
		}
		if x.base.At.IsZero() {
			x.start, x.end = entries[0].At, entries[0].At
		}
	}
	c := chunk{first: x.size, size: len(entries), lines: p.lines, begin: later(x.end, entries[0].At)}
	if len(x.chunks)%x.stride == 0 {
		c.before = x.tail
	}
	for i, e := range entries {
		x.end = later(x.end, e.At)
		if isError(e.Event) {
			x.errors = append(x.errors, x.size+i+1)
		}
		if _, unknown := e.Event.(state.Unknown); unknown {
			x.unknown++
		}
	}
	c.end = x.end
	x.size += c.size
	x.tail = state.Fold(x.tail, entries...)
	x.chunks = append(x.chunks, c)
	if len(x.chunks) > x.limit*x.stride {
		x.stride *= 2
		for i := range x.chunks {
			if i%x.stride != 0 {
				x.chunks[i].before = nil
			}
		}
	}
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func isCheckpoint(e state.Entry) bool {
	_, is := e.Event.(state.Checkpoint)
	return is
}

// isError reports whether an entry reports an error.
func isError(e state.Event) bool {
	switch e := e.(type) {
	case state.KeyFinished:
		return e.Failed || e.Error != ""
	case state.WriteFinished:
		return e.Result == state.WriteFailed || e.Result == state.WriteRefused
	case state.ControllerChanged:
		return e.Status == state.ControllerFailed
	case state.InformerChanged:
		return e.Status == state.InformerFailed
	}
	return false
}

// chunkOf is the number of the chunk that contains the entry at an index from 0.
func (x *index) chunkOf(entry int) int {
	n, _ := slices.BinarySearchFunc(x.chunks, entry, func(c chunk, entry int) int {
		if c.first+c.size > entry {
			return 1
		}
		return -1
	})
	return n
}

// chunkAt is the number of the first chunk that ends after a time; the number of chunks
// if none does.
func (x *index) chunkAt(t time.Time) int {
	n, _ := slices.BinarySearchFunc(x.chunks, t, func(c chunk, t time.Time) int {
		if c.end.After(t) {
			return 1
		}
		return -1
	})
	return n
}
