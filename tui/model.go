package tui

import (
	"context"
	"fmt"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// model is the root: it has the pages, what lies over them, and the header and
// footer around them.
type model struct {
	options *Options
	env     *page.Env
	table   []pageRow
	pages   map[page.ID]page.Page
	shown   page.ID
	// visited are the pages before this one, for esc and "-".
	visited []page.ID

	width, height int
	facts         facts
	text          *overlay
	approvals     *approvalsView
	prompt        *widget.Prompt
	confirm       *page.ConfirmMsg
	said          page.SayMsg
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
	plan *port.ActivePlan
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
		env:     &page.Env{Parts: &o.Parts, Ctx: ctx, Snap: empty, Latest: empty, Now: o.Now()},
		table:   pages(), pages: map[page.ID]page.Page{}, typed: map[string][]string{},
	}
	for _, row := range m.table {
		m.pages[row.id] = row.make()
	}
	m.shown = page.ID(min(max(o.Start, 1), len(m.table)))
	if o.Open != "" {
		m.shown = page.Informers
	}
	return m
}

func (m *model) page() page.Page { return m.pages[m.shown] }

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
	return tea.Batch(m.next(nil), second(), m.connect(), m.watchCrash(), m.watchCommand(), m.page().Update(page.ShownMsg{}, m.env), m.openFirst())
}

// connect makes the Parts of the session, where that is left to the screen.
func (m *model) connect() tea.Cmd {
	connect, ctx := m.options.Connect, m.env.Ctx
	if connect == nil {
		return nil
	}
	m.env.Connecting = true
	return func() tea.Msg {
		set, err := connect(ctx)
		return connectedMsg{set, err}
	}
}

// watchCrash ends the screen when the session has crashed. Crashed is known once
// there are Parts.
func (m *model) watchCrash() tea.Cmd {
	crashed, crash, ctx := m.options.Crashed, m.options.Crash, m.env.Ctx
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
	journal, ctx := m.options.Journal, m.env.Ctx
	return func() tea.Msg {
		snap, err := journal.Next(ctx, last)
		return nextMsg{snap, err}
	}
}

func second() tea.Cmd { return tea.Tick(time.Second, func(time.Time) tea.Msg { return secondMsg{} }) }

// Update never blocks: it swaps pointers and starts commands.
func (m *model) Update(msg tea.Msg) (tea.Model, tea.Cmd) {
	m.env.Now = m.options.Now()
	_, cmd := m.update(msg)
	m.settle()
	return m, cmd
}

func (m *model) update(msg tea.Msg) (tea.Model, tea.Cmd) {
	switch msg := msg.(type) {
	case tea.WindowSizeMsg:
		m.width, m.height = msg.Width, msg.Height
		return m, m.all(page.SizeMsg{W: m.width, H: m.bodyHeight()})
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
	case page.ResultMsg:
		return m, m.pages[msg.Page].Update(msg.Msg, m.env)
	case page.JumpMsg:
		return m, m.jump(msg.Page, msg.To)
	case page.SayMsg:
		m.said, m.saidAt = msg, m.env.Now
		return m, nil
	case page.ShowMsg:
		m.over(&overlay{TextView: &msg.Text, extra: msg.Extra})
		return m, nil
	case preparedMsg:
		return m, m.prepared(msg)
	case begunMsg:
		return m, m.begun(msg)
	case page.OpenMsg:
		if text := msg.View(m.env); text != nil {
			m.over(&overlay{TextView: text, refresh: msg.View})
		}
		return m, nil
	case page.PromptMsg:
		m.open(msg, nil)
		return m, nil
	case page.ConfirmMsg:
		m.confirm = &msg
		return m, nil
	case tea.ResumeMsg:
		return m, tea.ClearScreen
	}
	return m, nil
}

// connected takes the Parts over. The page on the screen may ask them from now on.
func (m *model) connected(msg connectedMsg) tea.Cmd {
	m.env.Connecting = false
	if msg.err != nil {
		return page.Send(failedMsg{msg.err})
	}
	msg.set(m.options)
	cmds := []tea.Cmd{m.watchCrash(), m.watchCommand(), m.page().Update(page.ShownMsg{}, m.env), m.openFirst()}
	if m.options.Stand {
		cmds = append(cmds, m.prepare(m.options.StandFor))
	}
	return tea.Batch(cmds...)
}

