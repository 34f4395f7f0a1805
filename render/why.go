package render

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// WhyOptions control the text of a Why.
type WhyOptions struct {
	// Wide shows all evidence and complete diffs.
	Wide  bool
	Color bool
}

// maxEvidence is how many lines of evidence the findings after the first show.
const maxEvidence = 3

// WriteWhy prints the most probable finding with its evidence and next step, then the
// other findings, then what the controllers would do.
func WriteWhy(w io.Writer, y document.Why, opts WhyOptions) error {
	p := &whyText{opts: opts}
	p.line(span{headline(y), bold})
	p.gap()
	if len(y.Findings) == 0 {
		p.line(span{noFinding(y, opts), plain})
		if opts.Wide {
			for _, check := range y.Checks {
				p.line(span{"  " + check, dim})
			}
		}
	}
	for i, f := range y.Findings {
		if i == 1 {
			p.gap()
			p.line(span{"Also:", bold})
		}
		p.finding(f, i == 0)
	}
	if y.Story != nil {
		p.gap()
		p.story(*y.Story)
	}
	_, err := io.WriteString(w, p.out.String())
	return err
}

type whyText struct {
	out  strings.Builder
	opts WhyOptions
}

func (p *whyText) line(spans ...span) {
	p.out.WriteString(line(spans).draw(0, p.opts.Color) + "\n")
}

func (p *whyText) gap() { p.out.WriteString("\n") }

// headline is the object and its state.
func headline(y document.Why) string {
	o := y.Object
	text := o.Kind + " " + o.Key()
	var parts []string
	if y.Status != nil {
		switch y.Status.Ready {
		case "":
		case "True":
			parts = append(parts, "ready")
		case "False", "Unknown":
			parts = append(parts, "not ready")
		default:
			parts = append(parts, y.Status.Ready+" ready")
		}
		if y.Status.State != "" {
			parts = append(parts, y.Status.State)
		}
	} else if !o.Deleting.IsZero() {
		parts = append(parts, "Terminating")
	}
	if len(parts) > 0 {
		text += ": " + strings.Join(parts, ", ")
	}
	return text
}

// noFinding is the text if no check found anything.
func noFinding(y document.Why, opts WhyOptions) string {
	text := "No blocking cause found"
	if y.Status == nil || y.Status.Health != document.HealthReady {
		text = "No cause found for this state"
	}
	text += fmt.Sprintf(": %s checked", counted(len(y.Checks), "cause", "causes"))
	if !opts.Wide {
		text += " (-o wide lists them)"
	}
	if len(y.Gaps) > 0 {
		var missing []string
		for _, g := range y.Gaps {
			missing = append(missing, g.Type)
		}
		slices.Sort(missing)
		text += "; checks that need " + strings.Join(slices.Compact(missing), ", ") + " were skipped"
	}
	return text + "."
}

func (p *whyText) finding(f document.Finding, first bool) {
	indent := "  "
	if first {
		indent = ""
	}
	kind := string(f.Certainty)
	if f.Role != document.RoleCause {
		kind += ", " + string(f.Role)
	}
	color := red
	switch {
	case f.Role == document.RoleRemark:
		color = dim
	case f.Role == document.RoleSymptom || f.Certainty == document.Likely:
		color = yellow
	}
	p.line(span{indent, plain}, span{f.Cause, color}, span{" (" + kind + "): ", dim}, span{f.Text, plain})
	shown := f.Evidence
	if !first && !p.opts.Wide {
		shown = shown[:min(len(shown), maxEvidence)]
	}
	for _, e := range shown {
		at := e.Object.String()
		if e.Path != "" {
			at += "  " + e.Path
		}
		p.line(span{indent + "  " + at + ": ", dim}, span{e.Value, plain})
	}
	if more := len(f.Evidence) - len(shown); more > 0 {
		p.line(span{fmt.Sprintf("%s  and %d more: -o wide", indent, more), dim})
	}
	if f.Next != "" {
		p.line(span{indent + "  → ", cyan}, span{f.Next, plain})
	}
}

// maxDiff is how many changed fields of a write are shown.
const maxDiff = 3

// firstHop marks a write of a dry run.
const firstHop = "first hop: nothing was written"

