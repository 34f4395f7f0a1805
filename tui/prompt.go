package tui

import (
	"strings"

	"github.com/charmbracelet/bubbles/cursor"
	"github.com/charmbracelet/bubbles/textinput"
	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/render"
)

// prompt is a line of text being typed, in the place of the footer.
type prompt struct {
	promptOptions
	input textinput.Model
	// live is told of each change, for a filter that shows at once.
	live    func(string)
	history []string
	recall  int
}

// promptOptions are what is asked for.
type promptOptions struct {
	label, value string
	complete     func(string) []string
	done         func(string) tea.Cmd
	// left is what leaving the prompt leads to; it may be nil.
	left func() tea.Cmd
	// once: what is typed is not offered again.
	once bool
}

// maxPrompt bounds what can be typed or pasted, in characters.
const maxPrompt = 512

func newPrompt(o promptOptions, history []string) *prompt {
	in := textinput.New()
	in.Prompt, in.CharLimit = "", maxPrompt
	in.Cursor.SetMode(cursor.CursorStatic) // view draws it; a blink would be a timer per key
	in.SetValue(o.value)
	in.CursorEnd()
	in.Focus()
	return &prompt{promptOptions: o, input: in, history: history, recall: len(history)}
}

// key takes a key; closed says that the prompt is over, with what it leads to.
func (p *prompt) key(msg tea.KeyMsg) (closed bool, entered string, cmd tea.Cmd) {
	switch msg.String() {
	case "esc", "ctrl+g":
		if p.live != nil {
			p.live("")
		}
		if p.left != nil {
			return true, "", p.left()
		}
		return true, "", nil
	case "enter":
		text := strings.TrimSpace(p.input.Value())
		return true, text, p.done(text)
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
	if p.live != nil {
		p.live(p.input.Value())
	}
	return false, "", nil
}

func (p *prompt) remember(by int) {
	p.recall = min(max(p.recall+by, 0), len(p.history))
	text := ""
	if p.recall < len(p.history) {
		text = p.history[p.recall]
	}
	p.input.SetValue(text)
	p.input.CursorEnd()
	if p.live != nil {
		p.live(text)
	}
}

func (p *prompt) candidates() []string {
	if p.complete == nil {
		return nil
	}
	return p.complete(p.input.Value())
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

// view draws the line: what was typed so far, and what could follow.
func (p *prompt) view(t *Theme, w int) string {
	typed := p.input.Value()
	before, after := typed, ""
	if at := p.input.Position(); at < len([]rune(typed)) {
		before, after = string([]rune(typed)[:at]), string([]rune(typed)[at:])
	}
	// What is left of the cursor stays on the screen, whatever its length.
	for room := w - render.Width(p.label) - 2; render.Width(before) > room && before != ""; {
		before = string([]rune(before)[1:])
	}
	l := line{styleBarKey.of(p.label), styleText.of(before)}
	if after == "" {
		l = append(l, styleSelected.of(" "))
	} else {
		l = append(l, styleSelected.of(string([]rune(after)[:1])), styleText.of(string([]rune(after)[1:])))
	}
	if all := p.candidates(); len(all) > 0 && typed != "" {
		l = append(l, styleDim.of("   "+strings.Join(all, " ")))
	}
	return l.draw(t, w, false, styleText)
}
