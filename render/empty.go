package render

import "strings"

const (
	// None stands in a cell for a missing text, as in kubectl.
	None = "<none>"
	// NoFigure stands for a number, duration or time that is missing or unknown, which
	// differs from zero.
	NoFigure = "-"
)

// orNoFigure returns a figure as text, or NoFigure.
func orNoFigure(text string) string {
	if text == "" {
		return NoFigure
	}
	return text
}

// OrNone returns a text, or None.
func OrNone(text string) string {
	if strings.TrimSpace(text) == "" {
		return None
	}
	return text
}
