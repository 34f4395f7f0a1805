package state

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Runners of CI systems take lines of a step's output for commands: GitHub's and
// Azure's "##[command]" and "##vso[command]" anywhere in a line, TeamCity's
// "##teamcity[command]", and GitHub's "::command::" at the start of a line, after
// white space. What follows keeps text that is not this program's from being one.

// BreakCommands makes commands to the runner of a CI system text that is none, by a
// backslash: "##\[error]" and "::error:\:". Each line of the text is read as a line
// of output. Applying it twice changes nothing more.
func BreakCommands(s string) string {
	if !strings.Contains(s, "##") && !strings.Contains(s, "::") {
		return s
	}
	var breaker CommandBreaker
	return string(breaker.Append(make([]byte, 0, len(s)+8), s))
}

// CommandBreaker is BreakCommands for text that comes in pieces. The zero value
// stands at the start of a line.
type CommandBreaker struct {
	// at is what stands before the next character in its line.
	at position
	// hashes counts those of "##" that stand before it, be there letters in between.
	hashes int
	// word: there are letters behind the hashes.
	word bool
	// colon: the character before is a colon that could begin a second "::".
	colon bool
}

// position is how a line began.
type position int

const (
	atStart   position = iota // white space at most
	oneColon                  // and ":"
	twoColons                 // and "::"
	inCommand                 // and a letter: another "::" makes it a command
	inText                    // anything else
)

// Append adds text to out, with the commands in it broken.
func (b *CommandBreaker) Append(out []byte, s string) []byte {
	for len(s) > 0 {
		r, size := utf8.DecodeRuneInString(s)
		if b.breaks(r) {
			out = append(out, '\\')
		}
		out = append(out, s[:size]...)
		s = s[size:]
	}
	return out
}

// breaks takes the next character, and reports whether it would complete a command.
func (b *CommandBreaker) breaks(r rune) bool {
	if r == '\n' || r == '\r' {
		*b = CommandBreaker{}
		return false
	}
	command := b.hash(r)
	switch b.at {
	case atStart:
		if r == ':' {
			b.at = oneColon
		} else if !unicode.IsSpace(r) {
			b.at = inText
		}
	case oneColon:
		b.at = inText
		if r == ':' {
			b.at = twoColons
		}
	case twoColons:
		b.at = inText
		if letter(r) {
			b.at = inCommand
		}
	case inCommand:
		command = command || b.colon && r == ':'
		b.colon = r == ':'
	}
	return command
}

// hash follows "##[" and "##word[".
func (b *CommandBreaker) hash(r rune) (command bool) {
	switch {
	case r == '#' && !b.word:
		b.hashes++
	case r == '#':
		b.hashes, b.word = 1, false
	case letter(r) && b.hashes >= 2:
		b.word = true
	default:
		command = r == '[' && b.hashes >= 2
		b.hashes, b.word = 0, false
	}
	return command
}

func letter(r rune) bool { return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' }

// HoldsCommand reports whether BreakCommands would change text.
func HoldsCommand(s string) bool { return BreakCommands(s) != s }

// EscapeJSON escapes what a JSON encoder leaves bare inside strings and a terminal or
// the runner of a CI system would act on: DEL, C1 controls, bidi and other format
// characters, and "##["; bytes that are not UTF-8 become U+FFFD. Whoever parses the
// text gets what was encoded. Lines between the tokens stay.
func EscapeJSON(text []byte) []byte { return escapeJSON(text, "") }

// EscapeJSONInYAML is EscapeJSON for JSON that is read as YAML, which has an escape
// for characters beyond U+FFFF and no surrogate pairs.
func EscapeJSONInYAML(text []byte) []byte { return escapeJSON(text, `\U%08x`) }

func escapeJSON(text []byte, large string) []byte {
	if !needsEscape(text) {
		return text
	}
	out := make([]byte, 0, len(text)+64)
	hashes := CommandBreaker{at: inText}
	for len(text) > 0 {
		r, size := utf8.DecodeRune(text)
		text = text[size:]
		switch {
		case r != '\n' && !Printable(r):
			if r <= 0xffff {
				out = fmt.Appendf(out, `\u%04x`, r)
			} else if large != "" {
				out = fmt.Appendf(out, large, r)
			} else {
				high, low := utf16.EncodeRune(r)
				out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
			}
		case hashes.hash(r):
			out = append(out, `\u005b`...)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return out
}

// needsEscape is quick where there is nothing to do, which is nearly always.
func needsEscape(text []byte) bool {
	hashes := 0
	for _, b := range text {
		switch {
		case b >= 0x7f, b < ' ' && b != '\n':
			return true
		case b == '#':
			if hashes++; hashes >= 2 {
				return true
			}
		default:
			hashes = 0
		}
	}
	return false
}
