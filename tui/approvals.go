package tui

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page/detail"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// approvalsView are the writes that wait for an answer, over any page.
type approvalsView struct {
	list      widget.List
	questions []state.Question
	// drawn is the question that the picture showed under the cursor: an answer is
	// taken for no other, so that none is given to what came there meanwhile.
	drawn int
	// given has the questions that were answered, by the number of the entry that was
	// the last one then: a later snapshot says what came of it.
	given map[int]uint64
}

// waiting counts the questions without an answer.
func waiting(e *page.Env) int {
	n := 0
	for q := range e.Latest.Questions() {
		if !q.Braked {
			n++
		}
	}
	return n
}

// braked is why no write leaves; empty where the brake is off.
func braked(e *page.Env) string {
	if b := e.Latest.Controls.Breaker; b != nil {
		return b.Reason
	}
	return ""
}

// noApprovals says why there is nothing to show of approvals: a session without any
// has no part for them. A recording shows what it has.
func noApprovals(e *page.Env) string {
	c := e.Latest.Controls
	if e.Player != nil || c.Questions.Len() > 0 || c.Breaker != nil {
		return ""
	}
	return e.Without(e.Approvals != nil)
}

// keptLease is what follows from a write that waits while this process leads.
const keptLease = "this process keeps the lease meanwhile, so nobody reconciles"

// keepsLease reports whether this process has the lease of a cluster's controller
// manager, as far as the journal knows.
func keepsLease(e *page.Env) bool {
	in := e.Latest.Election
	return in != nil && (in.Phase == state.ElectionAcquired || in.Phase == state.ElectionRenewedLate)
}

// brakeAlarm says that no write leaves, what follows from it and how it ends, all
// within 80 columns; the reason comes last, and whole with the questions. It is empty
// where the brake is off.
func brakeAlarm(e *page.Env) string {
	reason := braked(e)
	switch {
	case reason == "":
		return ""
	case e.Player != nil:
		return "BREAKER TRIPPED, nothing is written: " + reason
	case keepsLease(e):
		return "BREAKER TRIPPED, the lease is kept: nobody reconciles; A, then b, releases it: " + reason
	}
	return "BREAKER TRIPPED, nothing is written; A, then b, releases it: " + reason
}

// brakeLines tell above the questions why the brake is on, and since when.
func brakeLines(e *page.Env, w int) []widget.Line {
	if braked(e) == "" {
		return nil
	}
	reason, since := braked(e), e.Latest.Controls.Breaker.Since
	text := "The breaker tripped"
	if !since.IsZero() {
		text += " at " + e.Clock(since)
	}
	text += ": " + reason + "."
	if keepsLease(e) {
		text += " This process keeps the lease meanwhile, so nobody reconciles: esc, then L, steps down."
	}
	const most = 4
	lines := widget.Indent(widget.Wrapped(text, w-2, widget.Warn), 1)
	return lines[:min(len(lines), most)]
}

// notSent complains of a write that was approved and not sent: who said yes would take
// it for done.
func (m *model) notSent() tea.Cmd {
	last := m.env.Latest.Controls.NotSent
	if last == nil || m.env.Player != nil {
		return nil
	}
	text, reason := last.Text, last.Reason
	more := last.NotSent - m.unsent
	m.unsent = last.NotSent
	switch {
	case more <= 0:
		return nil
	case more == 1:
		return page.Complain("Not sent after all, " + reason + ": " + text)
	}
	return page.Complain(fmt.Sprintf("%d writes were not sent after all; the last, as %s: %s", more, reason, text))
}

func (m *model) openApprovals() tea.Cmd {
	m.approvals = &approvalsView{list: widget.List{Columns: []widget.Column{
		{Title: "NO", Right: true, Min: 2},
		{Title: "CONTROLLER", Min: 10, Max: 24, Drop: 3},
		{Title: "KEY", Min: 8, Max: 32, Drop: 2},
		{Title: "WRITE", Min: 20, Grow: true},
		{Title: "WAITS", Right: true, Min: 5, Aging: true, Drop: 1},
		{Title: "FOR", Min: 4, Max: 9},
	}}}
	return nil
}

