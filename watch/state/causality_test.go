package state_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state/causality"
	"pgregory.net/rapid"
)

// TestLinkStories links the journals in testdata/link, written as those of
// testdata/fold, and tells the story of an object or a key.
func TestLinkStories(t *testing.T) {
	datadriven.Walk(t, "testdata/link", func(t *testing.T, path string) {
		st := state.NewTestStory()
		datadriven.RunTest(t, path, func(t *testing.T, d *datadriven.TestData) string {
			if d.Cmd != "story" {
				return st.Run(t, d)
			}
			links := causality.Link(st.Snapshot())
			var of []*causality.Hop
			detail := causality.DetailAll
			apart := func(string) bool { return false }
			for _, arg := range d.CmdArgs {
				switch arg.Key {
				case "all":
					of = links.Roots
				case "object":
					of = links.OfObject(state.ParseTestRef(arg.Vals[0], ""))
				case "key":
					controller, key, _ := strings.Cut(arg.Vals[0], ":")
					of = links.OfKey(controller, controller, key)
				case "entry":
					seq, _ := strconv.ParseUint(arg.Vals[0], 10, 64)
					of = []*causality.Hop{links.Hop(seq)}
				case "detail":
					detail = map[string]causality.Detail{"writes": causality.DetailWrites, "syncs": causality.DetailSyncs, "all": causality.DetailAll}[arg.Vals[0]]
				case "apart":
					apart = func(string) bool { return true }
				}
			}
			return tellStory(causality.Story(of, detail, apart))
		})
	})
}

func tellStory(all []*causality.Branch) string {
	var out strings.Builder
	var tell func(b *causality.Branch, depth int)
	tell = func(b *causality.Branch, depth int) {
		fmt.Fprint(&out, strings.Repeat("  ", depth))
		if b.Asked {
			fmt.Fprint(&out, "* ")
		}
		if len(b.Hops) > 1 {
			fmt.Fprintf(&out, "%d like: ", len(b.Hops))
		}
		fmt.Fprintf(&out, "%s %s", b.First().Kind, causality.Describe(b.First()))
		switch h := b.First(); {
		case b.Parent == nil:
			fmt.Fprintf(&out, " ← %s%s; in all %s", h.Origin, h.Link, state.Short(b.Last().Sub(h.Start)))
		case b.Least != b.Most:
			fmt.Fprintf(&out, " +%s–%s", state.Short(b.Least), state.Short(b.Most))
		default:
			fmt.Fprintf(&out, " +%s", state.Short(b.Least))
		}
		if !b.Sure {
			fmt.Fprintf(&out, " (supposed: %s)", b.First().Link)
		}
		fmt.Fprintln(&out)
		for _, c := range b.Children {
			tell(c, depth+1)
		}
	}
	for _, b := range all {
		tell(b, 0)
	}
	if out.Len() == 0 {
		return "none\n"
	}
	return out.String()
}

// TestLinkIsAForest: whatever the journal, each Hop is in one tree once, and a
// child does not come before its parent in its own list.
func TestLinkIsAForest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := state.Fold(state.NewSnapshot(state.Limits{}), state.GenTestEntries.Draw(t, "entries")...)
		l := causality.Link(s)
		seen := map[*causality.Hop]bool{}
		var walk func(h *causality.Hop)
		walk = func(h *causality.Hop) {
			if seen[h] {
				t.Fatalf("%s is in two places", causality.Describe(h))
			}
			seen[h] = true
			for _, c := range h.Children {
				if c.Parent != h {
					t.Fatalf("%s is not the child of its parent", causality.Describe(c))
				}
				walk(c)
			}
		}
		for _, r := range l.Roots {
			if r.Origin == "" {
				t.Fatalf("%s does not say why it is a root", causality.Describe(r))
			}
			walk(r)
		}
		if len(seen) != len(l.Hops) {
			t.Fatalf("%d of %d Hops are in a tree", len(seen), len(l.Hops))
		}
		for _, detail := range []causality.Detail{causality.DetailWrites, causality.DetailSyncs, causality.DetailAll} {
			told := 0
			var count func(b *causality.Branch)
			count = func(b *causality.Branch) {
				told += len(b.Hops)
				for _, c := range b.Children {
					count(c)
				}
			}
			for _, b := range causality.Story(l.Roots, detail, func(string) bool { return rapid.Bool().Draw(t, "apart") }) {
				count(b)
			}
			if detail == causality.DetailAll && told != len(l.Hops) {
				t.Fatalf("the story tells %d of %d", told, len(l.Hops))
			}
		}
	})
}

// TestLinkTheShop: in a recorded session of real loops each pod of a ReplicaSet
// leads back to what was applied, and the scheduler's binding belongs to it.
func TestLinkTheShop(t *testing.T) {
	l := causality.Link(shopSnapshot(t))
	created, bound := 0, 0
	for _, h := range l.Hops {
		w, ok := h.Event.(state.WriteFinished)
		if !ok || w.Result != state.WriteDone || w.Object.Resource != "pods" {
			continue
		}
		switch {
		case w.Controller == "replicaset-controller" && w.Verb == "create":
			created++
			if first, _ := h.Root().Object(); first.Resource != "deployments" || h.Root().Origin != causality.OriginUser {
				t.Errorf("%s leads back to %s, not to its Deployment", causality.Describe(h), causality.Describe(h.Root()))
			}
		case w.Subresource == "binding":
			bound++
			if h.Link != causality.LinkObject || h.Root().Origin != causality.OriginUser && h.Root().Origin != causality.OriginListed {
				t.Errorf("%s leads back to %s", causality.Describe(h), causality.Describe(h.Root()))
			}
		}
	}
	if created == 0 || bound == 0 {
		t.Errorf("%d pods were created and %d bound", created, bound)
	}
}

func shopSnapshot(t testing.TB) *state.Snapshot {
	t.Helper()
	f, err := os.Open("../recording/testdata/shop.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	d, err := state.NewDecoder(f)
	if err != nil {
		t.Fatal(err)
	}
	s := state.NewSnapshot(state.Limits{})
	for {
		e, err := d.Next()
		if err != nil {
			return s
		}
		s = state.Fold(s, e)
	}
}

func BenchmarkLink(b *testing.B) {
	one := shopSnapshot(b)
	var entries []state.Entry
	for e := range one.Recent.All() {
		entries = append(entries, e)
	}
	s := state.NewSnapshot(state.Limits{})
	for i := 0; s.Recent.Evicted() == 0; i++ {
		more := make([]state.Entry, len(entries))
		for j, e := range entries {
			e.Seq += uint64(i * len(entries))
			e.At = e.At.Add(time.Duration(i) * time.Minute)
			more[j] = e
		}
		s = state.Fold(s, more...)
	}
	for b.Loop() {
		causality.Link(s)
	}
}
