// Package leases is page 7: the leases, their holders and time to expiry, and the
// leader election of this process.
package leases

import (
	"fmt"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Page is page 7: who leads, and for how long still.
type Page struct {
	page.Base
	list widget.List
	// leases are the latest, candidates those who wait for one.
	leases     []state.LeaseStatus
	candidates []state.LeaseCandidate
	failed     error
	// ahead is what the clock that judged them was ahead of this program's.
	ahead     time.Duration
	number    int
	following bool
	nodes     bool
	history   leaseHistory
	// of is the snapshot of which leases were taken, where nobody else tells of
	// them.
	of      *state.Snapshot
	pacing  page.Pacing
	looking bool
	// size is that of the page.
	size page.SizeMsg
	// edition counts the lists; sorted are the rows of one.
	edition int
	sorted  sortedLeases
}

// New makes the page.
func New() page.Page {
	return &Page{number: -1, list: widget.List{Columns: []widget.Column{
		{Title: "NAMESPACE", Max: 24, Drop: 2},
		{Title: "LEASE", Grow: true, Min: 18},
		{Title: "HOLDER", Grow: true, Min: 14},
		{Title: "STATE", Min: 7},
		{Title: "RENEWED", Aging: true, Right: true},
		{Title: "EXPIRES", Aging: true, Right: true},
		{Title: "DURATION", Right: true, Drop: 1},
		{Title: "CHANGES", Right: true, Drop: 3},
	}}}
}

func (p *Page) Title(*page.Env) string {
	expired := p.sorted.expired
	text := fmt.Sprintf("Leases: %d", len(p.leases))
	if expired > 0 {
		text += fmt.Sprintf(", %d EXPIRED", expired)
	}
	if len(p.candidates) > 0 {
		text += fmt.Sprintf("; %d candidates", len(p.candidates))
	}
	if p.failed != nil {
		text += ": " + p.failed.Error()
	}
	return text
}

// leasesMsg brings a list, and the history that goes on with it.
type leasesMsg struct {
	leaseNews
	number int
	err    error
}

// leaseNews are leases with the history up to them.
type leaseNews struct {
	leases     []state.LeaseStatus
	candidates []state.LeaseCandidate
	history    leaseHistory
	// judged is the time at which they were judged, by the clock of the server;
	// zero where nobody did.
	judged time.Time
}

// newsOf goes on with a history; now is for leases that nobody has judged. A large
// cluster has thousands of leases: it is for a command then.
func newsOf(list state.LeaseList, history leaseHistory, now time.Time) leaseNews {
	n := leaseNews{leases: list.Items, candidates: list.Candidates}
	for _, l := range list.Items {
		if l.SinceRenew != nil {
			n.judged = l.RenewTime.Add(seconds(*l.SinceRenew))
			now = n.judged
			break
		}
	}
	n.history = history.with(list.Items, now)
	return n
}

func (p *Page) Update(msg tea.Msg, e *page.Env) tea.Cmd {
	cmd := p.answer(msg, e)
	p.sort(e)
	p.list.Resize(p.size.H - len(head(e, p.size.W)))
	p.list.Sync(p.rows(e))
	return cmd
}

func (p *Page) answer(msg tea.Msg, e *page.Env) tea.Cmd {
	switch msg := msg.(type) {
	case page.FilteredMsg:
		p.list.ToTop()
	case page.SizeMsg:
		p.size = msg
	case page.ShownMsg:
		return tea.Batch(p.look(e, msg), p.follow(e))
	case leasesMsg:
		p.following = false
		if e.Ctx.Err() != nil {
			return nil
		}
		p.number, p.failed = msg.number, msg.err
		p.take(e, msg.leaseNews)
		return p.follow(e)
	case page.Answer[leaseNews]:
		p.looking, p.pacing.Took = false, msg.Took
		p.take(e, msg.Value)
	case page.SnapshotMsg, page.TickMsg:
		return p.look(e, msg)
	}
	return nil
}

// fewLeases is up to how many leases of each snapshot are looked at, at once.
const fewLeases = 500

// look takes the leases of a snapshot over, also while another page is shown: the
// history and the alarm need it.
func (p *Page) look(e *page.Env, msg tea.Msg) tea.Cmd {
	few := e.Snap.Leases.Len() <= fewLeases
	if e.Leases != nil || p.of == e.Snap || p.looking || !few && p.of != nil && !p.pacing.Due(e, msg, time.Second) {
		return nil
	}
	p.of, p.pacing.At = e.Snap, e.Now
	snap, history, now := e.Snap, p.history, e.Now
	news := func() leaseNews { return newsOf(state.LeaseList{Items: leasesOf(snap)}, history, now) }
	if few {
		p.take(e, news())
		return nil
	}
	p.looking = true
	return page.Ask(page.Leases, 0, func() (leaseNews, error) { return news(), nil })
}

// follow waits for the next list. It goes on while another page is shown: the
// history and the alarm need it.
func (p *Page) follow(e *page.Env) tea.Cmd {
	if e.Leases == nil || p.following {
		return nil
	}
	p.following = true
	source, ctx, number, history, now := e.Leases, e.Ctx, p.number, p.history, e.Now
	return func() tea.Msg {
		list, number, err := source.Next(ctx, number)
		return page.ResultMsg{Page: page.Leases, Msg: leasesMsg{newsOf(list, history, now), number, err}}
	}
}

func (p *Page) take(e *page.Env, n leaseNews) {
	if !n.judged.IsZero() {
		p.ahead = n.judged.Sub(e.Now)
	}
	p.leases, p.candidates, p.history = n.leases, n.candidates, n.history
	p.edition++
}

// leasesOf are the leases that a journal knows of.
func leasesOf(s *state.Snapshot) []state.LeaseStatus {
	var out []state.LeaseStatus
	for _, l := range s.Leases.All() {
		if l.Deleted {
			continue
		}
		status := state.LeaseStatus{
			Namespace: l.Lease.Namespace, Name: l.Lease.Name, Class: state.LeaseOfWorkload, Identity: l.Holder,
			AcquireTime: l.Since, RenewTime: l.RenewTime, Duration: l.Duration, Transitions: l.Transitions,
		}
		switch l.Lease.Namespace {
		case "kube-node-lease":
			status.Class = state.LeaseOfNode
		case "kube-system":
			status.Class = state.LeaseOfControlPlane
		}
		out = append(out, status)
	}
	return out
}

func (p *Page) current(e *page.Env) (leaseRow, bool) {
	r, ok := p.rows(e).At(p.list)
	return r.at(e.Now.Add(p.ahead)), ok
}

func (p *Page) Key(key string, e *page.Env) bool { return p.list.Key(p.rows(e), key) }

func (p *Page) View(e *page.Env, w, h int) []string {
	rows := p.rows(e)
	empty := "No lease is known here."
	if p.Filter.Text != "" {
		empty = page.NoMatch("leases", p.Filter)
	}
	if p.following && p.number < 0 {
		empty = "Reading leases…"
	}
	ours := head(e, w)
	top := widget.Fit(e.Theme, ours, w, min(len(ours), h))
	return append(top, widget.Beside(e.Theme, w, h-len(top), func(w, h int) []string { return p.list.View(e.Theme, rows, w, h, empty) }, func(w int) []widget.Line {
		r, ok := p.current(e)
		if !ok {
			return nil
		}
		return p.detail(e, r, w)
	})...)
}

func (p *Page) detail(e *page.Env, r leaseRow, w int) []widget.Line {
	if r.grouped > 0 {
		return append([]widget.Line{widget.Heading(fmt.Sprintf("%d leases of nodes", r.grouped)), {widget.Text.Of(" " + r.words)}, {}}, p.history.lines(e, func(n string) bool { return strings.HasPrefix(n, r.Namespace+"/") }, 30)...)
	}
	out := []widget.Line{widget.Heading(r.Ref().Key())}
	out = append(out, widget.Fact("state", leaseState(r.LeaseStatus).Text(), widget.Text)...)
	out = append(out, widget.Fact("holder", holderText(r.LeaseStatus), widget.Text)...)
	if r.Holder != nil {
		out = append(out, widget.Fact("found by", r.Holder.By, widget.Dim)...)
	}
	out = append(out, widget.Fact("identity", r.Identity, widget.Text)...)
	out = append(out, widget.Fact("acquired", e.Clock(r.AcquireTime), widget.Text)...)
	out = append(out, widget.Fact("renewed", e.Clock(r.RenewTime), widget.Text)...)
	out = append(out, widget.Fact("expires", e.Clock(r.ExpiryTime), widget.Text)...)
	out = append(out, widget.Fact("changes", fmt.Sprintf("%d changes of holder since the lease was made", r.Transitions), widget.Text)...)
	for _, c := range p.candidates {
		if c.Namespace == r.Namespace && c.Lease == r.Name {
			out = append(out, widget.Line{widget.Text.Of(" candidate   " + c.Name + " " + c.BinaryVersion)})
		}
	}
	if key := r.Ref().Key(); key == ownLease(e) {
		out = append(out, widget.Line{}, widget.Heading("Our election"))
		out = append(out, ownHistory(e, key, 30)...)
	}
	out = append(out, widget.Line{}, widget.Heading("While watching"))
	return append(out, p.history.lines(e, func(n string) bool { return n == r.Ref().Key() }, 30)...)
}

// Place says which rows are visible.
func (p *Page) Place(e *page.Env) string {
	return p.list.Place(p.rows(e))
}

func (p *Page) Under(e *page.Env) page.Subject {
	r, ok := p.current(e)
	if !ok {
		return page.Subject{}
	}
	s := page.Subject{Kind: page.OnLease, Object: r.Ref(), Name: r.Name}
	if r.Class == state.LeaseOfNode {
		s.Explain = "node-lease"
	}
	if r.grouped > 0 {
		s.Object, s.Name = state.Ref{}, "nodes"
	}
	return s
}

func (p *Page) Actions(e *page.Env) []page.Action {
	r, ok := p.current(e)
	nothing := ""
	if !ok {
		nothing = page.ErrNothing.Error()
	}
	noHolder := nothing
	if nothing == "" && r.Holder == nil {
		noHolder = "nothing in the cluster was found by the holder's name"
	}
	nodes := "nodes"
	if p.nodes {
		nodes = "group nodes"
	}
	return []page.Action{
		{Keys: []string{"enter"}, Label: "details", Help: "Show the lease's details, and its changes while watching.", Off: nothing, Do: func() tea.Cmd { return p.details(r.id()) }},
		{Keys: []string{"n"}, Label: nodes, Help: "Show the leases of nodes one by one, or as one row.", Do: func() tea.Cmd { p.nodes = !p.nodes; return nil }},
		{Keys: []string{"O"}, Label: "holder", Help: "Show the pod or node that holds the lease, in the tree.", Off: noHolder, Do: func() tea.Cmd {
			return page.Send(page.JumpMsg{Page: page.Tree, To: page.Subject{Kind: page.OnObject, Object: r.Holder.Ref, Name: r.Holder.Name}})
		}},
		{Keys: []string{"H"}, Label: "history", Help: "Show our election's history, and all lease changes while watching.", Do: func() tea.Cmd {
			return page.Send(page.OpenMsg{View: func(e *page.Env) *widget.TextView {
				return &widget.TextView{Title: "Leases while watching", Lines: func(int) []widget.Line {
					var out []widget.Line
					if own := ownHistory(e, "", maxLeaseHistory); own != nil {
						out = append(append([]widget.Line{widget.Heading("Our election")}, own...), widget.Line{}, widget.Heading("Leases"))
					}
					return append(out, p.history.lines(e, func(string) bool { return true }, maxLeaseHistory)...)
				}}
			}})
		}},
	}
}

func (p *Page) details(id string) tea.Cmd {
	return page.Send(page.OpenMsg{View: func(e *page.Env) *widget.TextView {
		rows := p.rows(e)
		at := rows.Find(id)
		if at < 0 {
			return nil
		}
		return &widget.TextView{Title: "Lease " + id, Lines: func(w int) []widget.Line { return p.detail(e, rows.Items[at].at(e.Now.Add(p.ahead)), w) }}
	}})
}

func (p *Page) Focus(s page.Subject, e *page.Env) (tea.Cmd, bool) {
	if s.Kind != page.OnLease && s.Object.Resource != "leases" {
		return nil, false
	}
	p.Filter, p.nodes = widget.Filter{}, p.nodes || s.Object.Namespace == "kube-node-lease"
	p.list.Seek(s.Object.Key())
	p.sort(e)
	p.list.Sync(p.rows(e))
	return nil, true
}

func (p *Page) Alarm(e *page.Env) string { return p.history.alarm(e.Now.Add(p.ahead)) }

func (p *Page) Plain(e *page.Env) []page.Row {
	return page.PlainRows(&p.list, p.rows(e))
}
