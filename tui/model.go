package tui

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// model is the root: it has the pages, what lies over them, and the header and
// footer around them.
type model struct {
	options *Options
	env     *env
	table   []pageRow
	pages   map[pageID]page
	shown   pageID
	// visited are the pages before this one, for esc and "-".
	visited []pageID

	width, height int
	facts         facts
	text          *overlay
	approvals     *approvalsView
	prompt        *widget.Prompt
	confirm       *confirmMsg
	said          sayMsg
	saidAt        time.Time
	unsent        int                 // writes approved and not sent that were told of
	typed         map[string][]string // the history of each kind of prompt
	quitting      bool
	// errorAt is the time of the failure that is sought in a recording and whose
	// snapshot has not come yet.
	errorAt time.Time
	// preparing: it is being asked what becoming active would mean.
	preparing bool
	// plan waits until nothing else is being typed.
	plan *ActivePlan
	// ended is why no further snapshot will come.
	ended string
	// commandEnded is how the command behind the screen ended; empty before.
	commandEnded string
	// failed is what Run returns.
	failed error
}

// newModel makes the root on a context that ends with the program.
func newModel(ctx context.Context, o Options) *model {
	if o.Now == nil {
		o.Now = time.Now
	}
	empty := state.NewSnapshot(state.Limits{})
	m := &model{
		options: &o,
		env:     &env{Parts: &o.Parts, ctx: ctx, snap: empty, latest: empty, now: o.Now()},
		table:   pages(), pages: map[pageID]page{}, typed: map[string][]string{},
	}
	for _, row := range m.table {
		m.pages[row.id] = row.make()
	}
	m.shown = pageID(min(max(o.Start, 1), len(m.table)))
	if o.Open != "" {
		m.shown = pageInformers
	}
	return m
}

func (m *model) page() page { return m.pages[m.shown] }

// Messages of the root.
type (
	// nextMsg brings a snapshot, or why there is none.
	nextMsg struct {
		snap *state.Snapshot
		err  error
	}
	// secondMsg is the root's clock.
	secondMsg struct{}
	// connectedMsg brings the Parts of the session.
	connectedMsg struct {
		set func(*Options)
		err error
	}
	// commandEndedMsg tells that the command has ended.
	commandEndedMsg struct{}
	// outputMsg brings what it has printed.
	outputMsg struct {
		text *widget.TextView
		// again: it was open already when it was read.
		again bool
	}
	// failedMsg ends the screen with an error.
	failedMsg struct{ err error }
)

// Init starts the two sources of messages: the journal and the clock.
func (m *model) Init() tea.Cmd {
	return tea.Batch(m.next(nil), second(), m.connect(), m.watchCrash(), m.watchCommand(), m.page().update(shownMsg{}, m.env), m.openFirst())
}

// connect makes the Parts of the session, where that is left to the screen.
func (m *model) connect() tea.Cmd {
	connect, ctx := m.options.Connect, m.env.ctx
	if connect == nil {
		return nil
	}
	m.env.connecting = true
	return func() tea.Msg {
		set, err := connect(ctx)
		return connectedMsg{set, err}
	}
}

// watchCrash ends the screen when the session has crashed. Crashed is known once
// there are Parts.
func (m *model) watchCrash() tea.Cmd {
	crashed, crash, ctx := m.options.Crashed, m.options.Crash, m.env.ctx
	if crashed == nil {
		return nil
	}
	return func() tea.Msg {
		select {
		case <-crashed:
			return failedMsg{crash()}
		case <-ctx.Done():
			return nil
		}
	}
}

// next waits for a snapshot in a goroutine of Bubble Tea's.
func (m *model) next(last *state.Snapshot) tea.Cmd {
	journal, ctx := m.options.Journal, m.env.ctx
	return func() tea.Msg {
		snap, err := journal.Next(ctx, last)
		return nextMsg{snap, err}
	}
}

func second() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return secondMsg{} }) }

// Update never blocks: it swaps pointers and starts commands.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.env.now = m.options.Now()
	_, cmd := m.update(msg)
	m.settle()
	return m, cmd
}

func (m *model) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m, m.all(sizeMsg{m.width, m.bodyHeight()})
	case tea.KeyMsg:
		return m, m.keys(msg)
	case nextMsg:
		return m, m.took(msg)
	case secondMsg:
		return m, tea.Batch(second(), m.tick())
	case connectedMsg:
		return m, m.connected(msg)
	case commandEndedMsg:
		return m, m.commandHasEnded()
	case outputMsg:
		m.showOutput(msg)
		return m, nil
	case failedMsg:
		m.failed = msg.err
		return m, m.quit()
	case errorFoundMsg:
		m.errorAt = msg.at
		return m, m.toError()
	case pageMsg:
		return m, m.pages[msg.page].update(msg.msg, m.env)
	case jumpMsg:
		return m, m.jump(msg.page, msg.to)
	case sayMsg:
		m.said, m.saidAt = msg, m.env.now
		return m, nil
	case showMsg:
		m.over(&overlay{TextView: &msg.text, extra: msg.extra})
		return m, nil
	case preparedMsg:
		return m, m.prepared(msg)
	case begunMsg:
		return m, m.begun(msg)
	case openMsg:
		if text := msg.view(m.env); text != nil {
			m.over(&overlay{TextView: text, refresh: msg.view})
		}
		return m, nil
	case promptMsg:
		m.open(msg, nil)
		return m, nil
	case confirmMsg:
		m.confirm = &msg
		return m, nil
	case tea.ResumeMsg:
		return m, tea.ClearScreen
	}
	return m, nil
}

