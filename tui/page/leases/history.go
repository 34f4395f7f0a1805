package leases

import (
	"fmt"
	"slices"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxLeaseHistory bounds what is remembered of leases.
const maxLeaseHistory = 500

// leaseHistory is what became of leases while they were watched.
type leaseHistory struct {
	known  map[string]state.LeaseStatus
	events []leaseEvent
	// rivals is the latest case of two holders at a time.
	rivals   string
	rivalsAt time.Time
}

type leaseEvent struct {
	at    time.Time
	lease string
	text  string
	bad   bool
}

// with is the history after another list. It does not change h.
func (h leaseHistory) with(leases []state.LeaseStatus, now time.Time) leaseHistory {
	h.events = slices.Clone(h.events)
	h.see(leases, now)
	return h
}

// see compares a list with the one before.
func (h *leaseHistory) see(leases []state.LeaseStatus, now time.Time) {
	first := h.known == nil
	known := make(map[string]state.LeaseStatus, len(leases))
	for _, l := range leases {
		name := l.Ref().Key()
		l = l.At(now)
		known[name] = l
		had, ok := h.known[name]
		switch {
		case first:
		case !ok:
			h.add(now, name, "seen first, "+heldBy(l), false)
		default:
			h.compare(now, name, had, l)
		}
	}
	for name := range h.known {
		if _, still := known[name]; !still {
			h.add(now, name, "deleted", true)
		}
	}
	h.known = known
}

func heldBy(l state.LeaseStatus) string {
	if l.Identity == "" {
		return "free"
	}
	return "held by " + holderText(l)
}

func (h *leaseHistory) compare(now time.Time, name string, had, l state.LeaseStatus) {
	switch {
	case had.Identity != l.Identity && had.Identity != "" && l.Identity != "":
		h.add(now, name, fmt.Sprintf("went from %s to %s", holderText(had), holderText(l)), false)
		h.takeover(now, name, had, l)
	case had.Identity != l.Identity && l.Identity == "":
		h.add(now, name, "released by "+holderText(had), false)
	case had.Identity != l.Identity:
		h.add(now, name, "taken by "+holderText(l), false)
	case had.State != state.LeaseExpired && l.State == state.LeaseExpired:
		h.add(now, name, "expired: "+holderText(l)+" did not renew it", true)
	case had.State == state.LeaseExpired && l.State == state.LeaseHeld:
		h.add(now, name, "renewed late by "+holderText(l), true)
	}
}

// takeover raises the alarm where a lease changed hands before it had run out and
// without a release in between: the former holder may still act. Node leases are
// never taken over.
func (h *leaseHistory) takeover(now time.Time, name string, had, l state.LeaseStatus) {
	if had.Duration <= 0 || l.AcquireTime.IsZero() || l.Class == state.LeaseOfNode {
		return
	}
	ends := had.RenewTime.Add(time.Duration(had.Duration) * time.Second)
	if left := ends.Sub(l.AcquireTime); left > 0 {
		h.rivals = fmt.Sprintf("TWO CLAIM TO LEAD: %s took %s %s before the time of %s was over", holderText(l), name, state.Short(left.Round(100*time.Millisecond)), holderText(had))
		h.rivalsAt = now
		h.add(now, name, h.rivals, true)
	}
}

func (h *leaseHistory) add(at time.Time, lease, text string, bad bool) {
	if len(h.events) >= maxLeaseHistory {
		h.events = slices.Delete(h.events, 0, 1)
	}
	h.events = append(h.events, leaseEvent{at, lease, text, bad})
}

// alarm is the case of two holders, for a minute; else empty.
func (h *leaseHistory) alarm(now time.Time) string {
	if h.rivals == "" || now.Sub(h.rivalsAt) > page.AlarmFor {
		return ""
	}
	return h.rivals
}

// lines are the events of some leases, newest first.
func (h *leaseHistory) lines(e *page.Env, of func(lease string) bool, n int) []widget.Line {
	var out []widget.Line
	for i := len(h.events) - 1; i >= 0 && len(out) < n; i-- {
		ev := h.events[i]
		if of(ev.lease) {
			out = append(out, widget.Line{widget.Dim.Of(" " + e.Clock(ev.at) + "  "), widget.Bold.Of(ev.lease + "  "), widget.BadIf(ev.bad).Of(ev.text)})
		}
	}
	if out == nil {
		return []widget.Line{{widget.Dim.Of(" nothing but renewals")}}
	}
	return out
}
