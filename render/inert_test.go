package render

import (
	"bytes"
	"fmt"
	"io"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/runnertest"
)

// commands are texts that the runner of a CI system would take for its own.
var commands = map[string]string{
	"a command anywhere":      "image ##[add-mask]x",
	"a command of Azure":      "##vso[task.setvariable variable=a]b",
	"a command at the start":  "::error::x",
	"behind white space":      "\u3000\t ::set-output name=a::b",
	"on a later line":         "denied:\n  ::warning file=a::b\n##[group]c",
	"behind what is left out": "##\ufe0f[error]\n\ufe0f::error::x",
	"in halves":               "##",
	"the other half":          "[error] ::",
}

func init() {
	for name, text := range commands {
		hostile[name] = text
	}
}

func TestSanitisedTextIsNoCommand(t *testing.T) {
	for name, text := range hostile {
		for _, got := range []string{Sanitise(text), SanitiseKeeping(text, KeepLines), SanitiseKeeping("x\n"+text, KeepLines)} {
			if command, found := runnertest.Command(got); found {
				t.Errorf("%s: in %q a runner finds %q", name, got, command)
			}
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		text := anyText.Draw(t, "text")
		if command, found := runnertest.Command(SanitiseKeeping(text, KeepLines)); found {
			t.Errorf("in %q a runner finds %q", text, command)
		}
	})
}

// Lines are put together of several texts: none of them is a command as a whole.
func TestInert(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		texts := rapid.SliceOfN(anyText, 3, 3).Draw(t, "texts")
		var out bytes.Buffer
		w := Inert(&out)
		fmt.Fprintf(w, "%s[error]%s::%s\n", texts[0], texts[1], texts[2])
		table := Table{Columns: []Column{{Title: "NAME"}, {Title: "REMARK"}}, Rows: [][]string{texts[:2], texts[1:]}}
		if err := table.Write(w, TableOptions{}); err != nil {
			t.Fatal(err)
		}
		if err := NewJournal(JournalOptions{}).Write(w, state.Entry{Event: state.Note{Source: texts[0], Text: texts[1]}}); err != nil {
			t.Fatal(err)
		}
		if command, found := runnertest.Command(out.String()); found {
			t.Errorf("in %q a runner finds %q", out.String(), command)
		}
	})
	var out bytes.Buffer
	if w := Inert(&out); Bare(w) != io.Writer(&out) || Bare(&out) != io.Writer(&out) {
		t.Error("the output behind Inert is another one")
	}
}

func TestInertLog(t *testing.T) {
	for name, text := range hostile {
		var out bytes.Buffer
		n, err := fmt.Fprintln(state.InertLog(&out), "E0101 first\n"+text)
		if err != nil || n != len("E0101 first\n"+text+"\n") {
			t.Fatal(n, err)
		}
		got := out.String()
		checkInert(t, got, true)
		if command, found := runnertest.Command(got); found {
			t.Errorf("%s: in %q a runner finds %q", name, got, command)
		}
		for _, line := range strings.Split(strings.TrimSuffix(got, "\n"), "\n")[1:] {
			if !strings.HasPrefix(line, "  ") {
				t.Errorf("%s: the line %q passes for a record", name, line)
			}
		}
	}
}
