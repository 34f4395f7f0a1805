package tui

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The smallest screen on which anything is drawn.
const (
	minWidth  = 60
	minHeight = 15
)

// View draws the screen: the header, the tabs, the page's title, the page, the
// footer. Its cost is that of the lines.
func (m *model) View() string {
	w, h := m.width, m.height
	t := m.env.Theme
	switch {
	case m.quitting || w == 0:
		return ""
	case w < minWidth || h < minHeight:
		return strings.Join(widget.Fit(t, widget.Wrapped(fmt.Sprintf("The terminal is %d×%d. kctl-ctrl needs %d×%d: make it larger, or use --plain.", w, h, minWidth, minHeight), w, widget.Text), w, h), "\n")
	}
	bottom := []string{m.bottom(w)}
	if m.env.Player != nil {
		bottom = append([]string{m.playline(w)}, bottom...)
	}
	room := m.bodyHeight()
	var body []string
	if m.text != nil {
		body = m.text.View(t, w, room)
	} else if m.approvals != nil {
		body = m.approvals.view(m.env, w, room)
	} else {
		body = m.page().View(m.env, w, room)
	}
	// The title says how far down the body is, so it comes after it.
	lines := append([]string{m.headline(w), m.tabs(w), m.titleLine(w)}, body...)
	return strings.Join(append(lines, bottom...), "\n")
}

// bodyHeight is the height of what is between the title and the footer.
func (m *model) bodyHeight() int {
	const top, bottom = 3, 1
	if m.env.Player != nil {
		return m.height - top - bottom - 1
	}
	return m.height - top - bottom
}

// badge is the mode in a word that cannot be missed.
func (m *model) badge() widget.Span {
	s := m.env.Latest.Session
	switch {
	case m.env.Player != nil:
		return widget.Recording.Of(" RECORDING ")
	case m.env.Standing().Phase == state.ActiveLeading:
		return widget.Active.Of(" ACTIVE ")
	case m.env.Standing().Phase == state.ActiveCandidate:
		return widget.Dry.Of(" CANDIDATE ")
	case m.env.Standing().Phase == state.ActiveEnding:
		return widget.Alarm.Of(" STEPPING DOWN ")
	case m.env.Standing().Ended != "" && !running(m.env.Latest):
		return widget.Alarm.Of(" OBSERVING, " + strings.ToUpper(m.env.Standing().Ended) + " ")
	case s.Mode == state.ModeActive && s.Sandbox:
		return widget.Sandbox.Of(" SANDBOX ")
	case s.Mode == state.ModeActive:
		return widget.Active.Of(" ACTIVE ")
	case m.env.Observing && !running(m.env.Latest):
		return widget.Observe.Of(" OBSERVING ")
	case s.Mode == state.ModeDryRunClient, s.Mode == state.ModeDryRunServer:
		return widget.Dry.Of(" " + strings.ToUpper(string(s.Mode)) + " ")
	case s.Mode != "":
		return widget.Observe.Of(" " + strings.ToUpper(string(s.Mode)) + " ")
	}
	return widget.Observe.Of(" CONNECTING ")
}

// running reports whether a loop of this process runs.
func running(s *state.Snapshot) bool {
	for _, c := range s.Controllers.All() {
		if c.Status == state.ControllerRunning || c.Status == state.ControllerStarting {
			return true
		}
	}
	return false
}

func (m *model) headline(w int) string {
	e := m.env
	s := e.Latest.Session
	l := widget.Line{widget.Bold.Of("kctl-ctrl "), m.badge(), widget.Text.Of(" " + cmp.Or(s.Context, "-"))}
	if s.Namespace != "" {
		l = append(l, widget.Dim.Of(" ns/"+s.Namespace))
	}
	if s.Server != "" && s.Server != s.Context {
		l = append(l, widget.Dim.Of(" "+s.Server))
	}
	var right []widget.Span
	if election, ok := electionSpan(e); ok {
		right = append(right, election)
	} else if leader := leaderOf(e.Latest, e.Now); leader != "" {
		right = append(right, widget.Text.Of("leader "+leader))
	}
	if m.options.Requests != nil {
		right = append(right, widget.Text.Of(fmt.Sprintf("%.0f req/s", e.Trends.RequestsPerSecond())))
	}
	if m.facts.recording != "" {
		right = append(right, widget.Recording.Of("REC"))
	}
	if n := dropped(e.Latest); n > 0 {
		right = append(right, widget.Bad.Of(fmt.Sprintf("dropped %d", n)))
	} else {
		right = append(right, widget.Dim.Of("dropped 0"))
	}
	if n := waiting(e); n > 0 {
		text := " %d PENDING: A "
		if e.Player != nil {
			text = " %d WRITES HELD: A "
		}
		right = append(right, widget.Alarm.Of(fmt.Sprintf(text, n)))
	}
	return widget.Spread(e.Theme, l, right, w)
}

// leaderOf is who holds the lease of the real controller manager, as far as the
// journal knows.
func leaderOf(s *state.Snapshot, now time.Time) string {
	lease, ok := s.Leases.Get(state.ObjectID(state.Ref{Group: "coordination.k8s.io", Resource: "leases", Namespace: "kube-system", Name: "kube-controller-manager"}))
	if !ok || lease.Holder == "" || lease.Deleted {
		return ""
	}
	holder := state.HolderName(lease.Holder)
	if ends := lease.RenewTime.Add(time.Duration(lease.Duration) * time.Second); lease.Duration > 0 && now.After(ends) {
		return holder + " (expired)"
	}
	return holder
}

