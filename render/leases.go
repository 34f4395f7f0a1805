package render

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// LeaseOptions control a table of leases.
type LeaseOptions struct {
	Times
	// Wide adds the columns of -o wide.
	Wide bool
	// Context and Namespace add a column each.
	Context, Namespace bool
	// GroupNodes merges the leases of nodes into one row per context, except for
	// expired ones, as long as there are few.
	GroupNodes bool
	// Changes, if not nil, adds a column with the last change of each lease.
	Changes []string
}

// maxExpiredNodes is how many expired node leases get a row of their own among grouped
// ones.
const maxExpiredNodes = 10

// Leases is a table of leases, in the given order. Their State must be set.
func Leases(list []state.LeaseStatus, opts LeaseOptions) Table {
	var t Table
	add := func(columns ...Column) { t.Columns = append(t.Columns, columns...) }
	if opts.Context {
		add(Column{Title: "CONTEXT", Max: 40})
	}
	if opts.Namespace {
		add(Column{Title: "NAMESPACE"})
	}
	add(Column{Title: "NAME"}, Column{Title: "HOLDER", Max: 80}, Column{Title: "STATE"}, Column{Title: "RENEWED"},
		Column{Title: "EXPIRES"}, Column{Title: "DURATION", Right: true}, Column{Title: "TRANSITIONS", Right: true})
	if opts.Wide {
		add(Column{Title: "ACQUIRED"}, Column{Title: "NODE"}, Column{Title: "IDENTITY"}, Column{Title: "STRATEGY"}, Column{Title: "RESOLVED BY"})
	}
	if opts.Changes != nil {
		add(Column{Title: "CHANGE", Max: 120})
	}
	grouped := groupNodes(&list, opts.GroupNodes)
	row := func(context, namespace string, cells ...string) {
		var lead []string
		if opts.Context {
			lead = append(lead, context)
		}
		if opts.Namespace {
			lead = append(lead, namespace)
		}
		t.Rows = append(t.Rows, append(lead, cells...))
	}
	for i, l := range list {
		times := judged(l, opts.Times)
		cells := []string{
			l.Name, leaseHolder(l), string(l.State), times.Since(l.RenewTime), times.Until(l.ExpiryTime),
			wholeSeconds(l.Duration), strconv.Itoa(int(l.Transitions)),
		}
		if opts.Wide {
			cells = append(cells, times.Since(l.AcquireTime), nodeOf(l), OrNone(l.Identity), OrNone(l.Strategy), resolvedBy(l))
		}
		if opts.Changes != nil {
			cells = append(cells, opts.Changes[i])
		}
		row(l.Context, l.Namespace, cells...)
	}
	for _, g := range grouped {
		times := judged(g.sample, opts.Times)
		cells := []string{counted(g.held+g.others, "node lease", "node leases"), None, g.states(), times.Since(g.oldest), times.Until(g.first), NoFigure, NoFigure}
		if opts.Wide {
			cells = append(cells, NoFigure, None, None, None, None)
		}
		row(g.context, g.namespace, cells...)
	}
	return t
}

func wholeSeconds(n int32) string {
	if n == 0 {
		return NoFigure
	}
	return strconv.Itoa(int(n)) + "s"
}

// leaseHolder is the pod or node that holds a lease; if none was found, the identity
// without its UUID.
func leaseHolder(l state.LeaseStatus) string {
	switch {
	case l.Identity == "":
		return None
	case l.Holder == nil:
		return OrNone(state.HolderName(l.Identity))
	case l.Holder.Resource == "nodes":
		return "node/" + l.Holder.Name + state.HolderMark(l.Identity)
	case l.Holder.Namespace != l.Namespace:
		return "pod/" + l.Holder.Name + " in " + l.Holder.Namespace + state.HolderMark(l.Identity)
	}
	return "pod/" + l.Holder.Name + state.HolderMark(l.Identity)
}

