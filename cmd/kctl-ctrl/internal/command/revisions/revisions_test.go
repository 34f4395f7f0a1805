package revisions

import (
	"slices"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestRevisionWords(t *testing.T) {
	items := []state.Revision{{Revision: 3}, {Revision: 4}}
	for _, c := range []struct {
		word string
		two  bool
		want []string
	}{
		{"", true, []string{"3", "4"}},
		{"3", true, []string{"3", "4"}},
		{"3..", true, []string{"3..4"}},
		{"3..", false, []string{"3", "4"}},
	} {
		if got := revisionWords(items, c.word, c.two); !slices.Equal(got, c.want) {
			t.Errorf("%q: %q, want %q", c.word, got, c.want)
		}
	}
}