// connected takes the Parts over. The page on the screen may ask them from now on.
func (m *model) connected(msg connectedMsg) tea.Cmd {
	m.env.connecting = false
	if msg.err != nil {
		return send(failedMsg{msg.err})
	}
	msg.set(m.options)
	cmds := []tea.Cmd{m.watchCrash(), m.watchCommand(), m.page().update(shownMsg{}, m.env), m.openFirst()}
	if m.options.Stand {
		cmds = append(cmds, m.prepare(m.options.StandFor))
	}
	return tea.Batch(cmds...)
}

// openFirst opens the cache that was named at the start, once the Parts are there.
func (m *model) openFirst() tea.Cmd {
	typ := m.options.Open
	if typ == "" || m.env.connecting {
		return nil
	}
	m.options.Open = ""
	return m.jump(pageInformers, subject{kind: onInformer, informer: typ})
}

// took takes a snapshot over. A paused screen keeps the one that it shows.
func (m *model) took(msg nextMsg) tea.Cmd {
	switch {
	case msg.err != nil && m.env.ctx.Err() != nil:
		return nil
	case msg.err != nil:
		m.ended = "the journal has ended: " + msg.err.Error()
		return nil
	}
	return tea.Batch(m.next(msg.snap), m.take(msg.snap))
}

// take shows a snapshot, unless the screen is paused.
func (m *model) take(snap *state.Snapshot) tea.Cmd {
	m.env.latest = snap
	complaint := m.notSent()
	if m.env.paused {
		return complaint
	}
	m.env.snap = snap
	return tea.Batch(complaint, m.all(snapshotMsg{}), m.toError())
}

// all tells every page.
func (m *model) all(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, row := range m.table {
		if cmd := m.pages[row.id].update(msg, m.env); cmd != nil {
			cmds = append(cmds, cmd)
		}
	}
	return tea.Batch(cmds...)
}

// sayFor is how long a sentence stays in the status line.
const sayFor = 8 * time.Second

func (m *model) tick() tea.Cmd {
	var requests uint64
	if m.options.Requests != nil {
		requests = m.options.Requests()
	}
	if !m.env.paused {
		m.env.trends.sample(m.env.snap, m.env.now, requests)
	}
	if m.said.text != "" && m.env.now.Sub(m.saidAt) >= sayFor {
		m.said = sayMsg{}
	}
	if m.plan != nil && m.prompt == nil && m.confirm == nil {
		plan := *m.plan
		m.plan = nil
		return tea.Batch(m.prepared(preparedMsg{plan: plan}), m.page().update(tickMsg{}, m.env))
	}
	if m.text != nil && m.text.refresh != nil {
		if by := m.text.refresh(m.env); by != nil {
			m.text.Replace(by)
		}
	}
	return tea.Batch(m.followOutput(), m.page().update(tickMsg{}, m.env))
}

// jump shows a page, and a subject on it.
func (m *model) jump(to pageID, s subject) tea.Cmd {
	p, ok := m.pages[to]
	if !ok {
		return nil
	}
	var cmd tea.Cmd
	if s.kind != onNothing {
		if cmd, ok = p.focus(s, m.env); !ok {
			return complain(fmt.Sprintf("%s cannot show this %s", m.name(to), s.kind))
		}
	}
	return tea.Batch(m.show(to, true), cmd)
}

func (m *model) show(to pageID, remember bool) tea.Cmd {
	m.text, m.approvals = nil, nil
	if to == m.shown {
		return nil
	}
	if remember {
		m.visited = append(m.visited[max(len(m.visited)-49, 0):], m.shown)
	}
	left := m.page().update(hiddenMsg{}, m.env)
	m.shown = to
	return tea.Batch(left, m.page().update(shownMsg{}, m.env))
}

func (m *model) name(id pageID) string {
	for _, row := range m.table {
		if row.id == id {
			return row.name
		}
	}
	return ""
}

// back leaves what was drilled into, a filter, or the page.
func (m *model) back() tea.Cmd {
	if m.page().back() {
		return m.page().update(changedMsg{}, m.env)
	}
	if f := m.page().filtering(); f != nil && f.current.Text != "" {
		f.set(widget.Filter{})
		return m.page().update(changedMsg{}, m.env)
	}
	if n := len(m.visited); n > 0 {
		to := m.visited[n-1]
		m.visited = m.visited[:n-1]
		return m.show(to, false)
	}
	return nil
}

func (m *model) quit() tea.Cmd {
	m.quitting = true
	return tea.Quit
}

// askQuit asks first where leaving stops loops that write for real.
func (m *model) askQuit() tea.Cmd {
	if active(m.env) {
		question := "Quit, stop the loops, and give the lease back?"
		switch {
		case m.env.Command != nil && m.commandEnded != "":
			return m.quit()
		case m.env.Command != nil:
			question = "Quit, and end the command, which writes for real?"
		}
		return send(confirmMsg{question: question, yes: m.quit})
	}
	return m.quit()
}

func (m *model) copy(text, what string) tea.Cmd {
	copier := m.options.Copy
	return func() tea.Msg {
		how, err := copier(text)
		if err != nil {
			return sayMsg{text: fmt.Sprintf("copy %s: %v", what, err), bad: true}
		}
		return sayMsg{text: fmt.Sprintf("Copied %s (%s).", what, how)}
	}
}
