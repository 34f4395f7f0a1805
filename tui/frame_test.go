package tui

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/creack/pty"
	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Whatever the size, and however it changes, each page fills the screen to the cell:
// text() checks the width of every line, and their number.
func TestFrameHoldsAtEverySize(t *testing.T) {
	for name, snap := range map[string]*state.Snapshot{"shop": shop(t, 0), "hostile": hostile(), "empty": state.NewSnapshot(state.Limits{})} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, shopOptions(snap), snap, 80, 24)
			for _, row := range s.table {
				s.press(strconv.Itoa(int(row.id)))
				for _, size := range [][2]int{{60, 15}, {61, 16}, {79, 23}, {139, 24}, {140, 24}, {200, 60}, {400, 100}, {80, 24}} {
					s.send(tea.WindowSizeMsg{Width: size[0], Height: size[1]})
					s.text()
					s.press("enter").text()
					s.press("esc", "G").text()
				}
			}
		})
	}
}

func TestScreenThatIsTooSmallSaysSo(t *testing.T) {
	snap := shop(t, 0)
	for _, size := range [][2]int{{59, 24}, {80, 14}, {10, 3}, {1, 1}} {
		s := newScreen(t, shopOptions(snap), snap, size[0], size[1])
		if got := s.text(); size[0] > 50 && !strings.Contains(got, "needs 60×15") {
			t.Errorf("%v: %q", size, got)
		}
	}
}

// Colours are a help and never the message: without any, nothing but text is left.
func TestThemes(t *testing.T) {
	snap := shop(t, 0)
	for _, name := range widget.Themes() {
		for profile, colours := range map[widget.Profile]bool{termenv.Ascii: false, termenv.ANSI: true, termenv.TrueColor: true} {
			o := shopOptions(snap)
			o.Theme = testTheme(t, name, profile)
			view := newScreen(t, o, snap, 80, 24).View()
			if got := strings.Contains(view, "\x1b["); got != colours {
				t.Errorf("theme %s in profile %v has sequences: %v, want %v", name, profile, got, colours)
			}
			if !strings.Contains(view, "SANDBOX") || !strings.Contains(view, "> ") {
				t.Errorf("theme %s in profile %v lacks the mode or the cursor", name, profile)
			}
		}
	}
	if _, err := widget.NewTheme("pink", termenv.ANSI); err == nil || !strings.Contains(err.Error(), "high-contrast") {
		t.Errorf("an unknown theme: %v", err)
	}
}

// panics is a journal that fails in the worst way.
type panics struct{}

func (panics) Next(context.Context, *state.Snapshot) (*state.Snapshot, error) { panic("boom") }

// A panic of the screen's own ends it with an error, and the terminal is restored.
func TestPanicRestoresTheTerminal(t *testing.T) {
	if raced {
		t.Skip("after a panic bubbletea v1.3.10 closes its input without waiting for its goroutines that read it")
	}
	control, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer control.Close()
	if err := pty.Setsize(control, &pty.Winsize{Cols: 80, Rows: 24}); err != nil {
		t.Fatal(err)
	}
	// The end of what is drawn is marked, and not the terminal's: a goroutine of
	// bubbletea's may still have that open.
	const mark = "all is drawn"
	drawn := make(chan string)
	go func() {
		var all bytes.Buffer
		buffer := make([]byte, 4096)
		for {
			n, err := control.Read(buffer)
			all.Write(buffer[:n])
			if err != nil || bytes.Contains(all.Bytes(), []byte(mark)) {
				drawn <- all.String()
				return
			}
		}
	}()
	err = NewScreen(context.Background(), Options{Parts: page.Parts{Theme: testTheme(t, "default", termenv.ANSI)}, Journal: panics{}}, tty, tty).Run()
	if err == nil {
		t.Error("the panic is no error")
	}
	if _, err := tty.WriteString(mark); err != nil {
		t.Fatal(err)
	}
	if out := <-drawn; strings.Count(out, "\x1b[?1049h") != strings.Count(out, "\x1b[?1049l") || !strings.Contains(out, "\x1b[?25h") {
		t.Errorf("the terminal was not restored: %q", out)
	}
}

// What Connect says ends the screen, and Run returns it.
func TestConnectFails(t *testing.T) {
	s := newScreen(t, Options{Connect: func(context.Context) (func(*Options), error) { return nil, errors.New("no route") }}, state.NewSnapshot(state.Limits{}), 80, 24)
	s.carryOut(s.connect())
	if s.failed == nil || !s.quitting || fmt.Sprint(s.failed) != "no route" {
		t.Errorf("failed with %v, quitting %v", s.failed, s.quitting)
	}
}
