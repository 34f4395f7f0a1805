package follow

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxFields bounds the fields of a question that are shown at once.
const maxFields = 24

// asker asks on a terminal, line by line, one question at a time. While one is
// asked the journal stands still, so that the question stays below it; the lines
// come after the answer.
type asker struct {
	e       *engine.Engine
	journal *Printer
	out     io.Writer
	color   bool
	width   int
	quit    context.CancelCauseFunc
	lines   chan typed

	// asked is what stands on the terminal: a question, the brake, or a question
	// that was withdrawn; nothing where all are unset.
	asked     *state.Question
	brake     bool
	withdrawn bool
	// since is when it was put there: what was typed before is no answer to it.
	since time.Time
}

// typed is a line from the terminal.
type typed struct {
	word string
	at   time.Time
}

// TypedEarly is said of a line that is no answer.
const TypedEarly = "Ignored: typed before this was shown. Type it again."

// maxTyped bounds the lines that wait to be taken; more are thrown away.
const maxTyped = 16

// Ask asks until ctx ends; quit ends the run. It returns what waits for its
// end.
func Ask(ctx context.Context, e *engine.Engine, journal *Printer, streams genericiooptions.IOStreams, quit context.CancelCauseFunc) (wait func()) {
	color, _ := console.Color(journal.flags.Color, streams.ErrOut)
	a := &asker{e: e, journal: journal, out: streams.ErrOut, color: color, width: console.Width(streams.ErrOut), quit: quit, lines: make(chan typed, maxTyped)}
	go a.read(streams.In)
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		a.run(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}

// read hands on what is typed. It stays behind in a read of the terminal when the
// program ends.
func (a *asker) read(in io.Reader) {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		select {
		case a.lines <- typed{strings.ToLower(strings.TrimSpace(lines.Text())), time.Now()}:
		default:
		}
	}
	close(a.lines)
}

func (a *asker) run(ctx context.Context) {
	gate := a.e.Gate()
	defer a.clear()
	for {
		changed := gate.Changed()
		if ctx.Err() != nil {
			return // what is not asked any more needs no word then
		}
		a.look(ctx)
		select {
		case <-ctx.Done():
			return
		case <-changed:
		case line, more := <-a.lines:
			if !more {
				a.say("There is nobody to ask any more: the run ends.")
				a.quit(exit.ErrInterrupted)
				return
			}
			if line.at.After(a.since) {
				a.take(line.word)
			} else {
				a.say(TypedEarly)
			}
		}
	}
}

// look puts on the terminal what has to be asked next.
func (a *asker) look(ctx context.Context) {
	gate := a.e.Gate()
	questions := gate.Questions()
	if a.asked != nil && !a.withdrawn {
		if !contains(questions, a.asked.ID) {
			// Who was about to answer it must not answer the next one.
			a.withdrawn, a.since = true, time.Now()
			a.say(fmt.Sprintf("\nQuestion %d is not asked any more. Press Enter to go on.", a.asked.ID))
		}
		return
	}
	if a.brake && !gate.Braked().On() {
		a.clear()
	}
	if a.asked != nil || a.brake {
		return
	}
	if brake := gate.Braked(); brake.On() {
		a.hold(ctx)
		a.brake, a.since = true, time.Now()
		reason := brake.Reason
		if a.e.KeepsLease() {
			reason += "; " + engine.KeptLease
		}
		a.say(fmt.Sprintf("\nThe BRAKE is on, nothing is written: %s.\n  r  release it\n  q  quit", reason))
		return
	}
	open := 0
	var next *state.Question
	for i, q := range questions {
		if !q.Braked {
			open++
			if next == nil {
				next = &questions[i]
			}
		}
	}
	if next != nil {
		a.hold(ctx)
		next.Why = a.e.Journal().Snapshot().Why(*next)
		a.asked = next
		a.show(open-1, maxFields)
		a.since = time.Now()
	}
}

func contains(questions []state.Question, id int) bool {
	for _, q := range questions {
		if q.ID == id && !q.Braked {
			return true
		}
	}
	return false
}

func (a *asker) show(more, fields int) {
	o := render.QuestionOptions{Color: a.color, Width: a.width, Fields: fields, More: more}
	if a.e.KeepsLease() {
		o.Meanwhile = engine.KeptLease
	}
	_ = render.Question(a.out, *a.asked, o)
}

// take takes what was typed.
func (a *asker) take(word string) {
	gate := a.e.Gate()
	switch {
	case word == "q" || word == "quit":
		a.quit(exit.ErrInterrupted)
	case a.withdrawn:
		a.clear()
	case a.brake:
		if word == "r" || word == "release" {
			gate.Release("the user")
			a.clear()
			return
		}
		a.say(fmt.Sprintf("%q is no answer: r releases the brake, q quits.", word))
	case a.asked == nil:
		// Typed before there was a question: it is for none.
	case word == "d":
		a.show(0, 0)
	default:
		answer, ok := render.AnswerOf(*a.asked, word)
		if !ok {
			if word != "" {
				a.say(fmt.Sprintf("%q is no answer to this.", word))
			}
			a.show(0, maxFields)
			return
		}
		if err := gate.Answer(a.asked.ID, answer); err != nil {
			a.say(fmt.Sprintf("answer question %d: %v", a.asked.ID, err))
		}
		a.clear()
	}
}

// hold lets the journal be printed up to now, and stops it.
func (a *asker) hold(ctx context.Context) { a.journal.still.hold(ctx, a.e.Journal().Flush().Seq) }

// clear lets the journal go on.
func (a *asker) clear() {
	a.asked, a.brake, a.withdrawn = nil, false, false
	a.journal.still.release()
}

func (a *asker) say(text string) {
	fmt.Fprintln(a.out, render.SanitiseKeeping(text, render.KeepLines))
}

// stillness stops the printing of the journal.
type stillness struct {
	mu      sync.Mutex
	moved   *sync.Cond
	held    bool
	printed uint64
	ended   bool
}

func newStillness() *stillness {
	s := &stillness{}
	s.moved = sync.NewCond(&s.mu)
	return s
}

// hold returns when the entries up to seq are printed; from then on none is.
func (s *stillness) hold(ctx context.Context, seq uint64) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.moved.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.held && s.printed < seq && !s.ended && ctx.Err() == nil {
		s.moved.Wait()
	}
	s.held = true
}

func (s *stillness) release() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.held = false
	s.moved.Broadcast()
}

// before waits until printing may go on.
func (s *stillness) before() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for s.held {
		s.moved.Wait()
	}
}

func (s *stillness) after(seq uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.printed = seq
	s.moved.Broadcast()
}

func (s *stillness) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.moved.Broadcast()
}
