package plan

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"pgregory.net/rapid"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

var update = flag.Bool("update", false, "rewrite the results in testdata")

// story is an archive of YAML files: the states start and end, the manifests
// old and new, and after for objects whose state right after the apply differs
// from the end in more than status. What an apply would report is told from
// them.
type story struct {
	archive *txtar.Archive
	in      Input
}

func readStory(t testing.TB, path string) story {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string][]Object{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".yaml"); ok && name != "want" {
			parsed, problems := parse(f.Name, f.Data)
			if problems != nil {
				t.Fatal(problems)
			}
			objects[name] = parsed
		}
	}
	s := story{archive: archive}
	s.in = Input{Baseline: stateOf(objects["baseline"]), Start: stateOf(objects["start"]), End: stateOf(objects["end"]), KubernetesVersion: "v1.37.1"}
	s.in.Before = &Applied{Results: results(objects["old"], nil, objects["start"], nil)}
	s.in.After = &Applied{Results: results(objects["new"], objects["start"], objects["end"], objects["after"])}
	s.in.Removed = &Applied{}
	for _, r := range Removed(s.in.Before, s.in.After) {
		r.Action, r.Before, r.After = Deleted, r.After, nil
		s.in.Removed.Results = append(s.in.Removed.Results, r)
	}
	return s
}

func stateOf(objects []Object) State {
	var captured []Captured
	for _, o := range objects {
		resource, _ := meta.UnsafeGuessKindToResource(o.GroupVersionKind())
		captured = append(captured, Captured{Resource: resource.Resource, Content: o.Object})
	}
	return newState(captured)
}

func results(manifests, before, end, after []Object) []Result {
	find := func(in []Object, id identity) map[string]any {
		for _, o := range in {
			if identityOf(o.Object) == id {
				return o.Object
			}
		}
		return nil
	}
	var out []Result
	for _, o := range end {
		named := func(m Object) bool { return m.GetNamespace() == o.GetName() }
		if o.GetKind() == "Namespace" && find(before, identityOf(o.Object)) == nil && find(manifests, identityOf(o.Object)) == nil && slices.ContainsFunc(manifests, named) {
			out = append(out, Result{Action: Implied, After: o.Object, Mapping: &meta.RESTMapping{GroupVersionKind: namespaceKind}, Note: "implied by the objects in it"})
		}
	}
	for _, m := range manifests {
		id := identityOf(m.Object)
		resource, _ := meta.UnsafeGuessKindToResource(m.GroupVersionKind())
		r := Result{Manifest: m.Object, Source: m.Source, Mapping: &meta.RESTMapping{Resource: resource, GroupVersionKind: m.GroupVersionKind(), Scope: meta.RESTScopeNamespace}}
		r.Before = find(before, id)
		if r.After = find(after, id); r.After == nil {
			r.After = find(end, id)
		}
		sent, note := sendable(m)
		switch {
		case sent == nil:
			r.Action, r.Note, r.Before, r.After = Skipped, note, nil, nil
		case r.Before == nil:
			r.Action, r.Note = Created, note
		case sameSpec(r.Before, r.After):
			r.Action, r.Note = Unchanged, note
		default:
			r.Action, r.Note = Changed, note
		}
		out = append(out, r)
	}
	return out
}

func stories(t testing.TB) []string {
	paths, err := filepath.Glob("testdata/compare/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no stories: %v", err)
	}
	return paths
}

