package diff

import (
	"cmp"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// An order is a way to write a set of manifests down.
type order struct {
	// seed shuffles the documents and spreads them over files; with 0 they stay as
	// they are, in one file.
	seed uint64
	// pads is how many ConfigMaps are added that nothing else in the set has to do with.
	pads int
}

func (o order) String() string { return fmt.Sprintf("seed %d with %d more", o.seed, o.pads) }

var update = flag.Bool("update", false, "keep the plans of sets as they are written")

// TestPlansDoNotDependOnOrder has the plan of a set say the same in whatever order
// its documents stand, over however many files, and however many others are there:
// what is kept in sets/SET/plan.golden. Each set has what both sides have in common, and
// what each has alone. The tag orders tries 30 orders of each and the one that it is
// written in, without it one.
func TestPlansDoNotDependOnOrder(t *testing.T) {
	for set, orders := range orders {
		kept := filepath.Join("sets", set, "plan.golden")
		if *update {
			if err := os.WriteFile(kept, []byte(order{}.plan(t, set)), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(kept)
		if err != nil {
			t.Fatal(err)
		}
		for _, o := range orders {
			t.Run(set+"/"+o.String(), func(t *testing.T) {
				t.Parallel()
				if got := o.plan(t, set); got != string(want) {
					t.Errorf("the plan differs from that of the set as it is written:\n%s", differing(string(want), got))
				}
			})
		}
	}
}

// plan is what diff says of a set written down in this order, without what only says
// how it was written down.
func (o order) plan(t *testing.T, set string) string {
	t.Helper()
	command := programtest.Program(t, "diff", "--base", o.write(t, set, "old"), "-f", o.write(t, set, "new"), "-o", "json")
	var stderr strings.Builder
	command.Stderr = &stderr
	out, err := command.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 1 {
		if rejections(stderr.String()) == "" {
			t.Fatalf("exit code %d\n%s", exit.ExitCode(), stderr.String())
		}
		return fmt.Sprintf("exit code %d\n%s", exit.ExitCode(), rejections(stderr.String()))
	}
	if err != nil && exit == nil {
		t.Fatal(err)
	}
	var plan document.Plan
	if err := json.Unmarshal(out, &plan); err != nil {
		t.Fatalf("%v\n%s%s", err, out, stderr.String())
	}
	plan.Summary.Unchanged -= o.pads
	plan.Roots = slices.DeleteFunc(plan.Roots, func(n document.PlanNode) bool { return strings.HasPrefix(n.Name, "pad-") })
	withoutSources(plan.Roots)
	text, err := json.MarshalIndent(plan, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

func withoutSources(nodes []document.PlanNode) {
	for i := range nodes {
		nodes[i].Source = ""
		withoutSources(nodes[i].Children)
	}
}

var position = regexp.MustCompile(`\S*\.yaml:\d+: `)

// rejections are the lines of an error that tell of objects, in no order.
func rejections(stderr string) string {
	var found []string
	for line := range strings.Lines(stderr) {
		if strings.Contains(line, "rejected by the API server") {
			found = append(found, position.ReplaceAllString(line, ""))
		}
	}
	slices.Sort(found)
	return strings.Join(found, "")
}

// write writes one side of a set to a directory.
func (o order) write(t *testing.T, set, side string) string {
	t.Helper()
	var documents []string
	for _, name := range []string{"common", side} {
		text, err := os.ReadFile(filepath.Join("sets", set, name+".yaml"))
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, strings.Split(string(text), "\n---\n")...)
	}
	for i := range o.pads {
		documents = append(documents, fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: pad-%03d, namespace: shop}", i))
	}
	files := 1
	if o.seed != 0 {
		random := rand.New(rand.NewPCG(o.seed, uint64(side[0]))) // another order on each side
		random.Shuffle(len(documents), func(i, j int) { documents[i], documents[j] = documents[j], documents[i] })
		files = 1 + random.IntN(8)
	}
	dir := t.TempDir()
	for n, part := range slices.Collect(slices.Chunk(documents, cmp.Or((len(documents)+files-1)/files, 1))) {
		if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("%d.yaml", n)), []byte(strings.Join(part, "\n---\n")+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// differing are the lines that only one of two texts has.
func differing(a, b string) string {
	var lines []string
	for _, side := range []struct{ sign, text, other string }{{"-", a, b}, {"+", b, a}} {
		others := strings.Split(side.other, "\n")
		for line := range strings.Lines(side.text) {
			if line := strings.TrimRight(line, "\n"); !slices.Contains(others, line) {
				lines = append(lines, side.sign+line)
			}
		}
	}
	if len(lines) == 0 {
		return a + "\n\n" + b
	}
	return strings.Join(lines, "\n")
}
