package render

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sigs.k8s.io/yaml"

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
			var p state.Plan
			if err := yaml.UnmarshalStrict(raw, &p); err != nil {
				t.Fatal(err)
			}
			for suffix, opts := range map[string]PlanOptions{".txt": {}, ".color.txt": {Color: true, Defaults: true}} {
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
