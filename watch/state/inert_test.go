package state

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state/runnertest"
)

// commandPieces are what commands to runners are made of.
var commandPieces = []string{
	"##[error]", "##[add-mask]x", "##[group", "]", "##vso[task.setvariable]", "##teamcity[", "#", "##", "[", "::", ":", "error", "::error::", "::add-mask::",
	"::error file=a", "::1", "::stop-commands::", " ", "\t", "\u00a0", "\u2003", "\n", "\r", "\r\n", "x", "\\", "\ufe0f", "\u0488", "é", "\xff",
}

var commandText = rapid.Map(rapid.SliceOf(rapid.SampledFrom(commandPieces)), func(s []string) string { return strings.Join(s, "") })

func TestBreakCommands(t *testing.T) {
	for in, want := range map[string]string{
		"":                          "",
		"##[error]x":                `##\[error]x`,
		"a ###[error]":              `a ###\[error]`,
		"##vso[task]":               `##vso\[task]`,
		"##a##[b]":                  `##a##\[b]`,
		"## title [x]":              "## title [x]",
		"::error::x":                `::error:\:x`,
		" \u3000::error a=b::x::":   " \u3000" + `::error a=b:\:x:\:`,
		"x\n  ::error::y\n::z":      "x\n  " + `::error:\:y` + "\n::z",
		"a::error::":                "a::error::",
		"::1 ::2":                   "::1 ::2",
		"::ffff:10.0.0.1":           "::ffff:10.0.0.1",
		"std::vector<a::b>":         "std::vector<a::b>",
		"::error:::x":               `::error:\:\:x`,
		"\xff##[error]\xff":         "\xff" + `##\[error]` + "\xff",
		"progress\r::add-mask::abc": "progress\r" + `::add-mask:\:abc`,
	} {
		if got := BreakCommands(in); got != want {
			t.Errorf("BreakCommands(%q) = %q, want %q", in, got, want)
		}
	}
}

// Whatever the text, and in whatever pieces it comes, a runner finds no command in it.
func TestBreakCommandsProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := commandText.Draw(t, "text")
		got := BreakCommands(text)
		if command, found := runnertest.Command(got); found {
			t.Fatalf("%q became %q, in which a runner finds %q", text, got, command)
		}
		if again := BreakCommands(got); again != got {
			t.Fatalf("%q: once %q, twice %q", text, got, again)
		}
		if strings.ReplaceAll(got, `\`, "") != strings.ReplaceAll(text, `\`, "") {
			t.Fatalf("%q became %q: more than backslashes differ", text, got)
		}
		var pieces []byte
		var breaker CommandBreaker
		for _, r := range strings.SplitAfter(text, "") {
			pieces = breaker.Append(pieces, r)
		}
		if string(pieces) != got {
			t.Fatalf("%q in pieces is %q, as a whole %q", text, pieces, got)
		}
	})
}

// An entry of a journal, in a recording or with -o json, is no command, and what is
// decoded of it is what was recorded.
func TestEntriesAreNoCommands(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := strings.ToValidUTF8(commandText.Draw(t, "text"), "")
		line, err := EncodeEntry(Entry{Seq: 1, At: time.Unix(0, 0), Event: Note{Source: "test", Text: text}})
		if err != nil {
			t.Fatal(err)
		}
		if command, found := runnertest.Command(string(line)); found {
			t.Fatalf("in %s a runner finds %q", line, command)
		}
		entry, err := DecodeEntry(line)
		if err != nil {
			t.Fatal(err)
		}
		if got := entry.Event.(Note).Text; got != text {
			t.Fatalf("%q was read back as %q", text, got)
		}
	})
}

func TestEscapeJSONKeepsValues(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := map[string]string{commandText.Draw(t, "key"): commandText.Draw(t, "value")}
		text, err := json.MarshalIndent(want, "", "  ")
		if err != nil {
			t.Fatal(err)
		}
		escaped := EscapeJSON(text)
		if command, found := runnertest.Command(string(escaped)); found {
			t.Fatalf("in %s a runner finds %q", escaped, command)
		}
		var a, b map[string]string
		if err := json.Unmarshal(text, &a); err != nil {
			t.Fatal(err)
		}
		if err := json.Unmarshal(escaped, &b); err != nil {
			t.Fatalf("%s: %v", escaped, err)
		}
		for key, value := range a {
			if b[key] != value {
				t.Fatalf("%q became %q", a, b)
			}
		}
	})
}
