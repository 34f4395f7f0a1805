package render

import "strings"

const (
	// None stands in a cell for a text that there is none of, as kubectl writes it.
	None = "<none>"
	// NoFigure stands for a number, a duration or a time that there is none of or
	// that is not known, which is not the same as zero.
	NoFigure = "-"
)

// orNoFigure is a figure that comes as text for a cell.
func orNoFigure(text string) string {
	if text == "" {
		return NoFigure
	}
	return text
}

// OrNone is a text for a cell.
func OrNone(text string) string {
	if strings.TrimSpace(text) == "" {
		return None
	}
	return text
}
