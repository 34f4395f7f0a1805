package main

import (
	"fmt"
	"io"
	"sync"
)

// progress says on standard error what is being waited for: on a terminal in
// one line that is overwritten, elsewhere nothing at all.
type progress struct {
	out      io.Writer
	terminal bool

	mu    sync.Mutex
	shown bool
	ended bool
}

func newProgress(out io.Writer) *progress {
	return &progress{out: out, terminal: isTerminal(out)}
}

// line replaces the line.
func (p *progress) line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.terminal || p.ended {
		return
	}
	p.shown = true
	fmt.Fprintf(p.out, "\r\x1b[K%s…", text)
}

// done takes the line away. Further calls do nothing.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.shown && !p.ended {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.ended = true
}