// dropped is how much of the journal was lost or refused by a bound.
func dropped(s *state.Snapshot) uint64 {
	n := s.Lost
	for _, v := range s.Dropped.All() {
		n += v
	}
	for _, b := range s.Bounds() {
		if !b.History {
			n += b.Dropped
		}
	}
	return n
}

func (m *model) tabs(w int) string {
	var l widget.Line
	for _, row := range m.table {
		style, key := widget.Dim, widget.BarKey
		if row.id == m.shown {
			style, key = widget.Tab, widget.Tab
		}
		l = append(l, key.Of(strconv.Itoa(int(row.id))), style.Of(row.name), widget.Text.Of(" "))
	}
	return l.Draw(m.env.Theme, w, false, widget.Text)
}

// titleLine says what is on the page, or what is wrong.
func (m *model) titleLine(w int) string {
	e := m.env
	if alarm := m.alarm(); alarm != "" {
		return widget.Cell{widget.Alarm.Of(" " + alarm)}.Draw(e.Theme, w, false, widget.Alarm)
	}
	var l widget.Line
	var right []widget.Span
	if m.text != nil {
		l = widget.Line{widget.Title.Of(" " + m.text.Title)}
		right = append(right, widget.Dim.Of(m.text.Place()))
	} else if m.approvals != nil {
		l = widget.Line{widget.Title.Of(" " + m.approvals.title(e))}
	} else if e.Connecting {
		l = widget.Line{widget.Title.Of(" Connecting: " + lastNote(e.Latest))}
	} else {
		l = widget.Line{widget.Title.Of(" " + m.page().Title(e))}
		if f := m.page().Filtering(); f != nil && f.Current.Text != "" {
			right = append(right, widget.Warn.Of(render.Truncate(render.Sanitise("/"+f.Current.Text), w/2)))
		}
		right = append(right, widget.Dim.Of(m.page().Place(e)))
	}
	if e.Paused {
		right = append(right, widget.Warn.Of(fmt.Sprintf("VIEW PAUSED, %d entries behind", e.Latest.Seq-e.Snap.Seq)))
	}
	return widget.Ends(e.Theme, l, right, w)
}

// lastNote is what the session said last.
func lastNote(s *state.Snapshot) string {
	for e := range s.Notes.Backward() {
		if note, ok := e.Event.(state.Note); ok {
			return note.Text
		}
	}
	return "…"
}

// alarm is what must not be missed: a server that does not answer, the brake, two
// leaders.
func (m *model) alarm() string {
	if since := m.facts.lost; !since.IsZero() {
		return fmt.Sprintf("NO ANSWER FROM THE API SERVER for %s: what is shown is STALE (%s)", widget.Age(m.env.Now.Sub(since)), m.facts.reason)
	}
	if failing := m.facts.failing; len(failing) > 0 {
		text := "WATCHES FAIL, what is shown is STALE: " + failing[0]
		if more := len(failing) - 1; more > 0 {
			text += fmt.Sprintf(" and %d more", more)
		}
		return text
	}
	if text := ended(m.env); text != "" {
		return text
	}
	if text := brakeAlarm(m.env); text != "" {
		return text
	}
	for q := range m.env.Latest.Stalled() {
		return fmt.Sprintf("QUEUE STALLED: %s %s: a key has been ready for %s while %d workers are idle (a defect of kctl-ctrl: S saves a recording)",
			render.ShortName(q.Controller), cmp.Or(q.Key, q.Queue), widget.Age(m.env.Now.Sub(q.Since)), q.Idle)
	}
	if p, ok := m.pages[page.Leases].(page.Alarming); ok {
		if text := p.Alarm(m.env); text != "" {
			return text
		}
	}
	return page.FirstOf(m.commandEnded, m.ended)
}

func (m *model) bottom(w int) string {
	t := m.env.Theme
	switch {
	case m.prompt != nil:
		return m.prompt.View(t, w)
	case m.confirm != nil:
		return widget.Line{widget.Warn.Of(" " + m.confirm.Question + " "), widget.BarKey.Of("y"), widget.Bar.Of(" yes, any other key no")}.Draw(t, w, false, widget.Text)
	case m.said.Text != "" && m.said.Bad:
		return widget.Line{widget.Bad.Of(" ! " + m.said.Text)}.Draw(t, w, false, widget.Text)
	case m.said.Text != "":
		return widget.Line{widget.Text.Of(" " + m.said.Text)}.Draw(t, w, false, widget.Text)
	case m.text != nil:
		return page.Footer(t, m.text.actions(m), w)
	case m.approvals != nil:
		return page.Footer(t, m.approvals.actions(m), w)
	}
	return page.Footer(t, append(m.page().Actions(m.env), m.actions()...), w)
}

// playline is the slider of a replay.
func (m *model) playline(w int) string {
	p := m.facts.play
	from, to, at := p.from, p.to, p.at
	sign := "stopped"
	switch {
	case !p.playing && !at.After(from) && p.remarks == "":
		sign = "stopped at its beginning: space plays, ] goes to the first error"
	case p.playing:
		sign = fmt.Sprintf("playing %gx", p.speed)
	}
	left := fmt.Sprintf(" %s  %s  +%s of %s  ", sign, m.env.Clock(at), widget.Age(at.Sub(from)), widget.Age(to.Sub(from)))
	if p.remarks != "" {
		left += p.remarks + "  "
	}
	room := max(w-render.Width(left)-3, 0)
	done := 0
	if span := to.Sub(from); span > 0 {
		done = int(float64(room) * float64(at.Sub(from)) / float64(span))
	}
	done = min(max(done, 0), room)
	return widget.Line{widget.Text.Of(left), widget.Accent.Of("[" + strings.Repeat("#", done) + strings.Repeat("-", room-done) + "]")}.Draw(m.env.Theme, w, false, widget.Text)
}
