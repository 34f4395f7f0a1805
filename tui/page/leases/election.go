package leases

import (
	"fmt"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// ownLease is the key of the lease that this process stands for, or that of the
// recording did; empty where there was none.
func ownLease(e *page.Env) string {
	if in := e.Snap.Election; in != nil {
		return in.Lease.Key()
	}
	return ""
}

// ownState is how this process stands, in a word for the row of its lease.
func ownState(e *page.Env, l state.LeaseStatus) (widget.Cell, bool) {
	in := e.Snap.Election
	if in == nil || in.Lease.Key() != l.Ref().Key() {
		return nil, false
	}
	switch in.Phase {
	case state.ElectionCandidate:
		return widget.Word("WE WAIT", widget.Warn), true
	case state.ElectionAcquired:
		return widget.Word("WE LEAD", widget.Good), true
	case state.ElectionRenewedLate:
		return widget.Word("WE LEAD", widget.Warn), true
	case state.ElectionLost:
		return widget.Word("WE LOST IT", widget.Bad), true
	}
	return nil, false
}

// ownElection says above the leases how this process stands: nothing where it never
// stood for election.
func ownElection(e *page.Env, w int) []widget.Line {
	in := e.Snap.Election
	if in == nil {
		return nil
	}
	we := "we are"
	if e.Player != nil {
		we = "it is"
	}
	style := widget.Warn
	var text string
	switch in.Phase {
	case state.ElectionCandidate:
		text = we + " candidate since " + e.Clock(in.At)
		if in.Holder == "" {
			text += "; nobody leads"
		} else {
			text += "; " + page.LeaderName(in.Holder) + " leads"
			if !in.Since.IsZero() {
				text += " since " + e.Clock(in.Since)
			}
		}
	case state.ElectionAcquired:
		text, style = "leading since "+e.Clock(page.Acquired(e.Snap)), widget.Good
	case state.ElectionRenewedLate:
		text = "leading since " + e.Clock(page.Acquired(e.Snap)) + "; renewed late at " + e.Clock(in.At) + ", " + state.Short(in.Gap) + " after the renewal before"
	case state.ElectionLost:
		text, style = "LOST at "+e.Clock(in.At), widget.Bad
		if in.Reason != "" {
			text += ": " + in.Reason
		}
	default:
		text, style = string(in.Phase)+" at "+e.Clock(in.At), widget.Text
	}
	out := widget.Indent(widget.Wrapped("Our election for "+in.Lease.Key()+": "+text+".", max(min(w, 120)-2, 20), style), 1)
	const most = 3
	out = out[:min(len(out), most)]
	if e.Standing().Phase == state.ActiveLeading {
		left := e.Latest.WritesAllowedFor(e.Now)
		out = append(out, widget.Line{widget.WarnIf(left < hurry).Of(" " + gateLeft(left))})
	}
	return out
}

// head is what stands above the leases.
func head(e *page.Env, w int) []widget.Line {
	ours := ownElection(e, w)
	if len(ours) > 0 {
		ours = append(ours, widget.Line{})
	}
	return ours
}

// hurry is how little time until the gate shuts is worth a warning: the renewals
// of an untroubled leader leave more, with kube-controller-manager's timing.
const hurry = 5 * time.Second

// ownHistory are the steps of this process in the election for a lease, newest
// first, as far as the journal's notes go back.
func ownHistory(e *page.Env, lease string, n int) []widget.Line {
	var out []widget.Line
	for entry := range e.Snap.Notes.Backward() {
		step, ok := entry.Event.(state.ElectionChanged)
		if !ok || lease != "" && step.Lease.Key() != lease {
			continue
		}
		if len(out) >= n {
			break
		}
		out = append(out, widget.Line{widget.Dim.Of(" " + e.Clock(entry.At) + "  "), widget.BadIf(step.Phase == state.ElectionLost || step.Phase == state.ElectionRenewedLate).Of(state.DescribeParts(step).Text)})
	}
	return out
}

// gateLeft is for how long writes may leave still, in words.
func gateLeft(left time.Duration) string {
	if left <= 0 {
		return "Our writes are blocked."
	}
	return fmt.Sprintf("Our writes are blocked in %.1fs, unless the lease is renewed before.", left.Seconds())
}