// TestCompare runs the stories of testdata/compare; -update rewrites want.yaml.
func TestCompare(t *testing.T) {
	for _, path := range stories(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			s := readStory(t, path)
			got, err := yaml.Marshal(Compare(s.in))
			if err != nil {
				t.Fatal(err)
			}
			at := slices.IndexFunc(s.archive.Files, func(f txtar.File) bool { return f.Name == "want.yaml" })
			if at < 0 {
				at = len(s.archive.Files)
				s.archive.Files = append(s.archive.Files, txtar.File{Name: "want.yaml"})
			}
			if *update {
				s.archive.Files[at].Data = got
				if err := os.WriteFile(path, txtar.Format(s.archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if want := string(s.archive.Files[at].Data); string(got) != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// A plan must not show which run it came from: other UIDs, suffixes, addresses,
// nodes and another order give the same bytes.
func TestCompareIsTheSameForEveryRun(t *testing.T) {
	for _, path := range stories(t) {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			s := readStory(t, path)
			want := asJSON(t, Compare(s.in))
			rapid.Check(t, func(rt *rapid.T) {
				r := rerun{random: rand.New(rand.NewPCG(rapid.Uint64().Draw(rt, "seed"), 0)), names: map[string]string{}}
				r.generated(s.in)
				in := s.in
				in.Start, in.End, in.Baseline = r.state(in.Start), r.state(in.End), r.state(in.Baseline)
				in.Before, in.After, in.Removed = r.applied(in.Before), r.applied(in.After), r.applied(in.Removed)
				if got := asJSON(t, Compare(in)); got != want {
					rt.Fatalf("another run gives\n%s\nnot\n%s", got, want)
				}
			})
		})
	}
}

// Compare must not write into what it was given: the states are shared with
// whoever captured them.
func TestCompareKeepsItsInput(t *testing.T) {
	for _, path := range stories(t) {
		s := readStory(t, path)
		before := asJSON(t, s.in)
		first := asJSON(t, Compare(s.in))
		if after := asJSON(t, s.in); after != before {
			t.Errorf("%s: the input was changed", path)
		}
		if second := asJSON(t, Compare(s.in)); second != first {
			t.Errorf("%s: a second comparison differs", path)
		}
	}
}

// The same state at both ends is no change, however rich.
func TestCompareNothing(t *testing.T) {
	for _, path := range stories(t) {
		s := readStory(t, path)
		p := Compare(Input{Start: s.in.End, End: s.in.End})
		if p.HasChanges || len(p.Roots)+len(p.FieldDiffs)+len(p.Summary.Controllers) > 0 {
			t.Errorf("%s: a change from a state to itself: %s", path, asJSON(t, p))
		}
	}
}

func asJSON(t testing.TB, value any) string {
	text, err := json.MarshalIndent(value, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// rerun rewrites objects as another run of the same story would have made them.
type rerun struct {
	random *rand.Rand
	names  map[string]string
}

var (
	anyUID     = regexp.MustCompile(`u-[0-9a-z-]+|[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`)
	anyAddress = regexp.MustCompile(`\b10\.\d+\.\d+\.\d+\b|\bnode-\d\b`)
	anyTime    = regexp.MustCompile(`2026-\d\d-\d\dT\d\d:\d\d:\d\dZ`)
)

// generated chooses new suffixes for all generated names, also for those that
// appear in messages only.
func (r *rerun) generated(in Input) {
	w := newWorld(in)
	for _, i := range w.items {
		prefix, rest, ok := strings.Cut(i.pattern, "*")
		if !ok || !strings.HasPrefix(i.name, prefix) || anyUID.MatchString(i.name) {
			continue
		}
		old := strings.TrimSuffix(strings.TrimPrefix(i.name, prefix), rest)
		r.names[prefix+old] = prefix + r.suffix()
	}
}

func (r *rerun) suffix() string {
	b := make([]byte, suffixLength)
	for i := range b {
		b[i] = suffixAlphabet[r.random.IntN(len(suffixAlphabet))]
	}
	return string(b)
}

func (r *rerun) text(s string) string {
	for _, old := range slices.Sorted(maps.Keys(r.names)) {
		s = strings.ReplaceAll(s, old, r.names[old])
	}
	s = anyUID.ReplaceAllStringFunc(s, func(uid string) string {
		if r.names["uid "+uid] == "" {
			r.names["uid "+uid] = fmt.Sprintf("%08x-0000-4000-8000-%012x", r.random.Uint32(), r.random.Int64N(1<<47))
		}
		return r.names["uid "+uid]
	})
	s = anyAddress.ReplaceAllStringFunc(s, func(string) string {
		return fmt.Sprintf("10.%d.%d.%d", r.random.IntN(256), r.random.IntN(256), r.random.IntN(256))
	})
	return anyTime.ReplaceAllString(s, fmt.Sprintf("2026-01-01T00:00:%02dZ", r.random.IntN(60)))
}

func (r *rerun) value(value any) any {
	switch value := value.(type) {
	case string:
		return r.text(value)
	case []any:
		out := make([]any, len(value))
		for i := range value {
			out[i] = r.value(value[i])
		}
		return out
	case map[string]any:
		out := map[string]any{}
		for _, key := range slices.Sorted(maps.Keys(value)) {
			out[key] = r.value(value[key])
		}
		return out
	}
	return value
}

func (r *rerun) object(content map[string]any) map[string]any {
	if content == nil {
		return nil
	}
	out := r.value(content).(map[string]any)
	u := unstructured.Unstructured{Object: out}
	if u.GetUID() != "" {
		u.SetResourceVersion(fmt.Sprint(r.random.IntN(1e6)))
	}
	return out
}

func (r *rerun) state(s State) State {
	out := State{}
	for _, at := range r.random.Perm(len(s.Objects)) {
		o := s.Objects[at]
		out.Objects = append(out.Objects, Captured{Resource: o.Resource, Content: r.object(o.Content)})
	}
	return out
}

func (r *rerun) applied(a *Applied) *Applied {
	out := &Applied{Warnings: a.Warnings}
	for _, at := range r.random.Perm(len(a.Results)) {
		result := a.Results[at]
		result.Before, result.After = r.object(result.Before), r.object(result.After)
		out.Results = append(out.Results, result)
	}
	return out
}

// The fields of a plan are a promise: a change of them must be seen in a
// review. Only their names are compared here.
func TestPlanSchema(t *testing.T) {
	var full document.Plan
	fill(t, &full)
	got, err := yaml.Marshal(full)
	if err != nil {
		t.Fatal(err)
	}
	const path = "testdata/schema.yaml"
	if *update {
		if err := os.WriteFile(path, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != string(want) {
		t.Errorf("the schema of plans changed; if that is meant, say so in the notes of the release and run -update.\ngot:\n%s\nwant:\n%s", got, want)
	}
	// The empty plan has every list, empty.
	empty := asJSON(t, Compare(Input{}))
	for _, list := range []string{"roots", "fieldDiffs", "warnings", "notSimulated", "timers", "unsettled", "controllers"} {
		if !strings.Contains(empty, fmt.Sprintf("%q: []", list)) {
			t.Errorf("%s of the empty plan is not an empty list: %s", list, empty)
		}
	}
}
