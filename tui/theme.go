package tui

import (
	"fmt"
	"io"
	"strings"

	"github.com/charmbracelet/lipgloss"
	"github.com/muesli/termenv"
)

// styleName is the meaning of a style; the theme gives it a look.
type styleName int

const (
	styleText styleName = iota
	styleDim
	styleBold
	styleGood
	styleWarn
	styleBad
	styleAccent
	// styleTitle is of column titles and headings.
	styleTitle
	// styleSelected is of the row under the cursor.
	styleSelected
	// styleBar is of the header and the footer.
	styleBar
	styleBarKey
	// styleTab is of the open page's name.
	styleTab
	// The modes' badges.
	styleObserve
	styleDry
	styleSandbox
	styleActive
	styleRecording
	styleAlarm
	styleCount
)

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
	var styles map[styleName]func(lipgloss.Style) lipgloss.Style
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
func defaultStyles(dim, good, warn, bad, accent string) map[styleName]func(lipgloss.Style) lipgloss.Style {
	fore := func(c string) func(lipgloss.Style) lipgloss.Style {
		return func(s lipgloss.Style) lipgloss.Style { return s.Foreground(lipgloss.Color(c)) }
	}
	badge := func(fg, bg string) func(lipgloss.Style) lipgloss.Style {
		return func(s lipgloss.Style) lipgloss.Style {
			return s.Bold(true).Foreground(lipgloss.Color(fg)).Background(lipgloss.Color(bg))
		}
	}
	return map[styleName]func(lipgloss.Style) lipgloss.Style{
		styleDim:       fore(dim),
		styleBold:      bold,
		styleGood:      fore(good),
		styleWarn:      fore(warn),
		styleBad:       fore(bad),
		styleAccent:    fore(accent),
		styleTitle:     func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Foreground(lipgloss.Color(accent)) },
		styleSelected:  reverse,
		styleBar:       fore(dim),
		styleBarKey:    func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Foreground(lipgloss.Color(accent)) },
		styleTab:       func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Reverse(true) },
		styleObserve:   badge("0", "6"),
		styleDry:       badge("0", "3"),
		styleSandbox:   badge("0", "2"),
		styleActive:    badge("15", "1"),
		styleRecording: badge("15", "4"),
		styleAlarm:     badge("15", "1"),
	}
}

func monoStyles() map[styleName]func(lipgloss.Style) lipgloss.Style {
	badge := func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Reverse(true) }
	return map[styleName]func(lipgloss.Style) lipgloss.Style{
		styleDim:  func(s lipgloss.Style) lipgloss.Style { return s.Faint(true) },
		styleBold: bold, styleGood: func(s lipgloss.Style) lipgloss.Style { return s },
		styleWarn: bold, styleBad: badge, styleAccent: bold,
		styleTitle: func(s lipgloss.Style) lipgloss.Style { return s.Bold(true).Underline(true) }, styleSelected: reverse,
		styleBarKey: bold, styleTab: badge, styleObserve: badge, styleDry: badge, styleSandbox: badge,
		styleActive: badge, styleRecording: badge, styleAlarm: badge,
	}
}

func bold(s lipgloss.Style) lipgloss.Style    { return s.Bold(true) }
func reverse(s lipgloss.Style) lipgloss.Style { return s.Reverse(true) }

// paint puts a style around text that has been sanitised.
func (t *Theme) paint(text string, s styleName) string {
	if l := t.looks[s]; l.open != "" && text != "" {
		return l.open + text + l.close
	}
	return text
}
