package tui

import (
	"context"
	"errors"
	"io"

	tea "github.com/charmbracelet/bubbletea"
)

// Screen is a screen that has been made and not yet shown.
type Screen struct {
	model   *model
	program *tea.Program
	cancel  context.CancelFunc
}

// NewScreen makes a screen on a terminal. Signals are the caller's: it ends ctx.
func NewScreen(ctx context.Context, o Options, in io.Reader, out io.Writer) *Screen {
	ctx, cancel := context.WithCancel(ctx)
	m := newModel(ctx, o)
	return &Screen{model: m, cancel: cancel, program: tea.NewProgram(m,
		tea.WithContext(ctx), tea.WithInput(in), tea.WithOutput(out), tea.WithAltScreen(), tea.WithoutSignalHandler())}
}

// Run shows the screen until the user quits or ctx ends, and then restores the
// terminal, also after a panic of its own. The context's end is no error; what
// Connect or a crash of the session gave is.
func (s *Screen) Run() error {
	defer s.cancel()
	_, err := s.program.Run()
	switch {
	case s.model.failed != nil:
		return s.model.failed
	case errors.Is(err, tea.ErrProgramPanic):
		return errors.New("the TUI failed; its stack trace is above")
	case errors.Is(err, tea.ErrProgramKilled), errors.Is(err, tea.ErrInterrupted):
		return nil
	}
	return err
}

// Restore gives the terminal back at once, for a process that is about to die on
// another goroutine. The screen is not usable afterwards.
func (s *Screen) Restore() { _ = s.program.ReleaseTerminal() }
