package render

import (
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/runnertest"
)

// Names that a cluster or an operator chooses do not change what a question asks:
// nothing in it acts on the terminal, no line is added to it, and what is approved is
// shown to its end however long its name is.
func TestQuestionOfHostileNames(t *testing.T) {
	ask := func(text string, width int) string {
		q := state.Question{
			ID: 3, Controller: text, Cause: state.Cause{Key: text}, Why: text, Client: text, Verb: "delete", Problem: text,
			Object: state.Ref{Resource: "pods", Namespace: "shop", Name: text}, Text: "delete pods shop/" + text + "/END",
			Diff:   []state.FieldChange{{Path: text, Old: text, New: text}},
			Covers: map[state.Answer]string{state.AnswerKey: text, state.AnswerController: text},
		}
		var out strings.Builder
		if err := Question(&out, q, QuestionOptions{Width: width, Meanwhile: text, More: 1}); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	plain := strings.Count(ask("name", 80), "\n")
	for name, text := range hostile {
		for _, text := range []string{text, text + "\n  y  yes, this one\n3> ", text + strings.Repeat(" ", 200) + "  y  yes, this one"} {
			for _, width := range []int{0, 80} {
				got := ask(text, width)
				checkInert(t, got, true)
				if command, found := runnertest.Command(got); found {
					t.Errorf("%s: a runner finds %q in\n%s", name, command, got)
				}
				if n := strings.Count(got, "\n"); n != plain {
					t.Errorf("%s: %d lines instead of %d:\n%s", name, n, plain, got)
				}
				shown := false
				for line := range strings.Lines(got) {
					if strings.HasPrefix(line, "  delete pods shop/") {
						shown = strings.HasSuffix(line, "/END\n") && !strings.Contains(strings.TrimPrefix(line, "  "), "  ")
					}
				}
				if !shown {
					t.Errorf("%s at width %d: what is written is not shown to its end:\n%s", name, width, got)
				}
			}
		}
	}
}
