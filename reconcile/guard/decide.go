package guard

import (
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Action is what the guard does with a request.
type Action string

const (
	// ActionPass lets a request through unseen: it changes nothing.
	ActionPass Action = "pass"
	// ActionSend sends a write as it is.
	ActionSend Action = "send"
	// ActionForward lets a port-forward to the pod of Options.PortForward
	// through.
	ActionForward Action = "forward"
	// ActionSendDry sends a write with dryRun=All.
	ActionSendDry Action = "send with dryRun=All"
	// ActionAnswer answers a write in this process.
	ActionAnswer Action = "answer"
	// ActionRefuse answers with a refusal.
	ActionRefuse Action = "refuse"
)

// Verdict is a decision with, for refusals, its reason: half a sentence that
// follows a colon.
type Verdict struct {
	Action Action
	Reason string
}

func refuse(reason string) Verdict { return Verdict{Action: ActionRefuse, Reason: reason} }

// forwards reports whether r opens a port-forward to the pod that it is allowed
// to; leave looks at the rest of the request.
func (g *Guard) forwards(r request.Request) bool {
	pod := g.portForward
	return pod != nil && g.mode == state.ModeReadOnly && (r.Kind == request.KindConnect || r.Kind == request.KindUpgrade) &&
		r.Verb == "connect" && r.Subresource == "portforward" &&
		r.Object == state.Ref{Version: "v1", Resource: "pods", Namespace: pod.Namespace, Name: pod.Name}
}

// answersLocally reports whether Options.Local answers what was decided to be
// allowed.
func (g *Guard) answersLocally(r request.Request, v Verdict) bool {
	return g.local != nil && v.Action != ActionRefuse && (g.mode == state.ModeDryRunClient || g.mode == state.ModeDryRunServer) &&
		(r.Kind == request.KindRead || r.Kind == request.KindWrite) && g.local.Takes(r)
}

// Decide judges a request by its kind, verb, group, resource and subresource
// in the guard's mode. It looks at neither bodies nor addresses: a request may
// still be refused when its body cannot be made into a dry run.
func (g *Guard) Decide(r request.Request) Verdict {
	switch r.Kind {
	case request.KindRead, request.KindReview:
		return Verdict{Action: ActionPass}
	case request.KindConnect, request.KindUpgrade:
		if g.forwards(r) {
			return Verdict{Action: ActionForward}
		}
		if r.Kind == request.KindUpgrade {
			return refuse("it asks for another protocol, which the guard cannot read")
		}
		return refuse("it opens a way into a node, pod or service, and no mode can tell what is done there")
	case request.KindWrite:
	default:
		return refuse("the guard does not know this request (" + r.Why + ") and refuses what it does not know")
	}

	isToken := r.Subresource == "token"
	switch g.mode {
	case state.ModeActive:
		return Verdict{Action: ActionSend}
	case state.ModeDryRunClient:
		if isToken {
			return refuse("a made-up token would be useless, and a real one is a credential")
		}
		return Verdict{Action: ActionAnswer}
	case state.ModeDryRunServer:
		switch {
		case isToken:
			return refuse("a token request ignores dryRun and hands out a real credential")
		case !g.trustsDryRun(r.Object.Group):
			return refuse("the API group " + r.Object.Group + " may be served by an aggregated API server, which may ignore dryRun")
		}
		return Verdict{Action: ActionSendDry}
	default:
		return refuse("this session only reads")
	}
}
