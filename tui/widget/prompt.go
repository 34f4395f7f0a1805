package widget

import (
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// Prompt is a line of text being typed, in the place of the footer.
type Prompt struct {
	PromptOptions
	input textinput.Model
	// Live is told of each change, for a filter that shows at once. Its error is shown
	// beside what is typed, and keeps the prompt open.
	Live    func(string) error
	err     error
	history []string
	recall  int
}

// PromptOptions are what is asked for.
type PromptOptions struct {
	Label, Value string
	Complete     func(string) []string
	Done         func(string) tea.Cmd
	// Left is what leaving the prompt leads to; it may be nil.
	Left func() tea.Cmd
	// Once: what is typed is not offered again.
	Once bool
}

// maxPrompt bounds what can be typed or pasted, in characters.
const maxPrompt = 512

// NewPrompt opens a prompt; history are earlier texts, the latest last.
func NewPrompt(o PromptOptions, history []string) *Prompt {
	in := textinput.New()
	in.Prompt, in.CharLimit = "", maxPrompt
	in.Cursor.SetMode(cursor.CursorStatic) // view draws it; a blink would be a timer per key
	in.SetValue(o.Value)
	in.CursorEnd()
	in.Focus()
	return &Prompt{PromptOptions: o, input: in, history: history, recall: len(history)}
}

// Key takes a key; closed says that the prompt is over, with what it leads to.
func (p *Prompt) Key(msg tea.KeyMsg) (closed bool, entered string, cmd tea.Cmd) {
	switch msg.String() {
	case "esc", "ctrl+g":
		if p.Live != nil {
			p.err = p.Live("")
		}
		if p.Left != nil {
			return true, "", p.Left()
		}
		return true, "", nil
	case "enter":
		text := strings.TrimSpace(p.input.Value())
		if p.err != nil {
			return false, "", nil
		}
		return true, text, p.Done(text)
	case "tab":
		if all := p.candidates(); len(all) > 0 {
			p.input.SetValue(common(all))
			p.input.CursorEnd()
		}
		return false, "", nil
	case "up", "ctrl+p":
		p.remember(-1)
		return false, "", nil
	case "down", "ctrl+n":
		p.remember(1)
		return false, "", nil
	}
	p.input, _ = p.input.Update(msg) // its command blinks a cursor that is not drawn
	if p.Live != nil {
		p.err = p.Live(p.input.Value())
	}
	return false, "", nil
}

func (p *Prompt) remember(by int) {
	p.recall = min(max(p.recall+by, 0), len(p.history))
	text := ""
	if p.recall < len(p.history) {
		text = p.history[p.recall]
	}
	p.input.SetValue(text)
	p.input.CursorEnd()
	if p.Live != nil {
		p.err = p.Live(text)
	}
}

func (p *Prompt) candidates() []string {
	if p.Complete == nil {
		return nil
	}
	return p.Complete(p.input.Value())
}

// common is the longest beginning that all have.
func common(all []string) string {
	out := all[0]
	for _, s := range all[1:] {
		for !strings.HasPrefix(s, out) {
			out = out[:len(out)-1]
		}
	}
	return out
}

// View draws the line: what was typed so far, and what could follow.
func (p *Prompt) View(t *Theme, w int) string {
	typed := p.input.Value()
	before, after := typed, ""
	if at := p.input.Position(); at < len([]rune(typed)) {
		before, after = string([]rune(typed)[:at]), string([]rune(typed)[at:])
	}
	// What is left of the cursor stays on the screen, whatever its length.
	for room := w - render.Width(p.Label) - 2; render.Width(before) > room && before != ""; {
		before = string([]rune(before)[1:])
	}
	l := Line{BarKey.Of(p.Label), Text.Of(before)}
	if after == "" {
		l = append(l, Selected.Of(" "))
	} else {
		l = append(l, Selected.Of(string([]rune(after)[:1])), Text.Of(string([]rune(after)[1:])))
	}
	if p.err != nil {
		l = append(l, Bad.Of("  ! "+p.err.Error()))
	}
	if all := p.candidates(); len(all) > 0 && typed != "" {
		l = append(l, Dim.Of("   "+strings.Join(all, " ")))
	}
	return l.Draw(t, w, false, Text)
}