func (p *whyText) story(s document.WhyStory) {
	if len(s.Loops) == 0 {
		p.line(span{s.Why, plain})
		return
	}
	where := "in all namespaces"
	if s.Namespace != "" {
		where = "in namespace " + s.Namespace
	}
	names := make([]string, len(s.Loops))
	for i, name := range s.Loops {
		names[i] = ShortName(name)
	}
	p.line(span{"What the controllers would do now", bold}, span{fmt.Sprintf(" (%s, %s; %s, %s of other objects held back):",
		strings.Join(names, ", "), where, s.Mode, counted(s.Held, "key", "keys")), dim})
	if s.Why != "" {
		p.line(span{"  " + s.Why, yellow})
	}
	if len(s.Syncs) == 0 {
		p.line(span{"  Nothing: no event added a key of this object to a queue.", plain})
	}
	for _, sync := range s.Syncs {
		p.sync(sync)
	}
	if s.Left > 0 {
		p.line(span{fmt.Sprintf("  and %d more syncs", s.Left), yellow})
	}
	for _, l := range s.Later {
		text := fmt.Sprintf("  %s  %s  requeued after %s", ShortName(l.Controller), l.Key, l.In)
		if l.Retries > 0 {
			text += fmt.Sprintf(", retry %d", l.Retries)
		}
		p.line(span{text, plain})
	}
	if s.Mode == state.ModeDryRunClient && wrote(s) {
		p.line(span{"  Writes were answered by kctl-ctrl: quotas and admission were not checked. Use --dry-run=server to check them.", dim})
	}
	for _, m := range s.Moving {
		p.line(span{"  not settled: " + m, yellow})
	}
}

func wrote(s document.WhyStory) bool {
	for _, sync := range s.Syncs {
		if len(sync.Writes) > 0 {
			return true
		}
	}
	return false
}

func (p *whyText) sync(s document.StorySync) {
	name := ShortName(s.Controller)
	if s.Queue != "" && s.Queue != name {
		name += " (" + s.Queue + ")"
	}
	p.line(span{"  " + name, cyan}, span{"  " + s.Key, plain})
	causes := s.Causes
	if !p.opts.Wide {
		causes = causes[:min(len(causes), 2)]
	}
	for i, c := range causes {
		text := c.String()
		if more := s.CauseCount - len(causes); more > 0 && i == len(causes)-1 {
			text += fmt.Sprintf(", and %d more", more)
		}
		p.line(span{"    ← ", dim}, span{text, dim})
	}
	for _, w := range emptied(s.Writes) {
		p.write(w)
	}
	if s.Failed {
		p.line(span{"    ✗ ", red}, span{"failed: " + s.Error, plain})
	} else if len(s.Writes) == 0 {
		p.line(span{"    → ", dim}, span{"no writes", plain})
	}
	if s.Repeat > 0 {
		p.line(span{fmt.Sprintf("    and %s with the same result", counted(s.Repeat, "more time", "more times")), dim})
	}
}

func (p *whyText) write(w document.StoryWrite) {
	object := w.Object.Type()
	if w.Subresource != "" {
		object += "/" + w.Subresource
	}
	name := w.Object.Key()
	if w.Object.Name == "" {
		name = "in " + w.Object.Namespace
	}
	text := w.Verb + " " + object + " " + name
	if w.Count > 1 {
		text = fmt.Sprintf("%s %d %s, %s the first", w.Verb, w.Count, object, name)
	}
	mark := ""
	switch {
	case w.FirstHop:
		mark = " (" + firstHop + ")"
	case w.Result == state.WriteFailed || w.Result == state.WriteRefused:
		mark = fmt.Sprintf(" %s %d: %s", w.Result, w.Status, w.Message)
	}
	p.line(span{"    → ", green}, span{text, plain}, span{mark, dim})
	diff := w.Diff
	if !p.opts.Wide {
		diff = diff[:min(len(diff), maxDiff)]
	}
	for _, d := range diff {
		from, to := d.Old, d.New
		if from == "" {
			from = "none"
		}
		if to == "" {
			to = "none"
		}
		if !p.opts.Wide {
			from, to = Truncate(Sanitise(state.OneLine(from)), 60), Truncate(Sanitise(state.OneLine(to)), 60)
		}
		p.line(span{"        ~ " + d.Path + ": " + from + " → " + to, dim})
	}
	if more := len(w.Diff) - len(diff); more > 0 {
		p.line(span{fmt.Sprintf("        and %s: -o wide", counted(more, "more field", "more fields")), dim})
	}
}

// emptied merges the deletions of whole types, of which the namespace controller sends
// one per type.
func emptied(writes []document.StoryWrite) []document.StoryWrite {
	var out []document.StoryWrite
	types := 0
	for _, w := range writes {
		if w.Verb != "deletecollection" || !w.FirstHop {
			out = append(out, w)
			continue
		}
		if types++; types == 1 {
			out = append(out, w)
		}
	}
	if types > 1 {
		for i := range out {
			if out[i].Verb == "deletecollection" && out[i].FirstHop {
				out[i].Object = state.Ref{Resource: fmt.Sprintf("of %d types", types), Namespace: out[i].Object.Namespace}
			}
		}
	}
	return out
}

// WhyNames are the causes found, most probable first.
func WhyNames(y document.Why) []string {
	names := make([]string, len(y.Findings))
	for i, f := range y.Findings {
		names[i] = Sanitise(f.Cause)
	}
	return names
}
