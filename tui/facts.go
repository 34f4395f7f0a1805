package tui

import "time"

// facts are what a picture shows of the parts of a session that the journal does not
// tell: they are asked for once per message, in Update, so that drawing asks nobody.
type facts struct {
	// lost is when the API server answered last, where it does not, and reason why;
	// failing names the types whose watches end at once.
	lost    time.Time
	reason  string
	failing []string
	// recording is the file that is being written.
	recording string
	play      play
}

// play is where a replay stands.
type play struct {
	from, to, at time.Time
	playing      bool
	speed        float64
	remarks      string
}

func (m *model) lookAround() facts {
	var f facts
	if c := m.options.Connection; c != nil {
		f.lost, f.reason = c.Lost()
		f.failing = c.Failing()
	}
	if r := m.options.Recorder; r != nil {
		f.recording = r.File()
	}
	if p := m.env.Player; p != nil {
		f.play = play{at: p.Position(), playing: p.Playing(), speed: p.Speed(), remarks: p.Remarks()}
		f.play.from, f.play.to = p.Range()
	}
	return f
}

// settle makes the model what the next picture shows: View asks nobody, and changes
// nothing that another picture or a key would see.
func (m *model) settle() {
	m.facts = m.lookAround()
	if m.approvals != nil {
		m.approvals.settle(m.env)
	}
}
