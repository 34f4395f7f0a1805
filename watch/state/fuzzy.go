package state

import "unicode"

// Fuzzy reports whether text has the letters in their order, whatever stands
// between them, in any case.
func Fuzzy(letters, text string) bool {
	want := []rune(letters)
	for _, r := range text {
		if len(want) == 0 {
			return true
		}
		if unicode.ToLower(r) == unicode.ToLower(want[0]) {
			want = want[1:]
		}
	}
	return len(want) == 0
}
