package exit

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/election"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine/child"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/settle"
)

// An answer is printed by its command; a failure is printed here, in lines that no
// terminal and no CI system acts on.
func TestCode(t *testing.T) {
	for name, c := range map[string]struct {
		err  error
		code int
		text string
	}{
		"nothing":         {nil, OK, ""},
		"an answer":       {fmt.Errorf("diff: %w", ErrChanged), Changed, ""},
		"a failure":       {errors.New("read a: no such file"), Failed, "error: read a: no such file\n"},
		"interrupted":     {ErrInterrupted, Interrupted, ""},
		"canceled":        {fmt.Errorf("list pods: %w", context.Canceled), Interrupted, ""},
		"unsettled":       {&settle.UnsettledError{Reasons: []string{"a: 1 ready", "b\x1b[31m"}}, Unsettled, "error: not settled in time: 2 items still in progress\n  - a: 1 ready\n  - b\ufffd[31m\n"},
		"lost":            {fmt.Errorf("run: %w", &election.LostError{}), Lost, ""},
		"a command":       {&child.ExitError{Code: 7}, 7, ""},
		"no such command": {&child.StartError{Code: 127, Err: errors.New("run x: not found")}, 127, "error: run x: not found\n"},
		"several lines":   {errors.New("a\n::error::b"), Failed, "error: a\n  ::error:\\:b\n"},
	} {
		var words strings.Builder
		if code := Code(c.err, &words); code != c.code {
			t.Errorf("%s: code %d, want %d", name, code, c.code)
		}
		if name != "lost" && words.String() != c.text {
			t.Errorf("%s: it says %q, want %q", name, words.String(), c.text)
		}
	}
}
