package render

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var updatePlans = flag.Bool("update-plans", false, "rewrite the texts in testdata/plan")

// TestWritePlan prints the plans of testdata/plan/*.yaml as the *.txt beside
// them; -update-plans rewrites those.
func TestWritePlan(t *testing.T) {
	plans, err := filepath.Glob("testdata/plan/*.yaml")
	if err != nil || len(plans) == 0 {
		t.Fatalf("no plans: %v", err)
	}
	for _, path := range plans {
		t.Run(filepath.Base(path), func(t *testing.T) {
			raw, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			var p document.Plan
			if err := yaml.UnmarshalStrict(raw, &p); err != nil {
				t.Fatal(err)
			}
			for suffix, opts := range map[string]PlanOptions{".txt": {}, ".color.txt": {Color: true}} {
				golden := strings.TrimSuffix(path, ".yaml") + suffix
				var out strings.Builder
				if err := WritePlan(&out, p, opts); err != nil {
					t.Fatal(err)
				}
				got := strings.ReplaceAll(out.String(), "\x1b", "^")
				if *updatePlans {
					if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
						t.Fatal(err)
					}
					continue
				}
				want, err := os.ReadFile(golden)
				if err != nil {
					t.Fatal(err)
				}
				if got != string(want) {
					t.Errorf("%s: got:\n%s\nwant:\n%s", golden, got, want)
				}
			}
		})
	}
}

// Names, notes, values and warnings come from a cluster: none may reach the
// terminal as it is.
func TestWritePlanIsInert(t *testing.T) {
	const evil = "a\x1b]0;x\x07b\u202ec\u009b31m\nd"
	object := document.PlanObject{Kind: evil, Namespace: evil, Name: evil}
	p := document.Plan{
		KubernetesVersion: evil, HasChanges: true,
		Summary:      document.PlanSummary{Controllers: []document.PlanTally{{Kind: evil, PlanCounts: document.PlanCounts{Created: 1}}}},
		Roots:        []document.PlanNode{{PlanObject: object, Note: evil, Status: document.PlanTransition{From: evil, To: evil + evil}, Children: []document.PlanNode{{PlanObject: object}}}},
		FieldDiffs:   []document.PlanFieldDiff{{PlanObject: object, Changes: []state.FieldChange{{Path: evil, Old: `"` + evil + `"`, New: `"a\u001b[31m\nb"`}, {Path: evil, Old: `"x\u001b[1m\ny"`, New: `"z\u202e\ny"`}}}},
		Warnings:     []string{evil},
		NotSimulated: []string{evil},
		Timers:       []string{evil},
		Unsettled:    []string{evil},
	}
	var out strings.Builder
	if err := WritePlan(&out, p, PlanOptions{}); err != nil {
		t.Fatal(err)
	}
	if i := strings.IndexFunc(out.String(), func(r rune) bool { return r != '\n' && !state.Printable(r) && r != '\ufffd' }); i >= 0 {
		t.Errorf("%q got through", out.String()[max(0, i-10):i+5])
	}
	for line := range strings.Lines(out.String()) {
		if strings.HasPrefix(line, "d") {
			t.Errorf("a name began a line of its own: %q", line)
		}
	}
}

// A value too large to print is told by its length and hash, and where it differs.
func TestLargeValues(t *testing.T) {
	quoted := func(text string) string {
		b, err := json.Marshal(text)
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	oneLine, lines := strings.Repeat("x", 70_000), strings.Repeat("a line\n", 20_000)
	p := document.Plan{HasChanges: true, FieldDiffs: []document.PlanFieldDiff{{
		PlanObject: document.PlanObject{Kind: "ConfigMap", Namespace: "shop", Name: "web"}, By: document.PlanByUser, Count: 1,
		Changes: []state.FieldChange{
			{Path: "data.one", Old: quoted(oneLine + "old"), New: quoted(oneLine + "new")},
			{Path: "data.lines", Old: quoted(lines + "old\n" + lines), New: quoted(lines + "new\n" + lines)},
			{Path: "data.gone", Old: quoted(oneLine)},
		},
	}}}
	var out strings.Builder
	if err := WritePlan(&out, p, PlanOptions{}); err != nil {
		t.Fatal(err)
	}
	text := out.String()
	for _, want := range []string{
		"~ data.one: 70003 bytes, sha256:", `xxxold" → `, `xxxnew"`,
		"~ data.lines: 280004 bytes, sha256:", "-old\n", "+new\n",
		"- data.gone (70000 bytes, sha256:",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if len(text) > 4<<10 {
		t.Errorf("%d bytes are printed:\n%s", len(text), text[:4<<10])
	}
}