// questionRows are the questions as a list shows them.
type questionRows struct {
	e   *page.Env
	all []state.Question
}

func (r questionRows) Len() int        { return len(r.all) }
func (r questionRows) ID(i int) string { return strconv.Itoa(r.all[i].ID) }

func (r questionRows) Find(id string) int {
	for i, q := range r.all {
		if strconv.Itoa(q.ID) == id {
			return i
		}
	}
	return -1
}

func (r questionRows) Cells(i int) []widget.Cell {
	q := r.all[i]
	waits := widget.Word("you", widget.Warn)
	if q.Braked {
		waits = widget.Word("breaker", widget.Bad)
	}
	return []widget.Cell{
		widget.Plain(strconv.Itoa(q.ID)), widget.Plain(render.ShortName(q.Controller)), widget.Plain(q.Cause.Key),
		widget.Word(q.Text, widget.StyleIf(deletes(q), widget.Bad)), widget.Plain(r.e.Ago(q.Since)), waits,
	}
}

func deletes(q state.Question) bool {
	return strings.HasPrefix(q.Verb, "delete") || q.Subresource == "eviction"
}

func (v *approvalsView) title(e *page.Env) string {
	text := fmt.Sprintf("%d writes pending", len(v.questions))
	if len(v.questions) == 1 {
		text = "1 write pending"
	}
	switch n := e.Latest.Controls.Approvals.Len(); {
	case n == 1:
		text += ", 1 approval for more than one write"
	case n > 1:
		text += fmt.Sprintf(", %d approvals for more than one write", n)
	}
	return text
}

// settle takes the questions for a picture, and remembers which one is shown.
func (v *approvalsView) settle(e *page.Env) {
	v.questions = v.questions[:0:0]
	for q := range e.Latest.Questions() {
		if at, given := v.given[q.ID]; !given || at != e.Latest.Seq {
			v.questions = append(v.questions, *q)
		}
	}
	v.list.Sync(questionRows{e, v.questions})
	v.list.Move(questionRows{e, v.questions}, 0)
	v.drawn = 0
	if q, ok := v.under(); ok {
		v.drawn = q.ID
	}
}

// view draws the list, and the question under the cursor beside or below it; above
// them what there is to say of the brake.
func (v *approvalsView) view(e *page.Env, w, h int) []string {
	rows := questionRows{e, v.questions}
	draw := func(w, h int) []string { return v.list.View(e.Theme, rows, w, h, "No pending writes.") }
	detail := func(w int) []widget.Line {
		q, ok := v.under()
		if !ok {
			return nil
		}
		return questionLines(e, q, "asked "+e.Ago(q.Since)+" ago", w)
	}
	braked := brakeLines(e, w)
	out := widget.Fit(e.Theme, braked, w, len(braked))
	h -= len(braked)
	if w >= widget.Wide {
		out = append(out, widget.Beside(e.Theme, w, h, draw, detail)...)
	} else {
		top := min(max(h/3, 4), len(v.questions)+1)
		top = max(top, min(h, 3))
		out = append(out, draw(w, top)...)
		out = append(out, widget.Fit(e.Theme, detail(w), w, h-top)...)
	}
	return out
}

// under is the question under the cursor, of those last drawn.
func (v *approvalsView) under() (state.Question, bool) {
	if v.list.Cursor < len(v.questions) {
		return v.questions[v.list.Cursor], true
	}
	return state.Question{}, false
}

// questionLines is all that is known of a question; asked says when it came up.
func questionLines(e *page.Env, q state.Question, asked string, w int) []widget.Line {
	out := []widget.Line{{}, {pickBad(deletes(q)).Of(" " + q.Text)}}
	out = append(out, widget.Indent(widget.Wrapped("← "+q.Why, w-3, widget.Dim), 1)...)
	switch {
	case q.Braked:
		out = append(out, widget.Line{widget.Warn.Of(" " + asked + ", approved; it waits for the circuit breaker")})
	case q.Skipped > 0:
		out = append(out, widget.Line{widget.Text.Of(" " + asked), widget.Warn.Of(fmt.Sprintf(", skipped before: %d", q.Skipped))})
	default:
		out = append(out, widget.Line{widget.Text.Of(" " + asked)})
	}
	if keepsLease(e) && braked(e) == "" {
		out = append(out, widget.Indent(widget.Wrapped(keptLease, w-3, widget.Warn), 1)...)
	}
	if q.Problem != "" {
		out = append(out, widget.Indent(widget.Wrapped("cannot show what it changes: "+q.Problem, w-3, widget.Warn), 1)...)
		return out
	}
	if len(q.Diff) == 0 && deletes(q) {
		return out
	}
	return append(out, detail.FieldLines(state.WriteFinished{Diff: q.Diff, Approximate: q.Approximate}, w)...)
}

