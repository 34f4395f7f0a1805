package redact

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cockroachdb/datadriven"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// TestDiff runs testdata/diff: two objects in YAML, "---" between them, and what
// their Diff says.
func TestDiff(t *testing.T) {
	datadriven.Walk(t, "testdata/diff", func(t *testing.T, path string) {
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			var opts DiffOptions
			if d.HasArg("max") {
				d.ScanArgs(t, "max", &opts.MaxChanges)
			}
			if d.HasArg("value") {
				d.ScanArgs(t, "value", &opts.MaxValue)
			}
			opts.Noise = d.HasArg("noise")
			ref := state.Ref{Resource: d.Cmd}
			before, after, _ := strings.Cut("\n"+d.Input+"\n", "\n---\n")
			var out strings.Builder
			for _, c := range Diff(ref, parseYAML(t, before), parseYAML(t, after), opts) {
				fmt.Fprintf(&out, "%s: %s -> %s\n", c.Path, c.Old, c.New)
			}
			if out.Len() == 0 {
				return "no change\n"
			}
			return out.String()
		})
	})
}

func parseYAML(t *testing.T, text string) map[string]any {
	t.Helper()
	var obj map[string]any
	if err := yaml.Unmarshal([]byte(text), &obj); err != nil {
		t.Fatal(err)
	}
	return obj
}

// Two objects that differ have a diff, whatever the shape of the difference.
func TestDiffSeesEveryDifference(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		a, b := map[string]any{"spec": genTree(3).Draw(t, "a")}, map[string]any{"spec": genTree(3).Draw(t, "b")}
		differ := Diff(state.Ref{}, a, b, DiffOptions{})
		same := compact(withoutNulls(Redact(state.Ref{}, a))) == compact(withoutNulls(Redact(state.Ref{}, b)))
		if same != (len(differ) == 0) {
			t.Fatalf("same is %v, the diff is %v\n%s\n%s", same, differ, compact(a), compact(b))
		}
		paths := map[string]bool{}
		for _, c := range differ {
			if paths[c.Path] {
				t.Fatalf("two changes of %s: %v", c.Path, differ)
			}
			paths[c.Path] = true
			if c.Old == "" && c.New == "" {
				t.Fatalf("an empty change: %v", differ)
			}
		}
		back := Diff(state.Ref{}, b, a, DiffOptions{})
		if len(back) != len(differ) {
			t.Fatalf("there: %v, back: %v", differ, back)
		}
	})
}

// withoutNulls takes null fields as absent, as Diff does.
func withoutNulls(v any) any {
	switch v := v.(type) {
	case map[string]any:
		out := map[string]any{}
		for field, item := range v {
			if item != nil {
				out[field] = withoutNulls(item)
			}
		}
		return out
	case []any:
		out := []any{}
		for _, item := range v {
			out = append(out, withoutNulls(item))
		}
		return out
	}
	return v
}

func BenchmarkDiff(b *testing.B) {
	pod := func(image string) map[string]any {
		return map[string]any{"kind": "Pod", "metadata": map[string]any{"name": "web", "labels": map[string]any{"app": "web"}},
			"spec": map[string]any{"containers": []any{map[string]any{"name": "web", "image": image, "args": []any{"a", "b"}}}}}
	}
	before, after := pod("shop/web:1"), pod("shop/web:2")
	b.ReportAllocs()
	for b.Loop() {
		Diff(state.Ref{Resource: "pods"}, before, after, DiffOptions{})
	}
}

// Two values that differ never look alike, wherever they differ.
func TestValuesThatDifferLateLookDifferent(t *testing.T) {
	long := strings.Repeat("0123456789", 100)
	for name, tt := range map[string]struct{ old, new string }{
		"in the middle":       {long + "a" + long, long + "b" + long},
		"at the end":          {long + "a", long + "b"},
		"one is longer":       {long, long + "b"},
		"beside a wide rune":  {long + "éa", long + "éb"},
		"within a wide rune":  {long + "é", long + "è"},
		"at the very bound":   {long[:255] + "a" + long, long[:255] + "b" + long},
		"just before it":      {long[:254] + "a" + long, long[:254] + "b" + long},
		"one byte behind it":  {long[:256] + "a" + long, long[:256] + "b" + long},
		"quotes are escaped":  {long + `"a"`, long + `"b"`},
		"the shorter changed": {long + "a", long},
	} {
		t.Run(name, func(t *testing.T) {
			changes := Diff(state.Ref{Resource: "configmaps"}, configMap(tt.old), configMap(tt.new), DiffOptions{})
			if len(changes) != 1 || changes[0].Old == changes[0].New || !utf8.ValidString(changes[0].Old+changes[0].New) {
				t.Errorf("changes: %q", changes)
			}
		})
	}
}

func configMap(value string) map[string]any {
	return map[string]any{"kind": "ConfigMap", "data": map[string]any{"text": value}}
}
