package approve

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// ask makes the question about a write.
func (w subject) ask() state.Question {
	q := state.Question{Controller: w.controller, Cause: w.cause, Verb: w.verb, Object: w.object, Subresource: w.subresource, Covers: map[state.Answer]string{}}
	for _, a := range []state.Answer{state.AnswerKey, state.AnswerController, state.AnswerVerb} {
		if g, ok := grantFor(a, w); ok {
			q.Covers[a] = g.String()
		}
	}
	return q
}

// clientOf is the user agent for people: on one line, and of a bounded length.
func clientOf(p guard.Pending) string {
	const most = 160
	text := []rune(state.OneLine(p.Client()))
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// identity tells the writes apart that were skipped before. Names that the
// server is to make do not count.
func (w subject) identity() string {
	return strings.Join([]string{w.controller, w.cause.Key, w.verb, w.object.Type(), w.object.Namespace, w.object.Name, w.subresource}, " ")
}