func pickBad(bad bool) widget.Style {
	if bad {
		return widget.Bad
	}
	return widget.Bold
}

// pressed is a key while the questions are open.
func (v *approvalsView) pressed(m *model, key string) tea.Cmd {
	if a, ok := page.Find(v.actions(m), key); ok {
		return m.do(a)
	}
	v.list.Key(questionRows{m.env, v.questions}, key)
	return nil
}

// actions are the keys. The answers for more than one write are capitals: k and j
// move the cursor, and must never approve anything.
func (v *approvalsView) actions(m *model) []page.Action {
	e := m.env
	q, ok := v.under()
	without := e.Without(e.Approvals != nil)
	none := ""
	switch {
	case without != "":
		none = without
	case !ok:
		none = "no write is pending"
	case q.Braked:
		none = "it is approved, and waits for the circuit breaker"
	}
	brake := page.Action{Keys: []string{"b"}, Label: "trip", Help: "Trip the circuit breaker: nothing is written until you release it.", Off: without, Do: func() tea.Cmd { return v.setBrake(e, true) }}
	if braked(e) != "" {
		brake.Label, brake.Help = "release", "Release the circuit breaker; the limits start again."
		brake.Do = func() tea.Cmd { return v.setBrake(e, false) }
	}
	nothing := without
	if nothing == "" && e.Latest.Controls.Approvals.Len() == 0 {
		nothing = "nothing is approved beyond single writes"
	}
	skip, whole := without, ""
	if !ok {
		skip, whole = none, "no write is pending"
	}
	return []page.Action{
		{Keys: []string{"y"}, Label: "yes", Help: "Approve this write.", Off: none, Do: func() tea.Cmd { return v.answer(e, state.AnswerYes) }},
		{Keys: []string{"s"}, Label: "skip", Help: "Answer with an error; the writer retries later.", Off: skip, Do: func() tea.Cmd { return v.answer(e, state.AnswerSkip) }},
		{Keys: []string{"K"}, Label: "key", Help: coversHelp(q, state.AnswerKey, "of this key"), Off: page.FirstOf(none, uncovered(q, state.AnswerKey)), Do: func() tea.Cmd { return v.answer(e, state.AnswerKey) }},
		{Keys: []string{"C"}, Label: "controller", Help: coversHelp(q, state.AnswerController, "of this controller"), Off: page.FirstOf(none, uncovered(q, state.AnswerController)), Do: func() tea.Cmd { return v.sure(e, q, state.AnswerController) }},
		{Keys: []string{"V"}, Label: "verb", Help: coversHelp(q, state.AnswerVerb, "with this verb"), Off: page.FirstOf(none, uncovered(q, state.AnswerVerb)), Do: func() tea.Cmd { return v.sure(e, q, state.AnswerVerb) }},
		brake,
		{Keys: []string{"w"}, Label: "withdraw", Help: "Withdraw all approvals for more than one write.", Off: nothing, Do: func() tea.Cmd { return v.withdraw(e) }},
		{Keys: []string{"enter"}, Label: "whole", Help: "Show the whole write, and what each answer covers.", Off: whole, Do: func() tea.Cmd { return page.Send(page.ShowMsg{Text: v.whole(e, q)}) }},
		{Keys: []string{"?"}, Label: "help", Help: "Show these keys.", Do: func() tea.Cmd { return v.help(m) }},
		{Keys: []string{"esc", "A", "q"}, Label: "close", Help: "Go back to the page; pending writes stay pending.", Do: func() tea.Cmd { m.approvals = nil; return nil }},
	}
}

