package detail

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/causality"
)

// HopTime is the time since the hop before: "+6ms", or "+0.4–31ms" for several.
func HopTime(b *causality.Branch) string {
	least, most := millis(b.Least), millis(b.Most)
	if least == most {
		return "+" + most
	}
	if strings.HasSuffix(most, "ms") {
		least = strings.TrimSuffix(least, "ms")
	}
	return "+" + least + "–" + most
}

// millis is a duration of at most a second in milliseconds, in two figures or
// more: "0.4ms", "31ms"; a longer one as usual.
func millis(d time.Duration) string {
	switch ms := float64(d) / float64(time.Millisecond); {
	case d >= time.Second:
		return state.Short(d)
	case ms < 0.1:
		return "0ms"
	case ms < 10:
		return fmt.Sprintf("%.1fms", ms)
	default:
		return fmt.Sprintf("%.0fms", ms)
	}
}

// HopSpans are a branch in words. Of several alike it says what they share.
func HopSpans(b *causality.Branch, root *causality.Branch) widget.Cell {
	first := b.First()
	var out widget.Cell
	if b.Parent != nil && !b.Sure && first.Link != causality.LinkAbout { // first, where no width cuts it off
		out = append(out, widget.Warn.Of("(supposed) "))
	}
	n := len(b.Hops)
	if n > 1 {
		out = append(out, widget.Bold.Of(fmt.Sprintf("%d × ", n)))
	}
	style := hopStyle(first)
	if first.Kind != causality.HopWrite { // which its verb tells
		out = append(out, widget.Dim.Of(string(first.Kind)+" "))
	}
	switch e := first.Event.(type) {
	case state.ObjectChanged:
		out = append(out, widget.Text.Of(e.Object.Resource+named(b, root)), widget.Dim.Of(" "+string(e.Change)))
	case state.KeyAdded:
		out = append(out, widget.Text.Of(render.ShortName(e.Controller)+keyed(b)), widget.Dim.Of(added(b, e)))
	case state.KeyTaken:
		out = append(out, style.Of(render.ShortName(e.Controller)+keyed(b)), widget.StyleIf(first.Failed(), widget.Bad).Of(synced(b)))
	case state.WriteFinished:
		if about, ok := e.About(); ok {
			if n > 1 && e.Tells != nil { // they share no more
				e.Tells = &state.EventText{Type: e.Tells.Type, Reason: e.Tells.Reason}
			}
			by := widget.Cell{widget.Text.Of(toldOf(b, about)), widget.Dim.Of(" by " + render.ShortName(e.Controller)), widget.StyleIf(first.Failed(), widget.Bad).Of(wrote(b, e))}
			return append(out, ToldSpans(e, by)...)
		}
		kind := e.Object.Resource
		if e.Subresource != "" {
			kind += "/" + e.Subresource
		}
		out = append(out, style.Of(e.Verb+" "+kind+named(b, root)),
			widget.Dim.Of(" by "+render.ShortName(e.Controller)), widget.StyleIf(first.Failed(), widget.Bad).Of(wrote(b, e)))
	}
	return out
}

// named is the object's name where all are about one, or else their number. The
// namespace is that of the root unless it is said.
func named(b *causality.Branch, root *causality.Branch) string {
	first, _ := b.First().Object()
	for _, h := range b.Hops {
		if o, _ := h.Object(); !o.Same(first) || o.Name != first.Name {
			return ""
		}
	}
	if home, ok := root.First().Object(); ok && home.Namespace == first.Namespace && first.Name != "" {
		return " " + first.Name
	}
	return strings.TrimRight(" "+first.Key(), " ")
}

func keyed(b *causality.Branch) string {
	_, _, first, _ := b.First().Key()
	for _, h := range b.Hops {
		if _, _, key, _ := h.Key(); key != first {
			return ""
		}
	}
	return " " + first
}

func added(b *causality.Branch, e state.KeyAdded) string {
	switch {
	case e.How == "AddRateLimited" && e.Retries > 0:
		return fmt.Sprintf(", retry %d in %s", e.Retries, state.Short(e.Delay))
	case e.Delay > 0:
		return ", due in " + state.Short(e.Delay)
	case e.Merged && len(b.Hops) == 1:
		if into := b.First().Into; into != 0 {
			return fmt.Sprintf(", merged into sync %d", into)
		}
		return ", merged"
	}
	return ""
}

