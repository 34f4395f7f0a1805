package state

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

func durationIf(d time.Duration) string {
	if d <= 0 {
		return ""
	}
	return Short(d)
}

func describeRV(from, to string) string {
	switch {
	case from == to && to == "":
		return ""
	case from == "" || from == to:
		return " (rv " + to + ")"
	case to == "":
		return " (rv " + from + ")"
	}
	return " (rv " + from + "→" + to + ")"
}

func count[N int | uint64](n N, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func prefixIf(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

func clock(t time.Time) string { return t.UTC().Format("15:04:05.000") }

// Short is a duration for reading, in at most about three figures: "40ms",
// "1.25s", "2m5s".
func Short(d time.Duration) string {
	abs := d.Abs()
	switch {
	case abs >= time.Hour:
		return strings.TrimSuffix(d.Round(time.Minute).String(), "0s")
	case abs >= time.Minute:
		return d.Round(time.Second).String()
	case abs >= 10*time.Second:
		return d.Round(100 * time.Millisecond).String()
	case abs >= time.Second:
		return d.Round(10 * time.Millisecond).String()
	case abs >= 10*time.Millisecond:
		return d.Round(time.Millisecond).String()
	case abs >= time.Millisecond:
		return d.Round(100 * time.Microsecond).String()
	case abs >= 10*time.Microsecond:
		return d.Round(time.Microsecond).String()
	}
	return d.String()
}

// Printable reports whether a rune may be shown on a terminal as it is: not a
// control, bidi or other format character, not invisible, not private. It is
// the one definition that recordings, logs and render share.
func Printable(r rune) bool {
	if r < 0x7f {
		return r >= ' '
	}
	return unicode.IsPrint(r) && !invisible(r)
}

// invisible reports the runes that Unicode calls graphic and that show nothing.
func invisible(r rune) bool {
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Variation_Selector) || r == 0x2800
}

// OneLine makes text safe for a line of a log: white space of any kind becomes
// a space, every other rune that is not Printable is spelt out as in Go
// ("\u202e"), so that nothing disappears. Applying it twice changes nothing.
func OneLine(s string) string {
	safe := true
	for i := 0; i < len(s); i++ {
		if s[i] < ' ' || s[i] >= 0x7f {
			safe = false
			break
		}
	}
	if safe {
		return s
	}
	var out strings.Builder
	for i, r := range s {
		switch {
		case r == unicode.ReplacementChar && !strings.HasPrefix(s[i:], string(unicode.ReplacementChar)):
			fmt.Fprintf(&out, `\x%02x`, s[i])
		case Printable(r):
			out.WriteRune(r)
		case unicode.IsSpace(r) && r != 0x85:
			out.WriteByte(' ')
		default:
			out.WriteString(strings.Trim(strconv.QuoteRuneToASCII(r), "'"))
		}
	}
	return out.String()
}

// Clip cuts text to a number of bytes, and says what it cut.
func Clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	cut := limit
	for cut > 0 && !utf8.RuneStart(s[cut]) {
		cut--
	}
	return fmt.Sprintf("%s…(+%d bytes)", s[:cut], len(s)-cut)
}

// Few joins the first of a list, and counts the others.
func Few(words []string, separator string) string {
	const most = 3
	if len(words) <= most {
		return strings.Join(words, separator)
	}
	return fmt.Sprintf("%s and %d more", strings.Join(words[:most], separator), len(words)-most)
}

// ShortName is what people call a controller: "deployment" for "deployment-controller".
func ShortName(controller string) string { return strings.TrimSuffix(controller, "-controller") }
