// Package detail puts into lines what is known of a write, of a step from cause to
// effect, and of an entry of the journal. Several pages show them.
package detail

import (
	"fmt"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/causality"
)

// WriteDetail is all that is known of one write. Its hop is nil while cause and
// effect are not linked yet.
func WriteDetail(e *page.Env, w *state.Write, hop *causality.Hop, width int) []widget.Line {
	object := w.Object.Type()
	if w.Subresource != "" {
		object += "/" + w.Subresource
	}
	out := []widget.Line{widget.Heading(w.Verb + " " + object)}
	out = append(out, widget.Fact("object", w.Object.Key(), widget.Bold)...)
	out = append(out, widget.Fact("at", e.Clock(w.At)+", took "+state.Short(w.Duration), widget.Text)...)
	out = append(out, widget.Fact("by", w.Controller, widget.Text)...)
	out = append(out, widget.Fact("key", w.Cause.Key, widget.Text)...)
	out = append(out, widget.Fact("result", resultSentence(w.WriteFinished), ResultStyle(w.Result))...)
	out = append(out, widget.Fact("status", StatusCode(w.Status), widget.BadIf(w.Status >= 400))...)
	if about, ok := w.About(); ok {
		out = append(out, widget.WrappedFact("about", about.String(), width, widget.Bold)...)
	}
	if w.Tells != nil {
		out = append(out, widget.WrappedFact("event", w.Tells.Head(), width, widget.WarnIf(w.Tells.Type == "Warning"))...)
		out = append(out, widget.WrappedFact("message", w.Tells.Message, width, widget.Text)...)
	}
	if w.Message != "" {
		out = append(out, widget.Indent(widget.Wrapped(w.Message, width-2, widget.BadIf(w.Status >= 400 || w.Result == state.WriteRefused)), 1)...)
	}
	if w.Repeat > 0 {
		out = append(out, widget.Fact("repeat", fmt.Sprintf("the same was written %d times before, dry", w.Repeat), widget.Warn)...)
	}
	if hop != nil && hop.Unchanged {
		out = append(out, widget.Fact("effect", "none: the object was so already, and no event follows", widget.Dim)...)
	}
	out = append(out, widget.Line{}, widget.Heading("Fields"))
	out = append(out, FieldLines(w.WriteFinished, width)...)
	out = append(out, widget.Line{}, widget.Heading("Cause"))
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
		return "dry: answered in this process, never sent to the server"
	case w.Result == state.WriteRefused:
		return "refused by the guard (" + string(w.Mode) + ")"
	}
	return "failed (" + string(w.Mode) + ")"
}

// FieldLines are the fields that a write changes: from the old value to the new.
func FieldLines(w state.WriteFinished, width int) []widget.Line {
	var out []widget.Line
	for _, c := range w.Diff {
		switch {
		case c.Old == "" && c.New == "":
			out = append(out, widget.Line{widget.Dim.Of(" " + c.Path)})
		case c.Old == "":
			out = append(out, widget.Line{widget.Text.Of(" + " + c.Path + ": "), widget.Good.Of(c.New)})
		case c.New == "":
			out = append(out, widget.Line{widget.Text.Of(" - " + c.Path + ": "), widget.Bad.Of(c.Old)})
		default:
			l := widget.Line{widget.Text.Of(" ~ " + c.Path + ": "), widget.Bad.Of(c.Old), widget.Dim.Of(" → "), widget.Good.Of(c.New)}
			if render.Width(l.Text()) > width {
				out = append(out, widget.Line{widget.Text.Of(" ~ " + c.Path)}, widget.Line{widget.Text.Of("     "), widget.Bad.Of(c.Old)}, widget.Line{widget.Dim.Of("   → "), widget.Good.Of(c.New)})
				continue
			}
			out = append(out, l)
		}
	}
	if len(out) == 0 {
		out = append(out, widget.Line{widget.Dim.Of(" no field changes are known")})
	}
	if w.Approximate {
		out = append(out, widget.Indent(widget.Wrapped("approximate: before the server's defaulting and admission", width-2, widget.Warn), 1)...)
	}
	return out
}

// maxBehind bounds the steps that are told back from a write.
const maxBehind = 40

// causeLines goes back from a write to where it all began.
func causeLines(w *state.Write, hop *causality.Hop, width int) []widget.Line {
	if hop == nil {
		return []widget.Line{{widget.Dim.Of(" ← " + page.FirstOf(w.Cause.String(), string(causality.OriginUnknown)))}}
	}
	var out []widget.Line
	for steps := 0; ; steps++ {
		if hop.Parent == nil {
			return append(out, widget.Line{widget.Warn.Of(" ← " + string(hop.Origin))})
		}
		if steps == maxBehind {
			return append(out, widget.Line{widget.Dim.Of(fmt.Sprintf(" … back to %s", causality.Describe(hop.Root())))})
		}
		how := ""
		if !hop.Link.Sure() {
			how = ", supposed: " + supposedBy(hop.Link)
		}
		text := fmt.Sprintf("%s (%s before%s)", causality.Describe(hop.Parent), state.Short(hop.Latency()), how)
		for i, part := range widget.Wrap(text, max(width-4, 20)) {
			lead := "   "
			if i == 0 {
				lead = " ← "
			}
			out = append(out, widget.Line{widget.Dim.Of(lead), hopStyle(hop.Parent).Of(part)})
		}
		hop = hop.Parent
	}
}

func supposedBy(l causality.HopLink) string {
	switch l {
	case causality.LinkOwner:
		return "its owner"
	case causality.LinkAbout:
		return "the object that the Event names"
	}
	return "the same object"
}

func hopStyle(h *causality.Hop) widget.Style {
	switch {
	case h.Failed():
		return widget.Bad
	case h.Kind == causality.HopWrite:
		return widget.Bold
	case h.Kind == causality.HopSync:
		return widget.Text
	}
	return widget.Dim
}

// WriteText is a write as one line and its fields below it, in the words of
// kubectl. What a shell would expand is quoted.
func WriteText(w state.WriteFinished) string {
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
	text += ": " + ResultWord(w)
	if w.Status != 0 {
		text += fmt.Sprintf(", %d", w.Status)
	}
	text = render.Sanitise(text + " in " + state.Short(w.Duration))
	for _, l := range FieldLines(w, 1<<20) {
		text += "\n#" + l.Text()
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
