package tui

import (
	"fmt"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// writeDetail is all that is known of one write. Its hop is nil while cause and
// effect are not linked yet.
func writeDetail(e *env, w *state.Write, hop *state.Hop, width int) []line {
	object := w.Object.Type()
	if w.Subresource != "" {
		object += "/" + w.Subresource
	}
	out := []line{heading(w.Verb + " " + object)}
	out = append(out, fact("object", w.Object.Key(), styleBold)...)
	out = append(out, fact("at", e.clock(w.At)+", took "+state.Short(w.Duration), styleText)...)
	out = append(out, fact("by", w.Controller, styleText)...)
	out = append(out, fact("key", w.Cause.Key, styleText)...)
	out = append(out, fact("result", resultSentence(w.WriteFinished), resultStyle(w.Result))...)
	out = append(out, fact("status", statusCode(w.Status), badIf(w.Status >= 400))...)
	if about, ok := w.About(); ok {
		out = append(out, wrappedFact("about", about.String(), width, styleBold)...)
	}
	if w.Tells != nil {
		out = append(out, wrappedFact("event", w.Tells.Head(), width, warnIf(w.Tells.Type == "Warning"))...)
		out = append(out, wrappedFact("message", w.Tells.Message, width, styleText)...)
	}
	if w.Message != "" {
		out = append(out, indent(wrapped(w.Message, width-2, badIf(w.Status >= 400 || w.Result == state.WriteRefused)), 1)...)
	}
	if w.Repeat > 0 {
		out = append(out, fact("repeat", fmt.Sprintf("the same was written %d times before, dry", w.Repeat), styleWarn)...)
	}
	if hop != nil && hop.Unchanged {
		out = append(out, fact("effect", "none: the object was so already, and no event follows", styleDim)...)
	}
	out = append(out, line{}, heading("Fields"))
	out = append(out, fieldLines(w.WriteFinished, width)...)
	out = append(out, line{}, heading("What is behind it"))
	return append(out, causeLines(w, hop, width)...)
}

// resultSentence says what became of a write, for who does not know the words.
func resultSentence(w state.WriteFinished) string {
	switch {
	case w.Result == state.WriteDone:
		return "real: the server carried it out"
	case w.Result == state.WriteDry && w.Mode == state.ModeDryRunServer:
		return "dry: the server checked it and stored nothing"
	case w.Result == state.WriteDry:
		return "dry: answered in this process, the server does not know of it"
	case w.Result == state.WriteRefused:
		return "refused by the guard (" + string(w.Mode) + ")"
	}
	return "failed (" + string(w.Mode) + ")"
}

func fieldLines(w state.WriteFinished, width int) []line {
	var out []line
	for _, c := range w.Diff {
		switch {
		case c.Old == "" && c.New == "":
			out = append(out, line{styleDim.of(" " + c.Path)})
		case c.Old == "":
			out = append(out, line{styleText.of(" + " + c.Path + ": "), styleGood.of(c.New)})
		case c.New == "":
			out = append(out, line{styleText.of(" - " + c.Path + ": "), styleBad.of(c.Old)})
		default:
			l := line{styleText.of(" ~ " + c.Path + ": "), styleBad.of(c.Old), styleDim.of(" → "), styleGood.of(c.New)}
			if render.Width(l.text()) > width {
				out = append(out, line{styleText.of(" ~ " + c.Path)}, line{styleText.of("     "), styleBad.of(c.Old)}, line{styleDim.of("   → "), styleGood.of(c.New)})
				continue
			}
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		out = append(out, line{styleDim.of(" no field changes are known of it")})
	}
	if w.Approximate {
		out = append(out, indent(wrapped("approximate: before the server's defaulting and admission", width-2, styleWarn), 1)...)
	}
	return out
}

// maxBehind bounds the steps that are told back from a write.
const maxBehind = 40

// causeLines goes back from a write to where it all began.
func causeLines(w *state.Write, hop *state.Hop, width int) []line {
	if hop == nil {
		return []line{{styleDim.of(" ← " + firstOf(w.Cause.String(), string(state.OriginUnknown)))}}
	}
	var out []line
	for steps := 0; ; steps++ {
		if hop.Parent == nil {
			return append(out, line{styleWarn.of(" ← " + string(hop.Origin))})
		}
		if steps == maxBehind {
			return append(out, line{styleDim.of(fmt.Sprintf(" … back to %s", state.DescribeHop(hop.Root())))})
		}
		how := ""
		if !hop.Link.Sure() {
			how = ", supposed: " + supposedBy(hop.Link)
		}
		text := fmt.Sprintf("%s (%s before%s)", state.DescribeHop(hop.Parent), state.Short(hop.Latency()), how)
		for i, part := range wrap(text, max(width-4, 20)) {
			lead := "   "
			if i == 0 {
				lead = " ← "
			}
			out = append(out, line{styleDim.of(lead), hopStyle(hop.Parent).of(part)})
		}
		hop = hop.Parent
	}
}

func supposedBy(l state.HopLink) string {
	switch l {
	case state.LinkOwner:
		return "its owner"
	case state.LinkAbout:
		return "the object that the Event names"
	}
	return "the same object"
}

func hopStyle(h *state.Hop) styleName {
	switch {
	case h.Failed():
		return styleBad
	case h.Kind == state.HopWrite:
		return styleBold
	case h.Kind == state.HopSync:
		return styleText
	}
	return styleDim
}

// writeText is a write as one line and its fields below it, in the words of
// kubectl. What a shell would expand is quoted.
func writeText(w state.WriteFinished) string {
	object := w.Object.Type()
	if w.Object.Name != "" {
		object += "/" + w.Object.Name
	}
	words := []string{w.Verb, quoted(object)}
	if w.Object.Namespace != "" {
		words = append(words, "--namespace="+quoted(w.Object.Namespace))
	}
	if w.Subresource != "" {
		words = append(words, "--subresource="+quoted(w.Subresource))
	}
	if w.Result == state.WriteDry {
		words = append(words, "--"+string(w.Mode))
	}
	text := strings.Join(words, " ") + "  # " + render.ShortName(w.Controller)
	if w.Cause.Key != "" {
		text += " for " + w.Cause.Key
	}
	text += ": " + resultWord(w)
	if w.Status != 0 {
		text += fmt.Sprintf(", %d", w.Status)
	}
	text = render.Sanitise(text + " in " + state.Short(w.Duration))
	for _, l := range fieldLines(w, 1<<20) {
		text += "\n#" + l.text()
	}
	return text + "\n"
}

// quoted puts text in single quotes where it is not of a name's characters.
func quoted(s string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-./:_"
	if !strings.ContainsFunc(s, func(r rune) bool { return !strings.ContainsRune(plain, r) }) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
