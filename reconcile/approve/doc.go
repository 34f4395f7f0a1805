// Package approve decides which writes of controllers are sent: by a policy, by approval of
// the user, or both.
//
//	gate := approve.New(approve.Options{Policy: policy, Ask: true, Recorder: hub})
//	g, err := guard.New(guard.Options{…, Before: gate.Before})
//	…
//	for _, q := range gate.Questions() {
//		err := gate.Answer(q.ID, state.AnswerYes)
//	}
//
// # What happens to a write
//
//	approved  a rule of the policy allows it, or an approval that was given for
//	          more than one write covers it
//	pending   nothing allows it, and the gate asks the user: until it is answered, or
//	          its request is cancelled
//	skipped   nothing allows it, and the gate does not ask; or the user skips it
//
// A skipped write is answered like an internal error of the server: status 500, reason
// InternalError, no Retry-After; see Skipped. Every controller treats that as a failure and
// backs off. Other answers would not work: upstream's namespace controller repeats a request
// at once and without end if the answer is Conflict (k8s.io/kubernetes v1.37.1
// pkg/controller/namespace/deletion), others treat a Conflict as success, and client-go itself
// repeats a request whose response has a Retry-After.
//
// A write that was pending is checked before it is sent: the object, or the owner of an object
// to create, is read once more (guard.Pending.Unchanged). If it has changed so that the
// approval no longer applies, or if the circuit breaker was tripped meanwhile, the write is
// answered with the same error, and the next attempt of the controller needs a new approval.
//
// # Events
//
// Events need no approval: controllers do not wait for them, and they describe a write. An
// Event is sent if a rule allows it, or if the last write of its controller for the object
// that it is about was approved. It does not count towards the limits. A delete of Events is a
// write like any other.
//
// # Programs of the user
//
// The user agent (state.Question.Client) is the only information about why a controller behind
// a proxy writes: an approval for a key is one for the object there. Options.Unasked approves
// the writes that it needs to run, for example its election. They are recorded with the
// reason, and do not count towards the limits. The circuit breaker holds them like all others.
//
// # Limits and the circuit breaker
//
// The write that would exceed a limit of the policy trips the circuit breaker. Then no write is
// sent, no matter who approved it: all of them wait, and Events are skipped, until Release,
// which also resets the counts of both limits. An approved write need not be approved again.
// The number of objects that a delete of a collection deletes is not known before it is sent,
// so a policy may not both allow it and limit deletes.
//
// # The record
//
// Pending approvals, answers and the circuit breaker are recorded in the journal. The record of
// a write names its approver (state.WriteFinished.Approval); a skipped write is recorded as
// refused, with the reason.
//
// A Gate is safe for concurrent use and starts no goroutine. It does not check leases: whether
// one is held is checked after Before, when the request is sent (guard.Gate).
package approve