// openFirst opens the cache that was named at the start, once the Parts are there.
func (m *model) openFirst() tea.Cmd {
	typ := m.options.Open
	if typ == "" || m.env.Connecting {
		return nil
	}
	m.options.Open = ""
	return m.jump(page.Informers, page.Subject{Kind: page.OnInformer, Informer: typ})
}

// took takes a snapshot over. A paused screen keeps the one that it shows.
func (m *model) took(msg nextMsg) tea.Cmd {
	switch {
	case msg.err != nil && m.env.Ctx.Err() != nil:
		return nil
	case msg.err != nil:
		m.ended = "the journal has ended: " + msg.err.Error()
		return nil
	}
	return tea.Batch(m.next(msg.snap), m.take(msg.snap))
}

// take shows a snapshot, unless the screen is paused.
func (m *model) take(snap *state.Snapshot) tea.Cmd {
	m.env.Latest = snap
	complaint := m.notSent()
	if m.env.Paused {
		return complaint
	}
	m.env.Snap = snap
	return tea.Batch(complaint, m.all(page.SnapshotMsg{}), m.toError())
}

// all tells every page.
func (m *model) all(msg tea.Msg) tea.Cmd {
	var cmds []tea.Cmd
	for _, row := range m.table {
		if cmd := m.pages[row.id].Update(msg, m.env); cmd != nil {
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
	if !m.env.Paused {
		m.env.Trends.Sample(m.env.Snap, m.env.Now, requests)
	}
	if m.said.Text != "" && m.env.Now.Sub(m.saidAt) >= sayFor {
		m.said = page.SayMsg{}
	}
	if m.plan != nil && m.prompt == nil && m.confirm == nil {
		plan := *m.plan
		m.plan = nil
		return tea.Batch(m.prepared(preparedMsg{plan: plan}), m.page().Update(page.TickMsg{}, m.env))
	}
	if m.text != nil && m.text.refresh != nil {
		if by := m.text.refresh(m.env); by != nil {
			m.text.Replace(by)
		}
	}
	return tea.Batch(m.followOutput(), m.page().Update(page.TickMsg{}, m.env))
}

// jump shows a page, and a subject on it.
func (m *model) jump(to page.ID, s page.Subject) tea.Cmd {
	p, ok := m.pages[to]
	if !ok {
		return nil
	}
	var cmd tea.Cmd
	if s.Kind != page.OnNothing {
		if cmd, ok = p.Focus(s, m.env); !ok {
			return page.Complain(fmt.Sprintf("%s cannot show this %s", m.name(to), s.Kind))
		}
	}
	return tea.Batch(m.show(to, true), cmd)
}

func (m *model) show(to page.ID, remember bool) tea.Cmd {
	m.text, m.approvals = nil, nil
	if to == m.shown {
		return nil
	}
	if remember {
		m.visited = append(m.visited[max(len(m.visited)-49, 0):], m.shown)
	}
	left := m.page().Update(page.HiddenMsg{}, m.env)
	m.shown = to
	return tea.Batch(left, m.page().Update(page.ShownMsg{}, m.env))
}

func (m *model) name(id page.ID) string {
	for _, row := range m.table {
		if row.id == id {
			return row.name
		}
	}
	return ""
}

// back leaves what was drilled into, a filter, or the page.
func (m *model) back() tea.Cmd {
	if m.page().Back() {
		return m.page().Update(page.ChangedMsg{}, m.env)
	}
	if f := m.page().Filtering(); f != nil && f.Current.Text != "" {
		f.Set(widget.Filter{})
		return m.page().Update(page.ChangedMsg{}, m.env)
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
		question := "Quit, stop the controllers and release the lease?"
		switch {
		case m.env.Command != nil && m.commandEnded != "":
			return m.quit()
		case m.env.Command != nil:
			question = "Quit, and end the command, which writes for real?"
		}
		return page.Send(page.ConfirmMsg{Question: question, Yes: m.quit})
	}
	return m.quit()
}

func (m *model) copy(text, what string) tea.Cmd {
	copier := m.options.Copy
	return func() tea.Msg {
		how, err := copier(text)
		if err != nil {
			return page.SayMsg{Text: fmt.Sprintf("copy %s: %v", what, err), Bad: true}
		}
		return page.SayMsg{Text: fmt.Sprintf("Copied %s (%s).", what, how)}
	}
}