func nodeOf(l state.LeaseStatus) string {
	if l.Holder == nil {
		return None
	}
	if l.Holder.Resource == "nodes" {
		return OrNone(l.Holder.Name)
	}
	return OrNone(l.Holder.Node)
}

func resolvedBy(l state.LeaseStatus) string {
	switch {
	case l.Identity == "":
		return None
	case l.Holder == nil:
		return "no pod or node found"
	}
	return l.Holder.By
}

// judged counts ages up to the time at which the lease's state was determined, by the
// clock of its cluster.
func judged(l state.LeaseStatus, times Times) Times {
	if l.SinceRenew != nil {
		times.Now = l.RenewTime.Add(time.Duration(*l.SinceRenew * float64(time.Second)))
	}
	return times
}

// nodeGroup is the summary of a context's node leases.
type nodeGroup struct {
	context, namespace    string
	held, expired, others int
	oldest, first         time.Time
	// sample is one of them, for the time at which their state was determined.
	sample state.LeaseStatus
}

func (g nodeGroup) states() string {
	text := fmt.Sprintf("%d held", g.held)
	if g.expired > 0 {
		text += fmt.Sprintf(", %d expired", g.expired)
	}
	if rest := g.others - g.expired; rest > 0 {
		text += fmt.Sprintf(", %d other", rest)
	}
	return text
}

// groupNodes removes the leases of nodes from the list. A few expired ones stay,
// because users look for them.
func groupNodes(list *[]state.LeaseStatus, group bool) []nodeGroup {
	if !group {
		return nil
	}
	expired := map[string]int{}
	for _, l := range *list {
		if l.Class == state.LeaseOfNode && l.State == state.LeaseExpired {
			expired[l.Context]++
		}
	}
	var kept []state.LeaseStatus
	var groups []nodeGroup
	for _, l := range *list {
		if l.Class != state.LeaseOfNode || l.State == state.LeaseExpired && expired[l.Context] <= maxExpiredNodes {
			kept = append(kept, l)
			continue
		}
		i := slices.IndexFunc(groups, func(g nodeGroup) bool { return g.context == l.Context })
		if i < 0 {
			i = len(groups)
			groups = append(groups, nodeGroup{context: l.Context, namespace: l.Namespace})
		}
		groups[i].add(l)
	}
	*list = kept
	return groups
}

func (g *nodeGroup) add(l state.LeaseStatus) {
	g.sample = l
	switch l.State {
	case state.LeaseHeld:
		g.held++
	case state.LeaseExpired:
		g.expired++
		g.others++
	default:
		g.others++
	}
	if !l.RenewTime.IsZero() && (g.oldest.IsZero() || l.RenewTime.Before(g.oldest)) {
		g.oldest = l.RenewTime
	}
	if !l.ExpiryTime.IsZero() && (g.first.IsZero() || l.ExpiryTime.Before(g.first)) {
		g.first = l.ExpiryTime
	}
}

// LeaseCandidates is a table of the candidates of coordinated leader election.
func LeaseCandidates(list []state.LeaseCandidate, opts LeaseOptions) Table {
	var t Table
	if opts.Context {
		t.Columns = append(t.Columns, Column{Title: "CONTEXT", Max: 40})
	}
	if opts.Namespace {
		t.Columns = append(t.Columns, Column{Title: "NAMESPACE"})
	}
	t.Columns = append(t.Columns, Column{Title: "CANDIDATE"}, Column{Title: "LEASE"}, Column{Title: "BINARY"},
		Column{Title: "EMULATES"}, Column{Title: "STRATEGY"}, Column{Title: "PINGED"}, Column{Title: "RENEWED"})
	for _, c := range list {
		var row []string
		if opts.Context {
			row = append(row, c.Context)
		}
		if opts.Namespace {
			row = append(row, c.Namespace)
		}
		t.Rows = append(t.Rows, append(row, c.Name, c.Lease, OrNone(c.BinaryVersion), OrNone(c.EmulationVersion), OrNone(c.Strategy), opts.Since(c.PingTime), opts.Since(c.RenewTime)))
	}
	return t
}
