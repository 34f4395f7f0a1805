package approve

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Grant is an answer for more than one write. It holds until it is withdrawn or
// the session ends.
type Grant struct {
	Answer state.Answer
	// Controller is set with state.AnswerKey and state.AnswerController; Verb with
	// state.AnswerVerb. With state.AnswerKey go Queue and Key, or Object where the
	// write is made for no key that is known.
	Controller, Queue, Key string
	Object                 state.Ref
	// Verb is that of the writes; where the write is no change of an object or
	// of its status, the resource and subresource follow: "create pods/eviction".
	Verb string
	At   time.Time

	number, question int
	// asked is the controller of the question that was answered.
	asked string
}

// given is the grant for the journal.
func (g Grant) given() state.ApprovalGiven {
	return state.ApprovalGiven{Number: g.number, ID: g.question, Answer: g.Answer, Controller: g.asked, Covers: g.String(), Since: g.At.UTC()}
}

// String says what it covers: "every write of deployment-controller for shop/web".
func (g Grant) String() string {
	switch g.Answer {
	case state.AnswerKey:
		if g.Key == "" {
			return fmt.Sprintf("all writes of %s to %s %s", g.Controller, g.Object.Type(), g.Object.Key())
		}
		return fmt.Sprintf("all writes of %s for %s", g.Controller, g.Key)
	case state.AnswerController:
		return "all writes of " + g.Controller
	}
	return fmt.Sprintf("all %s requests of any controller", g.Verb)
}

// verbOf keeps apart what subresources make of a verb: who approves creates has
// not approved evictions, which are creates too.
func verbOf(w subject) string {
	if w.subresource == "" || w.subresource == "status" {
		return w.verb
	}
	return w.verb + " " + w.object.Type() + "/" + w.subresource
}

func (g Grant) covers(w subject) bool {
	switch g.Answer {
	case state.AnswerKey:
		if g.Key == "" {
			return w.cause.Kind != state.CauseSync && g.Controller == w.controller && w.object.Name != "" && sameObject(g.Object, w.object)
		}
		return w.cause.Kind == state.CauseSync && g.Controller == w.controller && g.Queue == w.cause.Queue && g.Key == w.cause.Key
	case state.AnswerController:
		return g.Controller == w.controller
	case state.AnswerVerb:
		return g.Verb == verbOf(w)
	}
	return false
}

// sameObject compares what a request names: versions of a type are one type.
func sameObject(a, b state.Ref) bool {
	return a.Group == b.Group && a.Resource == b.Resource && a.Namespace == b.Namespace && a.Name == b.Name
}

// grantFor is what an answer to a question about a write covers; false for an
// answer to one write, and for a key where there is none.
func grantFor(a state.Answer, w subject) (Grant, bool) {
	switch a {
	case state.AnswerKey:
		switch {
		case w.cause.Kind == state.CauseSync && w.cause.Key != "":
			return Grant{Answer: a, Controller: w.controller, Queue: w.cause.Queue, Key: w.cause.Key}, true
		case w.cause.Kind != state.CauseSync && w.controller != "" && w.object.Name != "":
			return Grant{Answer: a, Controller: w.controller, Object: w.object}, true
		}
		return Grant{}, false
	case state.AnswerController:
		return Grant{Answer: a, Controller: w.controller}, w.controller != ""
	case state.AnswerVerb:
		return Grant{Answer: a, Verb: verbOf(w)}, true
	}
	return Grant{}, false
}

// Grants are the answers in force that cover more than one write.
func (g *Gate) Grants() []Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.grants)
}

// Withdraw takes back all grants; false where there was none. What they have let
// out is out.
func (g *Gate) Withdraw() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.grants) == 0 {
		return false
	}
	g.record(state.ApprovalsWithdrawn{Count: len(g.grants), Covered: grantList(g.grants)})
	g.grants = nil
	g.notify()
	return true
}

func grantList(grants []Grant) string {
	texts := make([]string, len(grants))
	for i, g := range grants {
		texts[i] = g.String()
	}
	return strings.Join(texts, "; ")
}
