package complete

import (
	"slices"
	"testing"
)

func TestContinueList(t *testing.T) {
	offered := []string{"a", "b", "c"}
	for word, want := range map[string][]string{
		"":     {"a", "b", "c"},
		"b":    {"a", "b", "c"},
		"b,":   {"b,a", "b,c"},
		"b,c,": {"b,c,a"},
	} {
		if got := ContinueList(word, offered); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", word, got, want)
		}
	}
}
