package tui

import (
	"fmt"
	"slices"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Messages of active mode.
type (
	// preparedMsg brings what becoming active would mean, or why it is refused.
	preparedMsg struct {
		plan port.ActivePlan
		err  error
	}
	// begunMsg: the process stands for election, or does not for a reason.
	begunMsg struct{ err error }
)

// active reports whether loops of this process write to a cluster for real. Those of
// a recording did, and do no more.
func active(e *page.Env) bool {
	if e.Player != nil {
		return false
	}
	s := e.Latest.Session
	return e.Standing().Phase == state.ActiveLeading || s.Mode == state.ModeActive && !s.Sandbox
}

// noActive says why the process cannot stand for election now.
func (m *model) noActive() string {
	e := m.env
	if e.Active != nil && e.Standing().Phase != state.ActiveOff {
		return ""
	}
	if e.Active == nil && !e.Connecting && e.Player == nil && e.Latest.Session.Sandbox {
		return "in a sandbox the controllers already write for real"
	}
	return page.FirstOf(e.Without(e.Active != nil), e.Standing().Again)
}

// lead stands for election, or ends what came of it.
func (m *model) lead() tea.Cmd {
	if m.env.Standing().Phase != state.ActiveOff {
		return m.stepDown()
	}
	return m.prepare(nil)
}

// prepare asks what becoming active would mean. Nothing is written for it.
func (m *model) prepare(controllers []string) tea.Cmd {
	if m.preparing || m.plan != nil {
		return page.Say("The check of the cluster is already running.")
	}
	m.preparing = true
	active, ctx := m.env.Active, m.env.Ctx
	m.said, m.saidAt = page.SayMsg{Text: "Checking that these controllers may write for real…"}, m.env.Now
	return func() tea.Msg {
		plan, err := active.Prepare(ctx, controllers)
		return preparedMsg{plan, err}
	}
}

// prepared shows the plan and asks for the context's name.
func (m *model) prepared(msg preparedMsg) tea.Cmd {
	m.preparing, m.said = false, page.SayMsg{}
	switch {
	case msg.err != nil:
		m.refused(msg.err)
		return nil
	case m.prompt != nil || m.confirm != nil: // what is typed there is meant for that
		m.plan = &msg.plan // tick shows it
		return nil
	}
	plan := msg.plan
	title := "Write to context " + plan.Context + " for real?"
	view := &overlay{TextView: &widget.TextView{Title: title, Lines: func(w int) []widget.Line { return planLines(plan, m.env, w) }}}
	m.over(view)
	closed := func() { m.closeText(view) }
	m.open(page.PromptMsg{
		Label: "Type the name of the context: ", Once: true,
		Left: func() tea.Cmd { closed(); return page.Say("Nothing was done.") },
		Done: func(typed string) tea.Cmd {
			closed()
			if typed == "" {
				return page.Say("Nothing was done.")
			}
			active, ctx := m.env.Active, m.env.Ctx
			m.said, m.saidAt = page.SayMsg{Text: "Checking again, then joining leader election…"}, m.env.Now
			return func() tea.Msg { return begunMsg{active.Begin(ctx, plan, typed)} }
		},
	}, nil)
	return nil
}

// refused shows why nothing was done, with the next step. It is too much for a line.
func (m *model) refused(err error) {
	view := widget.ProseOf("Active mode is refused", err.Error(), "Nothing was written.")
	m.over(&overlay{TextView: &view})
}

func (m *model) begun(msg begunMsg) tea.Cmd {
	m.said = page.SayMsg{}
	if msg.err != nil {
		m.refused(msg.err)
		return nil
	}
	m.env.Observing = true // what comes after it, until the user starts a loop
	return page.Say("Joined leader election: page 7 shows it, L leaves it.")
}

// closeText closes a text that may have others over it.
func (m *model) closeText(view *overlay) {
	for at := &m.text; *at != nil; at = &(*at).under {
		if *at == view {
			*at = view.under
			return
		}
	}
}

// stepDown asks first where that stops loops.
func (m *model) stepDown() tea.Cmd {
	active, ctx := m.env.Active, m.env.Ctx
	end := func() tea.Cmd {
		m.said, m.saidAt = page.SayMsg{Text: "Stepping down: ending controllers and writes, then the lease…"}, m.env.Now
		return func() tea.Msg {
			if err := active.End(ctx); err != nil {
				return page.SayMsg{Text: err.Error(), Bad: true}
			}
			return page.SayMsg{Text: "This process has stepped down."}
		}
	}
	switch m.env.Standing().Phase {
	case state.ActiveLeading:
		return page.Send(page.ConfirmMsg{Question: "Stop the controllers and release the lease?", Yes: end})
	case state.ActiveCandidate:
		return page.Send(page.ConfirmMsg{Question: "Leave leader election?", Yes: end})
	}
	return page.Complain("it is already stepping down")
}

// lines say what typing the name will do.
func planLines(p port.ActivePlan, e *page.Env, w int) []widget.Line {
	w = min(w-2, 100)
	var out []widget.Line
	put := func(name, value string, style widget.Style) {
		out = append(out, widget.WrappedFact(name, value, w, style)...)
	}
	put("context", p.Context, widget.Bold)
	put("server", strings.TrimSpace(p.Server+" "+p.Version), widget.Text)
	put("lease", p.Lease, widget.Text)
	held := "nobody: this process leads as soon as it has the lease"
	if p.Holder != "" {
		held = p.Holder
		if !p.Since.IsZero() {
			held += " since " + e.Clock(p.Since)
		}
		if !p.RenewTime.IsZero() {
			held += ", renewed " + e.Ago(p.RenewTime) + " ago"
		}
		held += ": this process waits until the lease is free, and never takes it from a live holder"
		if p.NoWait {
			held = p.Holder + ": with --no-wait this process does not wait"
		}
	}
	put("held by", held, widget.WarnIf(p.Holder != ""))
	loops := make([]string, len(p.Controllers))
	for i, name := range p.Controllers {
		loops[i] = render.ShortName(name)
	}
	put("controllers", strings.Join(loops, ", "), widget.Bold)
	put("cannot run", strings.Join(p.Off, ", "), widget.Warn)
	if p.Asks {
		put("approval", "writes wait for approval or a policy rule: A shows them", widget.Text)
	}
	out = append(out, widget.Line{})
	for _, text := range []string{
		"Once this process holds the lease, these controllers write to that cluster FOR REAL, in place of kube-controller-manager's. They are restarted for it; dry-run results are discarded.",
		"A standby kube-controller-manager runs nothing meanwhile: controllers not named above do not run.",
		"When the lease is lost, writes end, the controllers are stopped, and this process observes. It does not rejoin the election on its own.",
		"esc leaves everything as it is.",
	} {
		out = append(out, widget.Indent(widget.Wrapped(text, w, widget.Text), 1)...)
		out = append(out, widget.Line{})
	}
	return out
}

// stand reads what is typed after ":active".
func (m *model) stand(rest string) tea.Cmd {
	if m.env.Standing().Phase != state.ActiveOff {
		return page.Complain("this process already takes part in leader election: :observe ends that")
	}
	loops := strings.FieldsFunc(rest, func(r rune) bool { return r == ',' || r == ' ' })
	return m.prepare(slices.Compact(loops))
}

// noStepDown says why there is nothing to end.
func (m *model) noStepDown() string {
	if m.env.Standing().Phase == state.ActiveOff {
		return "this process does not take part in leader election"
	}
	return m.env.Without(m.env.Active != nil)
}

// electionSpan says in the header who leads, as far as this process takes part.
func electionSpan(e *page.Env) (widget.Span, bool) {
	in := e.Latest.Election
	switch phase := e.Standing().Phase; {
	case in == nil:
		return widget.Span{}, false
	case phase == state.ActiveCandidate && in.Phase == state.ElectionCandidate:
		if in.Holder == "" {
			return widget.Warn.Of("no leader yet"), true
		}
		text := page.LeaderName(in.Holder) + " leads"
		if !in.Since.IsZero() {
			text += " since " + e.Ago(in.Since)
		}
		return widget.Warn.Of(text), true
	case phase == state.ActiveLeading:
		return widget.Text.Of("leading since " + e.Ago(page.Acquired(e.Latest))), true
	}
	return widget.Span{}, false
}

// ended is why active mode ended unasked, for a minute; the badge says it longer.
func ended(e *page.Env) string {
	s := e.Standing()
	if s.Ended == "" || e.Now.Sub(s.EndedAt) > page.AlarmFor {
		return ""
	}
	then := "no more writes, this process observes"
	if s.Phase != state.ActiveOff {
		then = "no more writes, the controllers are being stopped"
	}
	text := fmt.Sprintf("%s %s ago: %s", strings.ToUpper(s.Ended), widget.Age(max(e.Now.Sub(s.EndedAt), 0)), then)
	if s.Reason != "" {
		text += " (" + s.Reason + ")"
	}
	return text
}
