package main

import (
	"fmt"
	"io"
	"os"
	"sync"
)

// boundedFile is a file that takes no more than a number of bytes. What does not fit
// is left out as a whole, and so is what comes after it.
type boundedFile struct {
	file *os.File
	most int64
	// what is counted in it, and where that is missing from.
	what, from string
	// bytes: it is no sequence of entries. It is cut at its bound.
	bytes bool

	mu      sync.Mutex
	written int64
	dropped int
}

// Write implements io.Writer.
func (b *boundedFile) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fits := p
	if left := b.most - b.written; int64(len(p)) > left || b.dropped > 0 {
		if fits = nil; b.bytes {
			fits = p[:max(0, min(left, int64(len(p))))]
		}
	}
	n, err := b.file.Write(fits)
	b.written += int64(n)
	switch {
	case err != nil:
		return n, err
	case b.bytes:
		b.dropped += len(p) - n
	case fits == nil:
		b.dropped++
	}
	return len(p), nil
}

// report says what is missing from the file.
func (b *boundedFile) report(out io.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped > 0 {
		fmt.Fprintf(out, "warning: %d %s are not in %s: it reached --max-size\n", b.dropped, b.what, b.from)
	}
}

// Close implements io.Closer.
func (b *boundedFile) Close() error { return b.file.Close() }
