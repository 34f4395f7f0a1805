package tui

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
)

// Plain prints a page as lines, for screen readers and pipes: all rows at first,
// then each that came, changed or went, one line each, without any motion. It
// returns when ctx ends or the journal does.
//
//	[CAME] deployment, state running, depth 2
//	[CHANGED] deployment, state running, syncs/s 4
//	[GONE] shop/web
func Plain(ctx context.Context, o Options, w io.Writer) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	p := &plain{model: newModel(ctx, o), ctx: ctx, messages: make(chan tea.Msg), before: map[string]page.Row{}, w: w}
	if err := p.printf("[PAGE] %s\n", p.model.table[p.model.shown-1].name); err != nil {
		return err
	}
	if o.Once {
		return p.once()
	}
	p.start(p.model.Init())
	for {
		select {
		case <-ctx.Done():
			return nil
		case msg := <-p.messages:
			if over, err := p.take(msg); over || err != nil {
				return err
			}
		}
	}
}

// plain runs the model without a screen: its commands, and lines in the place of
// its view.
type plain struct {
	model    *model
	ctx      context.Context
	messages chan tea.Msg
	w        io.Writer
	title    string
	// before has the rows as they were printed last.
	before map[string]page.Row
	// drawn: the rows have been printed once.
	drawn bool
}

func (p *plain) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(p.w, format, args...)
	return err
}

// once prints the rows of the journal's next snapshot, with what the page has to ask
// for.
func (p *plain) once() error {
	snap, err := p.model.options.Journal.Next(p.ctx, nil)
	if err != nil {
		return err
	}
	e := p.model.env
	e.Now, e.Snap, e.Latest = p.model.options.Now(), snap, snap
	p.model.carryOut(p.model.page().Update(page.ShownMsg{}, e))
	p.model.carryOut(p.model.openFirst())
	p.model.carryOut(p.model.all(page.SnapshotMsg{}))
	return p.look()
}

// carryOut runs a command, and what follows from it, before it returns.
func (m *model) carryOut(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	switch msg := cmd().(type) {
	case nil:
	case tea.BatchMsg:
		for _, c := range msg {
			m.carryOut(c)
		}
	default:
		_, next := m.Update(msg)
		m.carryOut(next)
	}
}

// start runs a command as Bubble Tea does: on a goroutine, its message comes back.
func (p *plain) start(cmd tea.Cmd) {
	if cmd == nil {
		return
	}
	go func() {
		msg := cmd()
		if msg == nil {
			return
		}
		select {
		case p.messages <- msg:
		case <-p.ctx.Done():
		}
	}()
}

// take handles one message and prints what follows from it: at once for the first
// rows and for what the program says, else once a second.
func (p *plain) take(msg tea.Msg) (over bool, err error) {
	switch msg := msg.(type) {
	case tea.BatchMsg:
		for _, cmd := range msg {
			p.start(cmd)
		}
		return false, nil
	case tea.QuitMsg:
		return true, p.model.failed
	case page.SayMsg:
		return false, p.printf("[SAYS] %s\n", render.Sanitise(msg.Text))
	}
	_, cmd := p.model.Update(msg)
	p.start(cmd)
	if _, second := msg.(secondMsg); second || !p.drawn && p.model.env.Snap.Seq > 0 {
		p.drawn = true
		err = p.look()
	}
	if p.model.ended != "" {
		return true, errors.Join(err, p.look())
	}
	return false, err
}

func (p *plain) look() error {
	title := p.model.page().Title(p.model.env)
	if alarm := p.model.alarm(); alarm != "" {
		title = "ALARM: " + alarm
	}
	if title != p.title {
		p.title = title
		if err := p.printf("[NOW] %s\n", render.Sanitise(title)); err != nil {
			return err
		}
	}
	return plainChanges(p.w, p.before, p.model.page().Plain(p.model.env))
}

// plainChanges prints what differs from before, and takes the rows over.
func plainChanges(w io.Writer, before map[string]page.Row, now []page.Row) error {
	seen := make(map[string]bool, len(now))
	for _, r := range now {
		seen[r.ID] = true
		old, had := before[r.ID]
		what := "[CAME]"
		switch {
		case had && old.Text == r.Text:
			continue
		case had:
			what = "[CHANGED]"
		}
		before[r.ID] = r
		if _, err := fmt.Fprintf(w, "%s %s\n", what, render.Sanitise(r.Text)); err != nil {
			return err
		}
	}
	for _, id := range slices.Sorted(maps.Keys(before)) {
		if seen[id] {
			continue
		}
		if old := before[id]; !old.History {
			if _, err := fmt.Fprintf(w, "[GONE] %s\n", render.Sanitise(old.Text)); err != nil {
				return err
			}
		}
		delete(before, id)
	}
	return nil
}