func synced(b *causality.Branch) string {
	first := b.First()
	if len(b.Hops) > 1 {
		return suffixIf(first.Failed(), ", failed")
	}
	if first.Done == nil {
		return ", under way"
	}
	text := " " + state.Short(first.Done.Duration)
	if first.Done.Failed {
		text += ", failed: " + page.FirstOf(first.Done.Error, "no error reported")
	}
	return text
}

// ToldSpans are an Event that is written: what it says, of what and by whom, and its
// message.
func ToldSpans(e state.WriteFinished, by widget.Cell) widget.Cell {
	out := widget.Cell{widget.Dim.Of("Event")}
	if e.Tells == nil {
		return append(out, by...)
	}
	if head := e.Tells.Head(); head != "" {
		out = append(out, widget.WarnIf(e.Tells.Type == "Warning").Of(" "+head))
	}
	out = append(out, by...)
	if e.Tells.Message != "" {
		out = append(out, widget.Text.Of(": "+e.Tells.Message))
	}
	return out
}

// toldOf names the object of which an Event tells, unless the hop before is about it.
func toldOf(b *causality.Branch, about state.Ref) string {
	if b.Parent != nil {
		if o, ok := b.Parent.First().Object(); ok && o.Same(about) {
			return ""
		}
	}
	if len(b.Hops) > 1 {
		return " of " + about.Type()
	}
	return " of " + about.Type() + " " + about.Key()
}

func wrote(b *causality.Branch, e state.WriteFinished) string {
	if len(b.Hops) > 1 {
		return suffixIf(e.Result != state.WriteDone, ", "+ResultWord(e))
	}
	text := WroteOnce(e)
	if b.First().Unchanged {
		text += ", changed nothing"
	}
	return text + suffixIf(b.First().Failed() && e.Message != "", ": "+e.Message)
}

func suffixIf(yes bool, text string) string {
	if yes {
		return text
	}
	return ""
}

// WroteOnce is how one write ended, and what it took.
func WroteOnce(e state.WriteFinished) string {
	text := suffixIf(e.Result != state.WriteDone, ", "+ResultWord(e))
	if e.Status >= 400 {
		text += " " + strconv.Itoa(e.Status)
	}
	return text + " " + state.Short(e.Duration)
}

// HopDetail is all that is known of one hop.
func HopDetail(e *page.Env, h *causality.Hop, width int) []widget.Line {
	if w, ok := h.Event.(state.WriteFinished); ok {
		return WriteDetail(e, &state.Write{Seq: h.Seq, At: h.End, WriteFinished: w}, h, width)
	}
	out := []widget.Line{widget.Heading(string(h.Kind))}
	out = append(out, widget.Indent(widget.Wrapped(causality.Describe(h), width-2, hopStyle(h)), 1)...)
	out = append(out, widget.Fact("at", e.Clock(h.Start), widget.Text)...)
	if h.Done != nil {
		out = append(out, widget.Fact("until", e.Clock(h.End), widget.Text)...)
		out = append(out, widget.Fact("waited", widget.DurationOf(h.Done.Waited), widget.Text)...)
		if h.Done.Causes > 1 {
			out = append(out, widget.Fact("merged", fmt.Sprintf("added %d times, one sync", h.Done.Causes), widget.Text)...)
		}
	}
	out = append(out, widget.Line{}, widget.Heading("Cause"))
	out = append(out, causeLines(&state.Write{}, h, width)...)
	if len(h.Children) == 0 {
		return out
	}
	out = append(out, widget.Line{}, widget.Heading("What followed"))
	for i, c := range h.Children {
		if i == 20 {
			return append(out, widget.Line{widget.Dim.Of(fmt.Sprintf(" and %d more", len(h.Children)-i))})
		}
		out = append(out, widget.Line{widget.Dim.Of(" → "), hopStyle(c).Of(causality.Describe(c)), widget.Accent.Of(" +" + state.Short(c.Latency()))})
	}
	return out
}

// EntryDetailLines tell of an entry of the journal.
func EntryDetailLines(e *page.Env, entry state.Entry, hop *causality.Hop, width int) []widget.Line {
	if hop != nil {
		return HopDetail(e, hop, width)
	}
	if w, ok := entry.Event.(state.WriteFinished); ok {
		return WriteDetail(e, &state.Write{Seq: entry.Seq, At: entry.At, WriteFinished: w}, nil, width)
	}
	out := []widget.Line{widget.Heading(entry.Event.EventType())}
	out = append(out, widget.Fact("entry", page.EntryID(entry.Seq)+" at "+e.Clock(entry.At), widget.Text)...)
	return append(out, widget.Indent(widget.Wrapped(state.Describe(entry.Event), width-2, widget.Text), 1)...)
}
