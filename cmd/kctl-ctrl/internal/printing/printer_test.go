package printing

import (
	"bytes"
	"encoding/json"
	"flag"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/render"
)

var updateGolden = flag.Bool("update", false, "rewrite the golden files")

// thingList is what a verb prints, in small.
type thingList struct {
	APIVersion string         `json:"apiVersion"`
	Kind       string         `json:"kind"`
	Items      []documentItem `json:"items"`
}

type documentItem struct {
	Name   string  `json:"name"`
	Count  int64   `json:"count"`
	Ratio  float64 `json:"ratio"`
	Remark string  `json:"remark"`
}

const hostileText = "\x1b]0;owned\x07 \u202etxt.\u2066 \U000e0041 \u009b31m"

func documentOf(remark string) Found {
	items := []documentItem{{"a", 10_000_000, 0.5, remark}, {"b", -1, 2, "plain: \"text\"\nof two lines"}}
	return Found{
		Document: func() any { return thingList{about.APIVersion, "ThingList", items} },
		Names:    func() []string { return []string{"thing/" + items[0].Name + remark, "thing/b"} },
		Table: func(wide bool) render.Table {
			t := render.Table{Columns: []render.Column{{Title: "NAME"}, {Title: "REMARK"}}}
			for _, item := range items {
				t.Rows = append(t.Rows, []string{item.Name, item.Remark})
			}
			if wide {
				t.Columns = append(t.Columns, render.Column{Title: "MORE"})
			}
			return t
		},
		Text: func(w io.Writer, format string) error {
			_, err := io.WriteString(w, "own format "+format+"\n")
			return err
		},
	}
}

// printed runs a command that has nothing but the printer.
func printed(t *testing.T, f Found, args ...string) (string, error) {
	t.Helper()
	p := New("dot")
	var out bytes.Buffer
	cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) error {
		if err := p.Complete(&out); err != nil {
			return err
		}
		return p.Print(render.Inert(&out), f) // as execute has it
	}}
	p.AddFlags(cmd)
	cmd.SetArgs(append([]string{}, args...))
	err := cmd.Execute()
	return out.String(), err
}

// formatArgs are every format, with what it needs.
var formatArgs = map[string][]string{
	"table":               nil,
	"no-headers":          {"--no-headers"},
	"wide":                {"-o", "wide"},
	"json":                {"-o", "json"},
	"yaml":                {"-o", "yaml"},
	"kyaml":               {"-o", "kyaml"},
	"name":                {"-o", "name"},
	"own":                 {"-o", "dot"},
	"jsonpath":            {"-o", `jsonpath={range .items[*]}{.name}{"\t"}{.count} {.ratio} {.remark}{"\n"}{end}`},
	"jsonpath-as-json":    {"-o", `jsonpath-as-json={.items[*].remark}`},
	"go-template":         {"-o", `go-template={{range .items}}{{.count}} {{.remark}}{{"\n"}}{{end}}`},
	"template":            {"--template", `{{.kind}}{{"\n"}}`},
	"custom-columns":      {"-o", "custom-columns=NAME:.name,N:.count,REMARK:.remark"},
	"custom-columns-bare": {"-o", "custom-columns=NAME:.name", "--no-headers"},
}

func TestPrint(t *testing.T) {
	for name, args := range formatArgs {
		t.Run(name, func(t *testing.T) {
			text, err := printed(t, documentOf(hostileText), args...)
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range text {
				if r != '\n' && r != '\t' && (unicode.IsControl(r) || unicode.In(r, unicode.Cf)) {
					t.Errorf("%U reaches the terminal: %q", r, text)
				}
			}
			compareGolden(t, filepath.Join("testdata", "print", name+".txt"), text)
		})
	}
}

func compareGolden(t *testing.T, file, got string) {
	t.Helper()
	if *updateGolden {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: if the change is meant, run go test with -update\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

// What is spelt out on the terminal is the same text to those who parse it.
func TestPrintedDocumentsKeepTheirText(t *testing.T) {
	for format, unmarshal := range map[string]func([]byte, any) error{
		"json":  json.Unmarshal,
		"yaml":  func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
		"kyaml": func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
	} {
		for _, remark := range []string{hostileText, "plain"} {
			text, err := printed(t, documentOf(remark), "-o", format)
			if err != nil {
				t.Fatal(err)
			}
			var got thingList
			if err := unmarshal([]byte(text), &got); err != nil {
				t.Errorf("%s: %v\n%s", format, err, text)
				continue
			}
			if got.Kind != "ThingList" || got.Items[0].Remark != remark || got.Items[0].Count != 10_000_000 || got.Items[1].Remark != "plain: \"text\"\nof two lines" {
				t.Errorf("%s: %+v", format, got)
			}
		}
	}
}

func TestPrintRefuses(t *testing.T) {
	for arg, want := range map[string]string{
		"xml":               `unknown output format "xml": use wide, json, yaml, kyaml, name, dot, custom-columns`,
		"jsonpath={.items[": "unterminated",
		"custom-columns=":   "no custom columns given",
		"go-template={{":    "template",
	} {
		text, err := printed(t, documentOf(""), "-o", arg)
		if err == nil || !strings.Contains(err.Error(), want) || text != "" {
			t.Errorf("-o %s: printed %q, error %v, want %q", arg, text, err, want)
		}
	}
	// A template that fails has printed nothing of the object.
	text, err := printed(t, documentOf(""), "-o", "jsonpath={.items[7].name}")
	if err == nil || strings.Contains(err.Error(), "\n") || text != "" {
		t.Errorf("printed %q, error %q", text, err)
	}
}

// The changes of --watch continue the output: one title, documents apart.
func TestPrintStream(t *testing.T) {
	for format, want := range map[string]string{
		"":     "NAME   REMARK\na      one\nb      plain: \"text\" of two lines\na      two\nb      plain: \"text\" of two lines\n",
		"yaml": "---\n",
	} {
		p := New()
		*p.flags.OutputFormat = format
		p.flags.OutputFlagSpecified = func() bool { return format != "" }
		var out bytes.Buffer
		if err := p.Complete(&out); err != nil {
			t.Fatal(err)
		}
		for _, remark := range []string{"one", "two"} {
			if err := p.Print(&out, documentOf(remark)); err != nil {
				t.Fatal(err)
			}
		}
		got := out.String()
		if format == "" && got != want || format == "yaml" && (strings.Count(got, want) != 1 || strings.HasPrefix(got, want)) {
			t.Errorf("-o %q: %s", format, got)
		}
	}
}

// The verbs that print one document in two forms spell out the same characters.
func TestPrintDocumentIsInert(t *testing.T) {
	want := thingList{about.APIVersion, "ThingList", []documentItem{{Name: "a", Count: 10_000_000, Remark: hostileText}}}
	for format, read := range map[string]func([]byte, any) error{
		"json": json.Unmarshal,
		"yaml": func(text []byte, v any) error { return yaml.Unmarshal(text, v) },
	} {
		var out bytes.Buffer
		if err := Document(&out, format, want); err != nil {
			t.Fatal(err)
		}
		if bytes.ContainsFunc(out.Bytes(), odd) {
			t.Errorf("-o %s: %q", format, out.String())
		}
		var got thingList
		if err := read(out.Bytes(), &got); err != nil || got.Items[0] != want.Items[0] {
			t.Errorf("-o %s: read back as %+v, %v", format, got, err)
		}
	}
}