func coversHelp(q state.Question, a state.Answer, otherwise string) string {
	if covers := q.Covers[a]; covers != "" {
		return "Approve it, and from now on " + covers + "."
	}
	return "Approve it, and from now on every write " + otherwise + "."
}

func uncovered(q state.Question, a state.Answer) string {
	if q.Covers[a] == "" {
		return "this write has none"
	}
	return ""
}

var errMoved = errors.New("the selected write has changed: check it, and answer again")

// answer answers the question that the picture showed.
func (v *approvalsView) answer(e *page.Env, a state.Answer) tea.Cmd {
	q, _ := v.under()
	if q.ID != v.drawn {
		return page.Complain(errMoved.Error())
	}
	v.drawn = 0 // the next one has to be seen first
	return v.give(e, q, a)
}

func (v *approvalsView) give(e *page.Env, q state.Question, a state.Answer) tea.Cmd {
	if err := e.Approvals.Answer(q.ID, a); err != nil {
		return page.Complain(fmt.Sprintf("answer approval %d: %v", q.ID, err))
	}
	if v.given == nil {
		v.given = map[int]uint64{}
	}
	v.given[q.ID] = e.Latest.Seq
	switch covers := q.Covers[a]; {
	case a == state.AnswerSkip:
		return page.Say(fmt.Sprintf("Skipped %s.", q.Text))
	case covers != "":
		return page.Say(fmt.Sprintf("Approved %s, and from now on %s.", q.Text, covers))
	}
	return page.Say(fmt.Sprintf("Approved %s.", q.Text))
}

// sure asks once more before an answer that covers much.
func (v *approvalsView) sure(e *page.Env, q state.Question, a state.Answer) tea.Cmd {
	if q.ID != v.drawn {
		return page.Complain(errMoved.Error())
	}
	return page.Send(page.ConfirmMsg{Question: "From now on, approve " + q.Covers[a] + "?", Yes: func() tea.Cmd { return v.give(e, q, a) }})
}

func (v *approvalsView) setBrake(e *page.Env, on bool) tea.Cmd {
	if err := e.Approvals.SetBrake(on); err != nil {
		return page.Complain("circuit breaker: " + err.Error())
	}
	if on {
		return page.Say("Breaker tripped: nothing is written until you release it.")
	}
	return page.Say("Breaker released.")
}

func (v *approvalsView) withdraw(e *page.Env) tea.Cmd {
	if err := e.Approvals.Withdraw(); err != nil {
		return page.Complain("withdraw: " + err.Error())
	}
	return page.Say("Each write needs approval again.")
}

// whole is a question as a text.
func (v *approvalsView) whole(e *page.Env, q state.Question) widget.TextView {
	return widget.TextView{Title: fmt.Sprintf("Approval %d of %s", q.ID, q.Controller), Lines: func(w int) []widget.Line {
		out := questionLines(e, q, "asked at "+e.Clock(q.Since), w)[1:]
		out = append(out, widget.Line{}, widget.Heading("What the answers cover"))
		for _, k := range []struct {
			key    string
			answer state.Answer
		}{{"K", state.AnswerKey}, {"C", state.AnswerController}, {"V", state.AnswerVerb}} {
			out = append(out, widget.Fact(k.key, q.Covers[k.answer], widget.Text)...)
		}
		if approved := e.Latest.Controls.Approvals; approved.Len() > 0 {
			out = append(out, widget.Line{}, widget.Heading("Approved already"))
			for _, a := range approved.All() {
				out = append(out, widget.Line{widget.Text.Of(" " + a.Covers)})
			}
		}
		return out
	}}
}

func (v *approvalsView) help(m *model) tea.Cmd {
	actions := v.actions(m)
	return page.Send(page.ShowMsg{Text: widget.TextView{Title: "Help: writes pending approval", Lines: func(w int) []widget.Line {
		out := widget.Indent(widget.Wrapped(aboutApprovals, min(w-2, 100), widget.Text), 1)
		return append(append(out, widget.Line{}), keyLines(actions, w)...)
	}}})
}
