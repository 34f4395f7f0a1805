package tui

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// The benchmarks print the figures of docs/benchmarks.md, which has the commands.
// Run them with -benchtime=1x: each takes its own number of measurements.

const (
	benchPods   = 150_000
	benchEvents = 500
)

// place is a page, or what is drilled into on one.
type place struct {
	name string
	page page.ID
	to   func(*world) page.Subject
}

func places() []place {
	var out []place
	for _, row := range pages() {
		out = append(out, place{name: row.name, page: row.id})
	}
	return append(out,
		place{"cache of pods", page.Informers, func(*world) page.Subject { return page.Subject{Kind: page.OnInformer, Informer: "pods"} }},
		place{"story of a pod", page.Timeline, func(w *world) page.Subject { return page.Subject{Kind: page.OnObject, Object: w.written()} }},
	)
}

// nothing is the name of a place without a page.
const nothing = "nothing"

func (p place) jump(w *world) page.JumpMsg {
	if p.to == nil {
		return page.JumpMsg{Page: p.page}
	}
	return page.JumpMsg{Page: p.page, To: p.to(w)}
}

// BenchmarkKeys is the time from a key to the frame that answers it: written to the
// program's input, read by Bubble Tea, drawn by the page, and written to its output,
// while the cluster goes on. "nothing" is a program that draws the number of keys
// instead: what Bubble Tea, which writes 60 times a second at most, and the machine
// need.
func BenchmarkKeys(b *testing.B) {
	w := newWorld(b, benchPods)
	for _, p := range append([]place{{name: nothing}}, places()...) {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				s := startTimed(b, w, p)
				ctx, stop := context.WithCancel(b.Context())
				var running sync.WaitGroup
				running.Go(func() { w.runs(ctx, benchEvents) })
				took := s.typeKeys(300)
				stop()
				running.Wait()
				s.stop()
				slices.Sort(took)
				at := func(q float64) float64 { return took[int(q*float64(len(took)))].Seconds() * 1000 }
				b.ReportMetric(0, "ns/op")
				b.ReportMetric(at(0.5), "ms-p50")
				b.ReportMetric(at(0.99), "ms-p99")
				b.ReportMetric(took[len(took)-1].Seconds()*1000, "ms-most")
				slices.Sort(s.drawing)
				b.ReportMetric(s.drawing[len(s.drawing)*99/100].Seconds()*1000, "ms-drawing-p99")
			}
		})
	}
}

// BenchmarkIdle is the share of a core that the whole process needs while a page is
// on the screen: when nothing happens, and at 500 events a second.
func BenchmarkIdle(b *testing.B) {
	w := newWorld(b, benchPods)
	const span = 5 * time.Second
	for _, p := range append([]place{{name: nothing}}, places()...) {
		b.Run(p.name, func(b *testing.B) {
			for b.Loop() {
				s := startTimed(b, w, p)
				for _, rate := range []int{benchEvents, 0} {
					if rate == 0 { // what is left of the events, and of their garbage, is another matter
						time.Sleep(2 * time.Second)
						runtime.GC()
					}
					ctx, stop := context.WithTimeout(b.Context(), span)
					before, begun := cpuTime(b), time.Now()
					w.runs(ctx, rate)
					<-ctx.Done()
					stop()
					b.ReportMetric(100*(cpuTime(b)-before).Seconds()/time.Since(begun).Seconds(), fmt.Sprintf("%%-at-%d-events/s", rate))
				}
				s.stop()
				b.ReportMetric(0, "ns/op")
			}
		})
	}
}

// BenchmarkView draws each page of a small cluster and of one a hundred times as
// large, after a key has moved the cursor.
func BenchmarkView(b *testing.B) {
	costs := map[string]float64{}
	for _, pods := range []int{benchPods / 100, benchPods} {
		w := newWorld(b, pods)
		for _, p := range places() {
			b.Run(fmt.Sprintf("%s/%d", p.name, pods), func(b *testing.B) {
				s := newScreen(b, Options{Now: time.Now}, w.hub.Snapshot(), 200, 60)
				s.send(p.jump(w))
				s.carryOut(s.tick())
				keys, i := []string{"down", "pgdown", "end", "up", "home"}, 0
				s.View()
				b.ReportAllocs()
				for b.Loop() {
					s.send(keyMsg(keys[i%len(keys)]))
					s.View()
					i++
				}
				cost := float64(b.Elapsed().Nanoseconds()) / float64(b.N)
				if pods == benchPods {
					b.ReportMetric(cost/costs[p.name], "ratio")
				}
				costs[p.name] = cost
			})
		}
	}
}

// timed is a screen in a program of Bubble Tea's, which notes when keys were
// answered.
type timed struct {
	*model
	tb      testing.TB
	blank   bool
	program *tea.Program
	keys    *io.PipeWriter
	over    chan struct{}

	mu      sync.Mutex
	changed *sync.Cond
	// pressed are the keys not yet answered; read of them have come to Update, and
	// drawn to View.
	pressed     []time.Time
	read, drawn int
	took        []time.Duration
	drawing     []time.Duration
	picture     string
	loaded      bool
}

