package printing

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/runnertest"
)

// commandPieces are what commands to the runner of a CI system are made of.
var commandPieces = []string{
	"##[error]", "##[add-mask]x", "]", "##vso[task.setvariable]", "#", "##", "[", "::", ":", "error", "::error::", "::add-mask::", "::error file=a",
	"::1", " ", "\u00a0", "\n", "\n  ::error::x", "x", "\\", strings.Repeat("words that fill a line ", 8), "- ", "\"", "'", "|", "é",
}

// No format prints text of a cluster so that the runner of a CI system takes it for a
// command, and what parses JSON and YAML gets the text.
func TestPrintedTextIsNoCommand(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(commandPieces), 1, 8).Draw(rt, "text"), "")
		for name, args := range formatArgs {
			got, err := printed(t, documentOf(text), args...)
			if err != nil {
				rt.Fatalf("%s: %v", name, err)
			}
			if command, found := runnertest.Command(got); found {
				rt.Fatalf("%s: %q has the command %q:\n%s", name, text, command, got)
			}
			var read thingList
			switch name {
			case "json":
				err = json.Unmarshal([]byte(got), &read)
			case "yaml", "kyaml":
				err = yaml.Unmarshal([]byte(got), &read)
			default:
				continue
			}
			if err != nil || read.Items[0].Remark != text {
				rt.Fatalf("%s: %q was read back as %+v, %v", name, text, read, err)
			}
		}
		for _, format := range []string{"json", "yaml"} {
			var out bytes.Buffer
			want := thingList{about.APIVersion, "ThingList", []documentItem{{Name: "a", Remark: text}}}
			if err := Document(render.Inert(&out), format, want); err != nil {
				rt.Fatal(err)
			}
			if command, found := runnertest.Command(out.String()); found {
				rt.Fatalf("printDocument, %s: %q has the command %q:\n%s", format, text, command, out.String())
			}
			var read thingList
			if err := yaml.Unmarshal(out.Bytes(), &read); err != nil || read.Items[0].Remark != text {
				rt.Fatalf("%s: %q was read back as %+v, %v", format, text, read, err)
			}
		}
		if command, found := runnertest.Command("error: " + exit.Printable(errors.New(text))); found {
			rt.Fatalf("an error of %q has the command %q", text, command)
		}
	})
}

// A template of the user's own may be made of commands: values in it are none.
func TestTemplatesMayBeCommands(t *testing.T) {
	got, err := printed(t, documentOf("a\n::error::b ##[error]c"), "-o", `jsonpath={range .items[:1]}::notice::{.remark}{"\n"}{end}`)
	if want := "::notice::a ::error::b ##\\[error]c\n"; err != nil || got != want {
		t.Errorf("printed %q, %v, want %q", got, err, want)
	}
	got, err = printed(t, documentOf("##"), "-o", `jsonpath={.items[0].remark}[error]`)
	if want := `##\[error]`; err != nil || got != want {
		t.Errorf("printed %q, %v, want %q", got, err, want)
	}
}
