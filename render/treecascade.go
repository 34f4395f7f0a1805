package render

import (
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// CascadeOptions control the text of a cascade.
type CascadeOptions struct {
	// Width cuts the lines of the table; zero leaves them whole.
	Width int
	// Wide adds the propagation policy by which each object is deleted.
	Wide      bool
	NoHeaders bool
	Color     bool
}

// fates are the possible results for an object, in the order of the summary.
var fates = []struct {
	fate  document.CascadeFate
	words string
	style
}{
	{document.FateDeleted, "deleted", red},
	{document.FateHeld, "held by finalizers", yellow},
	{document.FateBehind, "blocked by held objects", yellow},
	{document.FateStuck, "stuck", yellow},
	{document.FateUnknown, "unknown", yellow},
	{document.FateOrphaned, "orphaned", cyan},
	{document.FateSurvives, "surviving", green},
}

// WriteCascade prints the effects of a deletion: a table in the order of the steps,
// then what blocks it, which owner references GC does not follow, and notes.
func WriteCascade(w io.Writer, c document.Cascade, opts CascadeOptions) error {
	var out strings.Builder
	text := func(l line) { out.WriteString(l.draw(0, opts.Color) + "\n") }
	names := make([]string, len(c.Targets))
	for i, t := range c.Targets {
		names[i] = t.String()
	}
	text(line{{"Deleting " + few(names) + " with policy " + string(c.Policy), bold}})
	if !c.Complete {
		text(line{{"INCOMPLETE: some types could not be read; their objects are missing here", red}})
	}
	out.WriteString("\n")
	out.WriteString(cascadeTable(c, opts.Wide).draw(opts.Width, opts.NoHeaders, opts.Color))
	section := func(title string, lines []string) {
		if len(lines) == 0 {
			return
		}
		out.WriteString("\n")
		text(line{{title, bold}})
		for _, l := range lines {
			text(line{{"  ", plain}, {l, plain}})
		}
	}
	section("Held by finalizers:", CascadeHeld(c.Objects))
	section("Owner references that GC does not follow:", CascadeUnfollowed(c.Absent))
	section("Note:", c.Notes)
	out.WriteString("\n")
	text(tally(c.Objects))
	_, err := io.WriteString(w, out.String())
	return err
}

func cascadeTable(c document.Cascade, wide bool) *grid {
	g := &grid{titles: []string{"STEP", "FATE", "OBJECT", "POLICY", "WHY"}}
	for _, o := range c.Objects {
		step := NoFigure
		if o.Step > 0 {
			step = strconv.Itoa(o.Step)
		}
		policy := ""
		if wide {
			policy = string(o.Policy)
		}
		g.add(cell{text: step}, cell{text: string(o.Fate), style: fateStyle(o.Fate)}, cell{text: o.Object.Ref.String()}, cell{text: policy}, cell{text: CascadeWhy(o)})
	}
	return g
}

// CascadeWhy explains an object's fate in one sentence.
func CascadeWhy(o document.CascadeObject) string {
	why := o.Why
	if len(o.Behind) > 0 && o.Fate == document.FateBehind {
		why += "; after " + refs(o.Behind)
	}
	if len(o.Dropped) > 0 {
		why += "; loses its reference to " + owners(o.Dropped)
	}
	return why
}

func fateStyle(f document.CascadeFate) style {
	for _, known := range fates {
		if known.fate == f {
			return known.style
		}
	}
	return plain
}

const fewNames = 3

func refs(list []state.Ref) string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.String()
	}
	return few(names)
}

func owners(list []document.OwnerRef) string {
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = r.Kind + " " + r.Name
	}
	return few(names)
}

func few(names []string) string {
	if len(names) <= fewNames {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:fewNames], ", ") + fmt.Sprintf(" and %d more", len(names)-fewNames)
}

// CascadeHeld lists the finalizers that hold objects and what removes each.
func CascadeHeld(objects []document.CascadeObject) []string {
	var lines []string
	for _, o := range objects {
		for _, f := range o.HeldBy {
			text := o.Object.Ref.String() + ": " + f.Name + ": "
			if f.ServedBy != "" {
				text += "removed by " + f.ServedBy
			} else {
				text += "no Kubernetes controller removes it"
				if f.SetBy == "" {
					text += ": whoever set it must remove it"
				}
			}
			if f.SetBy != "" {
				text += " (set by " + f.SetBy + ")"
			}
			lines = append(lines, text)
		}
	}
	return lines
}

// CascadeUnfollowed are the owner references that GC does not follow, with the reason.
func CascadeUnfollowed(list []document.CascadeReference) []string {
	lines := make([]string, len(list))
	for i, r := range list {
		verdict := map[document.OwnerVerdict]string{
			document.OwnerAbsent: "absent", document.OwnerUnresolvable: "cannot be looked up", document.OwnerInvalid: "invalid",
		}[r.Verdict]
		lines[i] = fmt.Sprintf("%s → %s %s: %s: %s", r.Dependent, r.Owner.Kind, r.Owner.Name, verdict, r.Why)
	}
	return lines
}

// tally is the last line: the number of objects of each fate.
func tally(objects []document.CascadeObject) line {
	counts := map[document.CascadeFate]int{}
	served := 0
	for _, o := range objects {
		if o.Fate == document.FateHeld && !slices.ContainsFunc(o.HeldBy, func(f document.CascadeFinalizer) bool { return f.ServedBy == "" }) {
			served++
			continue
		}
		counts[o.Fate]++
	}
	var l line
	add := func(n int, words string, s style) {
		if n == 0 {
			return
		}
		if len(l) > 0 {
			l = append(l, span{", ", plain})
		}
		l = append(l, span{fmt.Sprintf("%d %s", n, words), s})
	}
	for _, f := range fates {
		add(counts[f.fate], f.words, f.style)
		if f.fate == document.FateDeleted {
			add(served, "deleted once a Kubernetes controller removes their finalizers", f.style)
		}
	}
	if len(l) == 0 {
		return line{{"Nothing is deleted.", plain}}
	}
	return append(l, span{".", plain})
}

// CascadeTally is the number of objects of each fate, in one line.
func CascadeTally(objects []document.CascadeObject) string { return tally(objects).draw(0, false) }

// CascadeNames are the names of the deleted objects in order, as printed by `kubectl
// get -o name`, including held and blocked objects. Surviving objects are left out.
func CascadeNames(c document.Cascade) []string {
	var names []string
	for _, o := range c.Objects {
		if o.Step > 0 {
			names = append(names, ObjectName(o.Object))
		}
	}
	return names
}
