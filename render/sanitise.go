package render

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxMarks is how many consecutive combining marks a character may have.
const maxMarks = 4

// Keep selects the white space that Sanitise preserves.
type Keep int

const (
	// KeepNothing replaces newlines and tabs with spaces: the result is one line.
	KeepNothing Keep = iota
	// KeepLines preserves newlines, for text that is printed as a block.
	KeepLines
)

// Sanitise makes text inert on a terminal and in the log of a CI job, as one line:
//
//   - newlines, tabs and every kind of space become a space;
//   - controls (C0 with ESC, DEL, C1), invalid UTF-8, bidi and other format
//     characters, zero-width, invisible, private and unassigned ones become
//     U+FFFD, each by itself, so that what was there can be seen to have been;
//   - variation selectors of emoji go;
//   - combining marks become U+FFFD where they have nothing to stand on or are
//     more than four in a row;
//   - commands to the runner of a CI system are broken by a backslash, see
//     state.BreakCommands.
//
// Everything else stays. Applying it twice changes nothing more.
func Sanitise(s string) string { return SanitiseKeeping(s, KeepNothing) }

// SanitiseKeeping is Sanitise with a choice of white space to preserve.
func SanitiseKeeping(s string, keep Keep) string {
	if plainASCII(s) {
		return state.BreakCommands(s)
	}
	var out strings.Builder
	out.Grow(len(s))
	marks := maxMarks // a mark cannot come first
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		s = s[size:]
		switch {
		case r == '\n' && keep == KeepLines:
			out.WriteByte('\n')
			marks = maxMarks
		case r == '\ufe0e' || r == '\ufe0f':
		case isSpace(r):
			out.WriteByte(' ')
			marks = 0
		case !state.Printable(r):
			out.WriteRune(utf8.RuneError)
			marks = 0
		case unicode.In(r, unicode.M):
			if marks++; marks > maxMarks {
				r, marks = utf8.RuneError, 0
			}
			out.WriteRune(r)
		default:
			out.WriteRune(r)
			marks = 0
		}
	}
	return state.BreakCommands(out.String())
}

func plainASCII(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func isSpace(r rune) bool {
	return r == '\n' || r == '\t' || r == '\r' || unicode.Is(unicode.Zs, r)
}

// Width is the number of terminal cells that text takes. Colours take none.
func Width(s string) int {
	if plainASCII(s) {
		return len(s)
	}
	return ansi.StringWidth(s)
}

// Truncate cuts sanitised text to a number of cells and ends it with "…" if something
// is missing. A width of zero returns nothing.
func Truncate(s string, width int) string {
	switch {
	case width <= 0:
		return ""
	case Width(s) <= width:
		return s
	}
	return ansi.Truncate(s, width, "…")
}

// CutMiddle truncates text in the middle, for text whose end matters more, such as a
// type and a name.
func CutMiddle(s string, width int) string {
	if Width(s) <= width || width < 3 {
		return Truncate(s, width)
	}
	head := ansi.Truncate(s, (width-1)/2, "")
	rest := width - 1 - Width(head)
	return Truncate(head+"…"+ansi.TruncateLeft(s, Width(s)-rest, ""), width)
}

// Pad fills sanitised text with spaces to a number of cells; longer text is returned
// unchanged.
func Pad(s string, width int) string {
	if missing := width - Width(s); missing > 0 {
		return s + strings.Repeat(" ", missing)
	}
	return s
}
