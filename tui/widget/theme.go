package widget

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// Style is the meaning of a style; the theme gives it a look.
type Style int

const (
	Text Style = iota
	Dim
	Bold
	Good
	Warn
	Bad
	Accent
	// Title is of column titles and headings.
	Title
	// Selected is of the row under the cursor.
	Selected
	// SelectedWarn and SelectedBad are of warnings and failures in that row.
	SelectedWarn
	SelectedBad
	// Bar is of the header and the footer.
	Bar
	BarKey
	// Tab is of the open page's name.
	Tab
	// The modes' badges.
	Observe
	Dry
	Sandbox
	Active
	Recording
	Alarm
	styleCount
)

// StyleIf is the style where the condition holds, and that of text elsewhere.
func StyleIf(yes bool, s Style) Style {
	if yes {
		return s
	}
	return Text
}

// WarnIf is StyleIf with Warn.
func WarnIf(yes bool) Style { return StyleIf(yes, Warn) }

// BadIf is StyleIf with Bad.
func BadIf(yes bool) Style { return StyleIf(yes, Bad) }

// Theme is the look of each style. Nothing is told by a style alone: a state has
// a word beside its colour in each of them.
type Theme struct {
	Name  string
	looks [styleCount]look
}

// look holds the sequences around text; both are empty for plain text.
type look struct{ open, close string }

// Profile says what colours a terminal shows.
type Profile = termenv.Profile

// Themes are the names that NewTheme takes.
func Themes() []string { return []string{"default", "high-contrast", "mono"} }

// NewTheme makes a theme for a terminal. In a profile of plain ASCII it has no
// sequence at all, and the row under the cursor is told by its marker.
func NewTheme(name string, profile Profile) (*Theme, error) {
	var styles map[Style]func(lipgloss.Style) lipgloss.Style
	switch name {
	case "", "default":
		name, styles = "default", defaultStyles("8", "2", "3", "1", "6")
	case "high-contrast":
		styles = defaultStyles("15", "10", "11", "9", "14")
	case "mono":
		styles = monoStyles()
	default:
		return nil, fmt.Errorf("unknown theme %q: use %s", name, strings.Join(Themes(), ", "))
	}
	r := lipgloss.NewRenderer(io.Discard)
	r.SetColorProfile(profile)
	t := &Theme{Name: name}
	for s, set := range styles {
		const mark = "\x00"
		if open, close, ok := strings.Cut(set(r.NewStyle()).Render(mark), mark); ok {
			t.looks[s] = look{open, close}
		}
	}
	return t, nil
}

// defaultStyles take their colours from the terminal's own sixteen, so that they
// suit its background.
func defaultStyles(dim, good, warn, bad, accent string) map[Style]func(lipgloss.Style) lipgloss.Style {
	fore := func(c string) func(lipgloss.Style) lipgloss.Style {
		return func(s lipgloss.Style) lipgloss.Style { return s.Foreground(lipgloss.Color(c)) }
	}
	badge := func(fg, bg string) func(lipgloss.Style) lipgloss.Style {
		return func(s lipgloss.Style) lipgloss.Style {
			return s.Bold(true).Foreground(lipgloss.Color(fg)).Background(lipgloss.Color(bg))
		}
	}
	return map[Style]func(lipgloss.Style) lipgloss.Style{
		Dim:          fore(dim),
		Bold:         bold,
		Good:         fore(good),
		Warn:         fore(warn),
		Bad:          fore(bad),
		Accent:       fore(accent),
		Title:        func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Foreground(lipgloss.Color(accent)) },
		Selected:     reverse,
		SelectedWarn: func(s lipgloss.Style) lipgloss.Style { return s.Reverse(true).Foreground(lipgloss.Color(warn)) },
		SelectedBad: func(s lipgloss.Style) lipgloss.Style {
			return s.Reverse(true).Bold(true).Foreground(lipgloss.Color(bad))
		},
		Bar:       fore(dim),
		BarKey:    func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Foreground(lipgloss.Color(accent)) },
		Tab:       func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Reverse(true) },
		Observe:   badge("0", "6"),
		Dry:       badge("0", "3"),
		Sandbox:   badge("0", "2"),
		Active:    badge("15", "1"),
		Recording: badge("15", "4"),
		Alarm:     badge("15", "1"),
	}
}

func monoStyles() map[Style]func(lipgloss.Style) lipgloss.Style {
	badge := func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Reverse(true) }
	return map[Style]func(lipgloss.Style) lipgloss.Style{
		Dim:  func(s lipgloss.Style) lipgloss.Style { return s.Faint(true) },
		Bold: bold, Good: func(s lipgloss.Style) lipgloss.Style { return s },
		Warn: bold, Bad: badge, Accent: bold,
		Title: func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Underline(true) }, Selected: reverse,
		SelectedWarn: badge, SelectedBad: func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Reverse(true).Underline(true) },
		BarKey: bold, Tab: badge, Observe: badge, Dry: badge, Sandbox: badge,
		Active: badge, Recording: badge, Alarm: badge,
	}
}

func bold(s lipgloss.Style) lipgloss.Style    { return s.Bold(true) }
func reverse(s lipgloss.Style) lipgloss.Style { return s.Reverse(true) }

// paint puts a style around text that has been sanitised.
func (t *Theme) paint(text string, s Style) string {
	if l := t.looks[s]; l.open != "" && text != "" {
		return l.open + text + l.close
	}
	return text
}
