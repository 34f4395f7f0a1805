package main

import (
	"os"
	"testing"

	"github.com/creack/pty"
	"github.com/muesli/termenv"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/tuibackend"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// With NO_COLOR the selected tab and row keep their bold and reverse video.
func TestNoColorMeansMono(t *testing.T) {
	terminal, tty, err := pty.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = terminal.Close(); _ = tty.Close() })
	mono, err := widget.NewTheme("mono", termenv.ANSI)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := widget.NewTheme("mono", termenv.Ascii)
	if err != nil {
		t.Fatal(err)
	}
	env := func(pairs ...string) func(string) string {
		return func(name string) string {
			for i := 0; i < len(pairs); i += 2 {
				if pairs[i] == name {
					return pairs[i+1]
				}
			}
			return ""
		}
	}
	for _, test := range []struct {
		name string
		out  *os.File
		env  func(string) string
		want *widget.Theme
	}{
		{"default", tty, env("NO_COLOR", "1", "TERM", "xterm-256color"), mono},
		{"high-contrast", tty, env("NO_COLOR", "0", "TERM", "xterm"), mono},
		{"default", tty, env("NO_COLOR", "1", "TERM", "dumb"), plain},
	} {
		theme, err := tuibackend.Theme(test.name, test.out, test.env)
		if err != nil || *theme != *test.want {
			t.Errorf("%s: %+v, %v, want %+v", test.name, theme, err, test.want)
		}
	}
	if _, err := tuibackend.Theme("nosuch", tty, env("NO_COLOR", "1")); err == nil {
		t.Error("an unknown theme is accepted with NO_COLOR")
	}
}
