package render

import (
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state/runnertest"
)

// hostile is what a cluster may send in a name, a label or a message.
var hostile = map[string]string{
	"clipboard (OSC 52)":     "\x1b]52;c;ZWNobyBoaQ==\x07",
	"hyperlink (OSC 8)":      "\x1b]8;;http://evil.example\x1b\\click\x1b]8;;\x1b\\",
	"title (OSC 0)":          "\x1b]0;owned\x07",
	"clear (CSI 2J)":         "\x1b[2J\x1b[H",
	"report (DSR)":           "\x1b[6n",
	"device string (DCS)":    "\x1bP$qm\x1b\\",
	"application (APC)":      "\x1b_Gi=31;AAAA\x1b\\",
	"C1 as a rune":           "\u009b31m\u009d52;c;aGk=\u009c",
	"C1 as a byte":           "\x9b31m\x9d52;c;aGk=\x9c",
	"carriage return":        "good\rbad",
	"backspace":              "good\b\b\b\bbad",
	"bell, NUL, DEL":         "\x07\x00\x7f",
	"bidi override":          "\u202egnp.exe\u202c",
	"bidi isolate":           "\u2066abc\u2069\u200e\u200f\u061c",
	"zero width":             "ad\u200bm\u200ci\u200dn\ufeff\u2060",
	"line separators":        "a\u2028b\u2029c\u0085d\ve\ff",
	"new lines and tabs":     "a\nb\tc\r\nd",
	"invalid UTF-8":          "a\xff\xc3\x28\xed\xa0\x80z",
	"half a rune":            "abc\xe2\x82",
	"tags":                   "\U000e0041\U000e007f",
	"invisible letters":      "\u115f\u1160\u3164\uffa0\u034f\u2800",
	"variation selectors":    "a\ufe0fb\U000e0100",
	"marks without a base":   "\u0301\u0301abc",
	"a tower of marks":       "a" + strings.Repeat("\u0301", 1000),
	"private and unassigned": "\ue000\U0010ffff\ufdd0",
	"odd spaces":             "a\u00a0b\u3000c\u2003d",
	"a thousand characters":  strings.Repeat("x", 1000),
	"wide":                   strings.Repeat("界", 500),
	"flags and families":     "🇩🇪👨‍👩‍👧‍👦👍🏽",
	"half a flag":            "🇩",
	"Hangul jamo":            "\u1100\u1161\u11a8",
	"right to left letters":  "שלום مرحبا",
}

// checkInert fails if text could do anything but be shown.
func checkInert(t interface {
	Helper()
	Errorf(string, ...any)
}, text string, newlines bool) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	for _, r := range text {
		switch {
		case r == '\n' && newlines:
		case r < ' ', r == 0x7f, r >= 0x80 && r < 0xa0,
			unicode.In(r, unicode.Cf, unicode.Cc, unicode.Cs, unicode.Co, unicode.Zl, unicode.Zp, unicode.Bidi_Control, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector):
			t.Errorf("%U stands in %q", r, text)
			return
		}
	}
}

func TestSanitiseHostile(t *testing.T) {
	for name, text := range hostile {
		t.Run(name, func(t *testing.T) {
			got := Sanitise(text)
			checkInert(t, got, false)
			if again := Sanitise(got); again != got {
				t.Errorf("once %q, twice %q", got, again)
			}
		})
	}
}

func TestSanitise(t *testing.T) {
	for in, want := range map[string]string{
		"":                      "",
		"shop/web-7c9":          "shop/web-7c9",
		"Zürich 拳闘 🚀 é e\u0301": "Zürich 拳闘 🚀 é e\u0301",
		"a\x1b[31mb":            "a\ufffd[31mb",
		"a\nb\tc":               "a b c",
		"a\u00a0b":              "a b",
		"\xff":                  "\ufffd",
		"\ufffd":                "\ufffd",
		"⚠\ufe0f":               "⚠",
		"\u0301a":               "\ufffda",
	} {
		if got := Sanitise(in); got != want {
			t.Errorf("Sanitise(%q) = %q, want %q", in, got, want)
		}
	}
	if got := SanitiseKeeping("a\n\u0301b\tc", KeepLines); got != "a\n\ufffdb c" {
		t.Errorf("keeping lines gives %q", got)
	}
}

var anyText = rapid.OneOf(
	rapid.String(),
	rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) }),
	rapid.Map(rapid.SliceOf(rapid.SampledFrom(pieces())), func(s []string) string { return strings.Join(s, "") }),
)

func pieces() []string {
	var out []string
	for _, text := range hostile {
		if len(text) < 100 {
			out = append(out, text)
		}
	}
	return append(out, "\u0301", "a", "界", " ")
}

func TestSanitiseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkSanitise(t, anyText.Draw(t, "text"), rapid.IntRange(-1, 40).Draw(t, "width")) })
}

func checkSanitise(t interface {
	Helper()
	Errorf(string, ...any)
}, text string, width int) {
	t.Helper()
	once := Sanitise(text)
	checkInert(t, once, false)
	if twice := Sanitise(once); twice != once {
		t.Errorf("%q: once %q, twice %q", text, once, twice)
	}
	lines := SanitiseKeeping(text, KeepLines)
	checkInert(t, lines, true)
	for _, clean := range []string{once, lines} {
		if command, found := runnertest.Command(clean); found {
			t.Errorf("in %q a runner finds %q", clean, command)
		}
	}
	if twice := SanitiseKeeping(lines, KeepLines); twice != lines {
		t.Errorf("%q keeping lines: once %q, twice %q", text, lines, twice)
	}
	cut := Truncate(once, width)
	checkInert(t, cut, false)
	if w := Width(cut); w > max(width, 0) {
		t.Errorf("%q cut to %d is %q of width %d", once, width, cut, w)
	}
	if padded := Pad(cut, width); Width(padded) < width {
		t.Errorf("%q padded to %d has width %d", cut, width, Width(padded))
	}
}

func FuzzSanitise(f *testing.F) {
	for _, text := range hostile {
		f.Add(text, 10)
	}
	f.Fuzz(func(t *testing.T, text string, width int) { checkSanitise(t, text, width%1000) })
}

func TestTruncate(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"abc", 1, "…"}, {"abc", 0, ""}, {"界界", 3, "界…"}, {"界界", 2, "…"}, {"e\u0301e\u0301", 1, "…"},
	} {
		if got := Truncate(c.in, c.width); got != c.want {
			t.Errorf("Truncate(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
}

func TestCutMiddle(t *testing.T) {
	for _, c := range []struct {
		in    string
		width int
		want  string
	}{
		{"pods shop/web", 13, "pods shop/web"},
		{"persistentvolumeclaims shop/data-db-1", 20, "persisten…/data-db-1"},
		{"abcdef", 2, "a…"}, {"abcdef", 0, ""}, {"abcdef", 3, "a…f"},
	} {
		if got := CutMiddle(c.in, c.width); got != c.want {
			t.Errorf("CutMiddle(%q, %d) = %q, want %q", c.in, c.width, got, c.want)
		}
	}
	for _, s := range []string{strings.Repeat("長い", 50), strings.Repeat("e\u0301", 50), "👩‍👩‍👧‍👦🏳️‍🌈" + strings.Repeat("長", 50)} {
		for width := range 40 {
			if got := CutMiddle(s, width); Width(got) > width {
				t.Errorf("CutMiddle(%q, %d) is %d cells wide", s, width, Width(got))
			}
		}
	}
}
