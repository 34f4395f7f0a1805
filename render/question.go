package render

import (
	"fmt"
	"io"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// QuestionOptions control the text of a pending approval.
type QuestionOptions struct {
	Color bool
	// Width cuts lines to a number of cells; zero leaves them whole.
	Width int
	// Fields bounds the field changes; zero means no limit.
	Fields int
	// More counts further pending approvals.
	More int
	// Meanwhile describes what waiting for an answer affects.
	Meanwhile string
}

// answerKey is a key with its answer; what is empty if the pending approval has its
// description.
type answerKey struct {
	key    string
	answer state.Answer
	what   string
}

func answerKeys() []answerKey {
	return []answerKey{
		{"y", state.AnswerYes, "approve this write"},
		{"k", state.AnswerKey, ""},
		{"c", state.AnswerController, ""},
		{"v", state.AnswerVerb, ""},
		{"s", state.AnswerSkip, "skip: reject this write; the writer receives an error and retries later"},
	}
}

// AnswerOf returns the answer for a key or a word; false for anything else, and for
// answers that this approval does not offer.
func AnswerOf(q state.Question, word string) (state.Answer, bool) {
	for _, k := range answerKeys() {
		if word == k.key || word == string(k.answer) {
			_, covers := q.Covers[k.answer]
			return k.answer, covers || k.what != ""
		}
	}
	return "", false
}

// Question prints a write that is pending approval: its changes, its cause, and the
// keys. Every line but the last ends with a newline: input follows it.
func Question(w io.Writer, q state.Question, o QuestionOptions) error {
	head := line{{fmt.Sprintf("pending approval %d", q.ID), yellow}, {"  " + ShortName(q.Controller), cyan}}
	if q.Cause.Key != "" {
		head = append(head, span{"  " + q.Cause.Key, bold})
	}
	if o.More > 0 {
		head = append(head, span{fmt.Sprintf("  (%d more pending)", o.More), dim})
	}
	// The write to approve is printed in full, without runs of spaces that could look
	// like another line where the terminal wraps it.
	text := line{{"  " + strings.Join(strings.Fields(Sanitise(state.OneLine(q.Text))), " "), questionStyle(q)}}
	lines := []line{{}, head}
	written := len(lines)
	for i, c := range q.Diff {
		if o.Fields > 0 && i == o.Fields {
			lines = append(lines, line{{fmt.Sprintf("%s… %d more fields: d shows all", diffIndent, len(q.Diff)-i), dim}})
			break
		}
		lines = append(lines, change(c))
	}
	switch {
	case q.Problem != "":
		lines = append(lines, line{{diffIndent + "changed fields unknown: " + q.Problem, yellow}})
	case len(q.Diff) > 0 && q.Approximate:
		lines = append(lines, line{{diffIndent + "(before the server's defaulting and admission)", dim}})
	case len(q.Diff) == 0 && q.Verb != "delete" && q.Verb != "deletecollection":
		lines = append(lines, line{{diffIndent + "(changed fields unknown)", dim}})
	}
	if q.Why != "" {
		lines = append(lines, line{{"  ← " + q.Why, dim}})
	}
	if q.Skipped > 0 {
		lines = append(lines, line{{fmt.Sprintf("  skipped before: %d", q.Skipped), yellow}})
	}
	if o.Meanwhile != "" {
		lines = append(lines, line{{"  " + o.Meanwhile, yellow}})
	}
	for _, k := range answerKeys() {
		what := k.what
		if covers := q.Covers[k.answer]; covers != "" {
			what = covers
		}
		if what != "" {
			lines = append(lines, line{{"  " + k.key, bold}, {"  " + what, plain}})
		}
	}
	lines = append(lines, line{{"  q", bold}, {"  quit: no further writes are sent", plain}})
	var out strings.Builder
	for i, l := range lines {
		if i == written {
			out.WriteString(text.draw(0, o.Color) + "\n")
		}
		out.WriteString(l.draw(o.Width, o.Color) + "\n")
	}
	out.WriteString(line{{fmt.Sprintf("%d> ", q.ID), yellow}}.draw(0, o.Color))
	_, err := io.WriteString(w, out.String())
	return err
}

func questionStyle(q state.Question) style {
	if strings.HasPrefix(q.Verb, "delete") || q.Subresource == "eviction" {
		return red
	}
	return bold
}
