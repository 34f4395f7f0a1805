package console

import (
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Progress tells on standard error what a command waits for: on a terminal in one
// line that is overwritten, elsewhere in a line after 5 s and then at growing
// intervals. A wait that is over sooner prints nothing there.
type Progress struct {
	out      io.Writer
	terminal bool
	stopped  chan struct{}

	mu     sync.Mutex
	text   string
	awaits func() string
	shown  bool
	ended  bool
}

// NewProgress begins to remind of what is waited for; done ends that.
func NewProgress(out io.Writer) *Progress {
	p := NewStatusLine(out)
	go p.remind(time.Now())
	return p
}

// NewStatusLine is a progress that prints on a terminal only, and reminds of nothing.
func NewStatusLine(out io.Writer) *Progress {
	return &Progress{out: out, terminal: IsTerminal(out), stopped: make(chan struct{})}
}

// Line replaces the line.
func (p *Progress) Line(text string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = render.Sanitise(text)
	if !p.terminal || p.ended {
		return
	}
	p.shown = true
	fmt.Fprintf(p.out, "\r\x1b[K%s…", p.text)
}

// remind says again and again what is still waited for.
func (p *Progress) remind(began time.Time) {
	for n := 0; ; n++ {
		timer := time.NewTimer(settle.Pause(n))
		select {
		case <-timer.C:
			p.again(time.Since(began))
		case <-p.stopped:
			timer.Stop()
			return
		}
	}
}

func (p *Progress) again(waited time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended || p.text == "" && p.awaits == nil {
		return
	}
	text := ""
	if p.awaits != nil {
		text = render.Sanitise(p.awaits())
	}
	switch {
	case text != "":
	case p.terminal:
		text = p.text
	default: // a line may tell of what is done, not of what is waited for
		text = "last step: " + p.text
	}
	if p.terminal {
		fmt.Fprintf(p.out, "\r\x1b[K%s… (%s)", text, state.Short(waited))
	} else {
		fmt.Fprintf(p.out, "still waiting after %s: %s\n", state.Short(waited), text)
	}
}

// Await has reminders tell what is waited for by then, where it is known: "" where not.
func (p *Progress) Await(awaits func() string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.awaits = awaits
}

// Done takes the line away. Further calls do nothing.
func (p *Progress) Done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.ended {
		return
	}
	if p.shown {
		fmt.Fprint(p.out, "\r\x1b[K")
	}
	p.ended = true
	close(p.stopped)
}
