// Package approve decides which writes of the loops may leave: by a policy, by
// asking somebody, or both.
//
//	gate := approve.New(approve.Options{Policy: policy, Ask: true, Recorder: hub})
//	g, err := guard.New(guard.Options{…, Before: gate.Before})
//	…
//	for _, q := range gate.Questions() {
//		err := gate.Answer(q.ID, state.AnswerYes)
//	}
//
// # What becomes of a write
//
//	let out   a rule of the policy allows it, or an answer that was given for
//	          more than one write covers it
//	waits     nothing allows it, and the gate asks: until it is answered, or its
//	          request is given up
//	skipped   nothing allows it, and the gate does not ask; or the answer says so
//
// A skipped write is answered as a server that has an error inside would: status
// 500, reason InternalError, no Retry-After; see Skipped. Every loop takes that
// for a failure and backs off. Other words would not do: upstream's namespace
// controller repeats a request at once and for ever when the answer is Conflict
// (k8s.io/kubernetes v1.37.1 pkg/controller/namespace/deletion), others take a
// Conflict as done, and client-go repeats by itself what has a Retry-After.
//
// A write that has waited is looked at again before it leaves: the object, or of a
// create its owner, is read once more (guard.Pending.Unchanged). Where it has changed
// so that the answer was given for something else, or the brake was put on meanwhile,
// the write is answered with the same error, and the loop's next attempt is a new
// question.
//
// # Events
//
// Nobody is asked about Events: the loops do not wait for them, and they say
// what a write was. An Event leaves where a rule allows it, or where the last
// write of its controller for the object that it is about was let out. It counts
// in no limit. A delete of Events tells nothing, and is a write like any other.
//
// # Programs of the user's own
//
// A controller behind a proxy tells why it writes by nothing but its user agent
// (state.Question.Client): an answer for a key is one for the object there.
// Options.Unasked lets out what it must write to live, its election for one; that
// is recorded with its reason, counts in no limit, and stands at the brake like
// everything else.
//
// # Limits and the brake
//
// The write that would pass a limit of the policy puts the brake on. Then no
// write leaves, whoever allowed it: all of them wait, and Events are skipped,
// until Release, with which the counts of both limits begin anew. Whoever has
// approved a write need not do so twice. What a delete of a collection takes is
// not known before it is sent, so a policy may not allow it and limit deletes.
//
// # The record
//
// Questions, answers and the brake are notes of the journal. A write's record
// says who or what let it out (state.WriteFinished.Approval); one that was
// skipped is recorded as refused, with the reason.
//
// A Gate is safe for concurrent use and starts no goroutine. It does not know of
// leases: that one is held is checked after Before, where the request leaves
// (guard.Gate).
package approve
