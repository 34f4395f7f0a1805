package tui

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	tea "github.com/charmbracelet/bubbletea"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// verb is a word of the command line beside the names of pages and types.
type verb struct {
	words []string
	args  string
	// bare: it needs no arguments.
	bare bool
	help string
	off  string
	do   func(rest string) tea.Cmd
}

func (m *model) verbs() []verb {
	e := m.env
	noPlayer := ""
	if e.Player == nil {
		noPlayer = "only a recording can be moved in"
	}
	return []verb{
		{words: []string{"quit", "q", "q!", "qa", "exit"}, help: "Quit.", do: func(string) tea.Cmd { return m.askQuit() }},
		{words: []string{"help"}, help: "Show all keys.", do: func(string) tea.Cmd { return m.help() }},
		{words: []string{"record"}, help: "Start or stop saving a recording.", off: e.Without(m.options.Recorder != nil), do: func(string) tea.Cmd { return m.record() }},
		{words: []string{"output", "logs"}, help: "Show what the command prints.", off: m.noCommand(), do: func(string) tea.Cmd { return m.output() }},
		{words: []string{"kubectl", "kubeconfig"}, help: "Show and copy how kubectl reaches this sandbox.", off: m.noKubeconfig(), do: func(string) tea.Cmd { return m.kubectl() }},
		{words: []string{"active", "lead"}, args: "[CONTROLLERS]", bare: true, help: "Let controllers write to this cluster for real: those named, such as deployment,replicaset, or all that run. Shows the consequences and asks for the context's name first.", off: m.noActive(), do: m.stand},
		{words: []string{"observe"}, help: "Step down: stop the controllers that write for real, release the lease, and observe.", off: m.noStepDown(), do: func(string) tea.Cmd { return m.stepDown() }},
		{words: []string{"seek"}, args: "TIME", help: "Go to a time of the recording: 15:04:05, or +90s from its start.", off: noPlayer, do: m.seek},
		{words: []string{"speed"}, args: "N", help: "Play N times as fast.", off: noPlayer, do: m.setSpeed},
		{words: []string{"tree"}, args: "TYPE/[NAMESPACE/]NAME", help: "Show the tree of an object.", do: m.treeOf},
	}
}

// command opens the command line.
func (m *model) command() tea.Cmd {
	m.open(page.PromptMsg{Label: ":", Complete: m.completeCommand, Done: m.run}, nil)
	return nil
}

func (m *model) completeCommand(typed string) []string {
	var out []string
	for _, row := range m.table {
		out = append(out, strings.ToLower(row.name))
	}
	for _, v := range m.verbs() {
		if v.off == "" {
			out = append(out, v.words[0])
		}
	}
	for name := range m.env.Snap.Informers.All() {
		out = append(out, name)
	}
	out = slices.DeleteFunc(out, func(s string) bool { return !strings.HasPrefix(s, typed) })
	slices.Sort(out)
	out = slices.Compact(out)
	// The shortest first, as what is meant by "po" is mostly pods.
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(len(a), len(b)) })
	return out
}

// run carries out a command: a page, a verb, or the type of a cache.
func (m *model) run(typed string) tea.Cmd {
	first, rest, _ := strings.Cut(strings.TrimSpace(typed), " ")
	rest = strings.TrimSpace(rest)
	if first == "" {
		return nil
	}
	for _, v := range m.verbs() {
		if slices.Contains(v.words, first) && (rest != "" || v.args == "" || v.bare) {
			if v.off != "" {
				return page.Complain(first + ": not now: " + v.off)
			}
			return v.do(rest)
		}
	}
	lower := strings.ToLower(first)
	for _, row := range m.table {
		if lower == strings.ToLower(row.name) || lower == strconv.Itoa(int(row.id)) || slices.Contains(row.words, lower) {
			return m.show(row.id, true)
		}
	}
	if _, ok := m.env.Snap.Informers.Get(lower); ok || m.env.Caches != nil {
		return m.jump(page.Informers, page.Subject{Kind: page.OnInformer, Informer: lower, Filter: typeFilter(rest)})
	}
	return page.Complain(fmt.Sprintf("%q is not a page, command or type here; ? lists the commands", first))
}

// typeFilter is the filter that stands after a type: of a namespace by its name, of
// anything after a slash, and of labels or letters as in the filter's own line.
func typeFilter(rest string) string {
	if text, ok := strings.CutPrefix(rest, "/"); ok || rest == "" || strings.HasPrefix(rest, "-") {
		return text
	}
	return "^" + regexp.QuoteMeta(rest) + "/"
}

func (m *model) setSpeed(rest string) tea.Cmd {
	n, err := strconv.ParseFloat(strings.TrimSuffix(rest, "x"), 64)
	if err != nil || n < minSpeed || n > maxSpeed {
		return page.Complain(fmt.Sprintf("speed %q: a number from %g to %g", rest, minSpeed, float64(maxSpeed)))
	}
	m.env.Player.SetSpeed(n)
	return nil
}

func (m *model) seek(rest string) tea.Cmd {
	from, to := m.env.Player.Range()
	if d, err := time.ParseDuration(strings.TrimPrefix(rest, "+")); err == nil {
		return moving(func() error { return m.env.Player.Seek(from.Add(d)) })
	}
	for _, layout := range []string{"15:04:05.999", "15:04"} {
		at, err := time.ParseInLocation(layout, rest, m.env.Zone())
		if err != nil {
			continue
		}
		day := from.In(m.env.Zone())
		at = time.Date(day.Year(), day.Month(), day.Day(), at.Hour(), at.Minute(), at.Second(), at.Nanosecond(), m.env.Zone())
		if at.Before(from) && !at.AddDate(0, 0, 1).After(to) {
			at = at.AddDate(0, 0, 1) // over midnight
		}
		return moving(func() error { return m.env.Player.Seek(at) })
	}
	return page.Complain(fmt.Sprintf("seek %q: a time such as 15:04:05, or +90s", rest))
}

// treeOf reads TYPE/NAME or TYPE/NAMESPACE/NAME.
func (m *model) treeOf(rest string) tea.Cmd {
	parts := strings.Split(rest, "/")
	resource, group, _ := strings.Cut(parts[0], ".")
	ref := state.Ref{Group: group, Resource: resource, Name: parts[len(parts)-1]}
	switch len(parts) {
	case 2:
		ref.Namespace = m.env.Snap.Session.Namespace
	case 3:
		ref.Namespace = parts[1]
	default:
		return page.Complain("tree takes TYPE/NAME or TYPE/NAMESPACE/NAME")
	}
	return m.jump(page.Tree, page.Subject{Kind: page.OnObject, Object: ref, Name: ref.Name})
}
