package approve

import (
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// ask returns the pending approval of a write.
func (w subject) ask() state.Question {
	q := state.Question{Controller: w.controller, Cause: w.cause, Verb: w.verb, Object: w.object, Subresource: w.subresource, Covers: map[state.Answer]string{}}
	for _, a := range []state.Answer{state.AnswerKey, state.AnswerController, state.AnswerVerb} {
		if g, ok := grantFor(a, w); ok {
			q.Covers[a] = g.String()
		}
	}
	return q
}

// clientOf is the user agent for display: on one line, and of limited length.
func clientOf(p guard.Pending) string {
	const most = 160
	text := []rune(state.OneLine(p.Client()))
	if len(text) > most {
		return string(text[:most]) + "…"
	}
	return string(text)
}

// identity identifies writes that were rejected before. Names that the server generates
// are ignored.
func (w subject) identity() string {
	return strings.Join([]string{w.controller, w.cause.Key, w.verb, w.object.Type(), w.object.Namespace, w.object.Name, w.subresource}, " ")
}
