package leases

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// sortedLeases are the rows of a list of leases, as long as none of them expires.
type sortedLeases struct {
	edition int
	filter  string
	nodes   bool
	own     string
	// They are those between two times.
	from, until time.Time
	items       []leaseRow
	expired     int
}

// leaseRow is a lease, or all those of nodes in one row.
type leaseRow struct {
	state.LeaseStatus
	grouped int
	words   string
}

func (p *Page) rows(e *page.Env) widget.Slice[leaseRow] {
	return widget.Slice[leaseRow]{Items: p.sorted.items, IDOf: leaseRow.id, CellsOf: func(r leaseRow) []widget.Cell { return p.cells(e, r.at(e.Now.Add(p.ahead))) }}
}

// at judges the lease of a row.
func (r leaseRow) at(now time.Time) leaseRow {
	r.LeaseStatus = r.At(now)
	return r
}

// sort makes the rows, where they may be others now.
func (p *Page) sort(e *page.Env) {
	now, own := e.Now.Add(p.ahead), ownLease(e)
	if s := &p.sorted; s.edition == p.edition && s.filter == p.Filter.Text && s.nodes == p.nodes && s.own == own &&
		!now.Before(s.from) && (s.until.IsZero() || now.Before(s.until)) {
		return
	}
	s := sortedLeases{edition: p.edition, filter: p.Filter.Text, nodes: p.nodes, own: own, from: now}
	group := leaseRow{words: ""}
	counts := map[state.LeaseState]int{}
	for _, l := range p.leases {
		l = l.At(now)
		switch {
		case l.State == state.LeaseExpired:
			s.expired++
		case l.State == state.LeaseHeld && (s.until.IsZero() || l.ExpiryTime.Before(s.until)):
			s.until = l.ExpiryTime
		}
		if !p.Filter.MatchesAll() && !p.Filter.MatchesRow(p.list.Columns, p.cells(e, leaseRow{LeaseStatus: l}), l.Ref().Key(), l.Identity, string(l.State)) {
			continue
		}
		if l.Class == state.LeaseOfNode && !p.nodes {
			if group.grouped == 0 {
				group.LeaseStatus = l
			}
			if l.UntilExpiry != nil && (group.UntilExpiry == nil || *l.UntilExpiry < *group.UntilExpiry) {
				group.LeaseStatus = l
			}
			group.grouped++
			counts[l.State]++
			continue
		}
		s.items = append(s.items, leaseRow{LeaseStatus: l})
	}
	slices.SortStableFunc(s.items, func(a, b leaseRow) int {
		return cmp.Compare(leaseOrder(a.LeaseStatus, own), leaseOrder(b.LeaseStatus, own))
	})
	if group.grouped > 0 {
		for _, judged := range []state.LeaseState{state.LeaseExpired, state.LeaseHeld, state.LeaseFree, state.LeaseUnknown} {
			if counts[judged] > 0 {
				group.words = strings.TrimPrefix(group.words+fmt.Sprintf(", %d %s", counts[judged], judged), ", ")
			}
		}
		s.items = append(s.items, group)
	}
	if soonest := now.Add(leasesEvery); !s.until.IsZero() && s.until.Before(soonest) {
		s.until = soonest
	}
	p.sorted = s
}

// leasesEvery is the least time between two sorts of leases that expire: that they
// have is on their rows at once.
const leasesEvery = 500 * time.Millisecond

func (r leaseRow) id() string {
	if r.grouped > 0 {
		return "nodes"
	}
	return r.Ref().Key()
}

// leaseOrder puts our own first, then what has expired, then the control plane's.
func leaseOrder(l state.LeaseStatus, own string) int {
	switch {
	case own != "" && l.Ref().Key() == own:
		return -1
	case l.State == state.LeaseExpired:
		return 0
	case l.Class == state.LeaseOfControlPlane:
		return 1
	case l.Class == state.LeaseOfWorkload:
		return 2
	}
	return 3
}

func (p *Page) cells(e *page.Env, r leaseRow) []widget.Cell {
	renewed, expires := "", ""
	if r.SinceRenew != nil {
		renewed = widget.Age(seconds(*r.SinceRenew))
	}
	if r.UntilExpiry != nil && r.State == state.LeaseHeld {
		expires = "in " + widget.Age(seconds(*r.UntilExpiry))
	} else if r.UntilExpiry != nil && r.State == state.LeaseExpired {
		expires = widget.Age(-seconds(*r.UntilExpiry)) + " ago"
	}
	if r.grouped > 0 {
		return []widget.Cell{widget.Word(r.Namespace, widget.Dim), widget.Plain(fmt.Sprintf("%d nodes", r.grouped)), widget.Word(r.words, widget.Dim), widget.Word("", widget.Dim), widget.Plain(renewed), widget.Plain(expires)}
	}
	duration := ""
	if r.Duration > 0 {
		duration = strconv.Itoa(int(r.Duration)) + "s"
	}
	judged, holder := leaseState(r.LeaseStatus), holderText(r.LeaseStatus)
	if ours, is := ownState(e, r.LeaseStatus); is {
		judged = ours
		if r.Identity != "" && r.Identity == e.Snap.Election.Identity {
			holder = "this process"
		}
	}
	return []widget.Cell{
		widget.Word(r.Namespace, widget.Dim), widget.Plain(r.Name), widget.Plain(holder), judged,
		widget.Plain(renewed), widget.Plain(expires), widget.Word(duration, widget.Dim), widget.Plain(strconv.Itoa(int(r.Transitions))),
	}
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

func leaseState(l state.LeaseStatus) widget.Cell {
	switch l.State {
	case state.LeaseHeld:
		return widget.Word("held", widget.Good)
	case state.LeaseExpired:
		return widget.Word("EXPIRED", widget.Bad)
	case state.LeaseFree:
		return widget.Word("free", widget.Warn)
	}
	return widget.Word(string(l.State), widget.Dim)
}

// holderText is the pod or node behind a lease, or what the holder calls itself.
func holderText(l state.LeaseStatus) string {
	switch {
	case l.Identity == "":
		return ""
	case l.Holder == nil:
		return state.HolderName(l.Identity)
	case l.Holder.Resource == "nodes":
		return "node/" + l.Holder.Name + state.HolderMark(l.Identity)
	case l.Holder.Node != "":
		return "pod/" + l.Holder.Name + " on " + l.Holder.Node + state.HolderMark(l.Identity)
	}
	return "pod/" + l.Holder.Name + state.HolderMark(l.Identity)
}
