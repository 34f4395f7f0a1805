package ownfile

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// Bounded is a file that takes no more than a number of bytes. What does not fit
// is left out as a whole, and so is what comes after it.
type Bounded struct {
	File *os.File
	Most int64
	// What is counted in it, and where that is missing from.
	What, From string
	// Cut: it is no sequence of entries. It is cut at its bound.
	Cut bool

	mu      sync.Mutex
	written int64
	dropped int
}

// Write implements io.Writer.
func (b *Bounded) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fits := p
	if left := b.Most - b.written; int64(len(p)) > left || b.dropped > 0 {
		if fits = nil; b.Cut {
			fits = p[:max(0, min(left, int64(len(p))))]
		}
	}
	n, err := b.File.Write(fits)
	b.written += int64(n)
	switch {
	case err != nil:
		return n, err
	case b.Cut:
		b.dropped += len(p) - n
	case fits == nil:
		b.dropped++
	}
	return len(p), nil
}

// Report says what is missing from the file.
func (b *Bounded) Report(out io.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped > 0 {
		fmt.Fprintf(out, "warning: %d %s are not in %s: it reached --max-size\n", b.dropped, b.What, b.From)
	}
}

// Close implements io.Closer.
func (b *Bounded) Close() error { return b.File.Close() }
