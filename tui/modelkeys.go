package tui

import (
	"fmt"
	"slices"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
)

// keys takes apart what was typed faster than it was read, which Bubble Tea gives as
// one message. What is pasted is text for a prompt, and no keys.
func (m *model) keys(msg tea.KeyMsg) tea.Cmd {
	switch {
	case msg.Paste && m.prompt == nil:
		return page.Complain("What you pasted was ignored: nothing here takes text.")
	case msg.Type != tea.KeyRunes || len(msg.Runes) < 2 || msg.Paste:
		return m.atOnce(m.key(msg))
	}
	var cmds []tea.Cmd
	for _, r := range msg.Runes {
		cmds = append(cmds, m.atOnce(m.key(tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune{r}, Alt: msg.Alt})))
	}
	return tea.Batch(cmds...)
}

// atOnce handles a message that needs no waiting, such as a prompt or a jump to
// another page, before the next key is read: that key is meant for it.
func (m *model) atOnce(cmd tea.Cmd) tea.Cmd {
	msg, ok := page.Sent(cmd)
	if !ok {
		return cmd
	}
	_, cmd = m.update(msg)
	return m.atOnce(cmd)
}

// key goes to what lies on top.
func (m *model) key(msg tea.KeyMsg) tea.Cmd {
	key := msg.String()
	switch {
	case key == "ctrl+c":
		return m.quit()
	case key == "ctrl+z":
		return tea.Suspend
	case m.prompt != nil:
		return m.typing(msg)
	case m.confirm != nil:
		c := m.confirm
		m.confirm = nil
		if key == "y" || key == "Y" {
			return c.Yes()
		}
		return page.Say("Nothing was done.")
	}
	m.said, m.errorAt = page.SayMsg{}, time.Time{}
	if m.text != nil {
		if a, ok := page.Find(m.text.actions(m), key); ok {
			return m.do(a)
		}
		if !m.text.Key(key) {
			if a, ok := page.Find(m.overText(), key); ok {
				return m.do(a)
			}
		}
		return nil
	}
	if m.approvals != nil {
		return m.approvals.pressed(m, key)
	}
	p := m.page()
	if a, ok := page.Find(p.Actions(m.env), key); ok {
		cmd := m.do(a)
		changed := p.Update(page.ChangedMsg{}, m.env)
		return tea.Batch(m.atOnce(cmd), changed)
	}
	if p.Key(key, m.env) {
		return p.Update(page.ChangedMsg{}, m.env)
	}
	if a, ok := page.Find(m.actions(), key); ok {
		return m.do(a)
	}
	return nil
}

// over opens a text over the page, or over another text.
func (m *model) over(text *overlay) {
	text.under = m.text
	m.text = text
}

func (m *model) do(a page.Action) tea.Cmd {
	if a.Off != "" {
		return page.Complain(fmt.Sprintf("%s: not now: %s", strings.TrimSuffix(firstWords(a), "."), a.Off))
	}
	return a.Do()
}

func firstWords(a page.Action) string {
	if a.Label != "" {
		return a.Label
	}
	first, _, _ := strings.Cut(a.Help, ": ")
	return first
}

func (m *model) typing(msg tea.KeyMsg) tea.Cmd {
	p := m.prompt
	closed, entered, cmd := p.Key(msg)
	if closed {
		m.prompt = nil
		if entered != "" && !p.Once {
			kept := slices.DeleteFunc(m.typed[p.Label], func(s string) bool { return s == entered })
			m.typed[p.Label] = append(kept[max(len(kept)-99, 0):], entered)
		}
	}
	if p.Live != nil { // it filters while one types
		return tea.Batch(m.atOnce(cmd), m.page().Update(page.FilteredMsg{}, m.env))
	}
	return cmd
}

func (m *model) open(p page.PromptMsg, live func(string) error) {
	m.prompt = widget.NewPrompt(widget.PromptOptions(p), m.typed[p.Label])
	m.prompt.Live = live
}