// startTimed shows a page of a world, and returns when it is loaded.
func startTimed(b *testing.B, w *world, p place) *timed {
	b.Helper()
	ctx, cancel := context.WithCancel(b.Context())
	b.Cleanup(cancel)
	in, keys := io.Pipe()
	s := &timed{tb: b, blank: p.name == nothing, keys: keys, over: make(chan struct{}), model: newModel(ctx, Options{
		Parts:   page.Parts{Theme: testTheme(b, "default", termenv.TrueColor), Missing: "this is a benchmark"},
		Journal: hubJournal{w.hub},
	})}
	s.changed = sync.NewCond(&s.mu)
	s.program = tea.NewProgram(s, tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(s), tea.WithAltScreen(), tea.WithoutSignalHandler())
	go func() {
		defer close(s.over)
		_, _ = s.program.Run()
	}()
	s.program.Send(tea.WindowSizeMsg{Width: 200, Height: 60})
	w.hub.Record(w.next())
	w.hub.Flush()
	s.program.Send(p.jump(w))
	s.mu.Lock()
	defer s.mu.Unlock()
	for !s.loaded {
		s.changed.Wait()
	}
	return s
}

func (s *timed) stop() {
	s.program.Quit()
	<-s.over
	_ = s.keys.Close()
}

func (s *timed) Init() tea.Cmd { return s.model.Init() }

func (s *timed) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	var cmd tea.Cmd
	if !s.blank {
		_, cmd = s.model.Update(msg)
	}
	if _, key := msg.(tea.KeyMsg); key {
		s.mu.Lock()
		s.read++
		s.mu.Unlock()
	}
	return s, cmd
}

// View notes what it draws. A key that leaves the picture as it was is answered
// here.
func (s *timed) View() string {
	begun := time.Now()
	picture := s.model.View()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.blank {
		picture = strings.Repeat("\n", 58) + strconv.Itoa(len(s.took)+s.read)
	}
	s.drawing = append(s.drawing, time.Since(begun))
	s.drawn = s.read
	if picture == s.picture {
		s.answered()
	}
	s.picture = picture
	if !s.loaded && s.hasRows() {
		s.loaded = true
		s.changed.Broadcast()
	}
	return picture
}

// hasRows: the page has what it is to show.
func (s *timed) hasRows() bool {
	if s.blank || s.env.Snap.Seq == 0 {
		return s.blank
	}
	for _, l := range strings.Split(ansi.Strip(s.picture), "\n") {
		if strings.HasPrefix(l, "> ") && !strings.HasPrefix(l, "> …") {
			return true
		}
	}
	return false
}

// Write is the program's output.
func (s *timed) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if bytes.ContainsRune(p, '\n') || len(p) > 200 { // more than a change of mode
		s.answered()
	}
	return len(p), nil
}

// answered: what has been drawn is on the screen. The caller holds mu.
func (s *timed) answered() {
	now := time.Now()
	for ; s.drawn > 0; s.drawn, s.read = s.drawn-1, s.read-1 {
		s.took = append(s.took, now.Sub(s.pressed[0]))
		s.pressed = s.pressed[1:]
	}
	s.changed.Broadcast()
}

// typeKeys presses keys, not faster than a hand on a key that repeats, and gives
// the time that each took.
func (s *timed) typeKeys(n int) []time.Duration {
	keys := []string{"\x1b[B", "\x1b[B", "\x1b[6~", "\x1b[A", "G", "\x1b[A", "\x1b[5~", "\x1b[B", "g", "\x1b[B"}
	repeat := time.NewTicker(33 * time.Millisecond)
	defer repeat.Stop()
	for i := range n {
		<-repeat.C
		s.mu.Lock()
		s.pressed = append(s.pressed, time.Now())
		s.mu.Unlock()
		if _, err := io.WriteString(s.keys, keys[i%len(keys)]); err != nil {
			s.tb.Fatal(err)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.took) < n {
		s.changed.Wait()
	}
	return s.took
}

// TestViewAsksForTheScreen counts the rows that a list asks for: those on the
// screen, whatever there is.
func TestViewAsksForTheScreen(t *testing.T) {
	theme := testTheme(t, "mono", termenv.Ascii)
	for _, n := range []int{1500, benchPods} {
		r := &countedRows{n: n}
		l := widget.List{Columns: []widget.Column{{Title: "ROW", Grow: true}}}
		l.View(theme, r, 80, 24, "")
		for _, key := range []string{"pgdown", "end", "up", "home", "down"} {
			r.asked = 0
			l.Key(r, key)
			l.View(theme, r, 80, 24, "")
			if r.asked != 23 {
				t.Errorf("%s of %d rows: asked for %d, want the 23 on the screen", key, n, r.asked)
			}
		}
	}
}

// countedRows counts how many it was asked for.
type countedRows struct{ n, asked int }

func (r *countedRows) Len() int        { return r.n }
func (r *countedRows) ID(i int) string { return strconv.Itoa(i) }

func (r *countedRows) Find(id string) int {
	for i := range r.n {
		if strconv.Itoa(i) == id {
			return i
		}
	}
	return -1
}

func (r *countedRows) Cells(i int) []widget.Cell {
	r.asked++
	return []widget.Cell{widget.Plain(strconv.Itoa(i))}
}
