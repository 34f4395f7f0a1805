package approve

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Grant is an approval for more than one write. It is valid until it is revoked or the
// session ends.
type Grant struct {
	Answer state.Answer
	// Controller is set for state.AnswerKey and state.AnswerController, Verb for
	// state.AnswerVerb. For state.AnswerKey, Queue and Key are set, or Object if the
	// write has no known key.
	Controller, Queue, Key string
	Object                 state.Ref
	// Verb is the verb of the writes; if the write does not change an object or its
	// status, the resource and subresource follow: "create pods/eviction".
	Verb string
	At   time.Time

	number, question int
	// asked is the controller of the approval that was answered.
	asked string
}

// given is the journal's event for the grant.
func (g Grant) given() state.ApprovalGiven {
	return state.ApprovalGiven{Number: g.number, ID: g.question, Answer: g.Answer, Controller: g.asked, Covers: g.String(), Since: g.At.UTC()}
}

// String describes what it covers: "all writes of deployment-controller for shop/web".
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

// verbOf distinguishes subresources: an approval of creates does not cover evictions,
// which are creates, too.
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

// sameObject compares the object of requests, ignoring the version of its type.
func sameObject(a, b state.Ref) bool {
	return a.Group == b.Group && a.Resource == b.Resource && a.Namespace == b.Namespace && a.Name == b.Name
}

// grantFor returns what an answer about a write covers; false for an answer to one
// write, and for a key if there is none.
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

// Grants are the current approvals that cover more than one write.
func (g *Gate) Grants() []Grant {
	g.mu.Lock()
	defer g.mu.Unlock()
	return slices.Clone(g.grants)
}

// Withdraw revokes all grants; false if there was none. Writes that were already sent
// are not affected.
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
