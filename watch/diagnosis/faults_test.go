package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// ask reads a world through the real Reader and judges it.
func (w *world) ask(name string) []document.Finding {
	w.t.Helper()
	config := &rest.Config{Host: "http://world.invalid", QPS: -1, Transport: w}
	owned, err := owners.NewReader(config, owners.Options{})
	if err != nil {
		w.t.Fatal(err)
	}
	reader, err := NewReader(config, owned)
	if err != nil {
		w.t.Fatal(err)
	}
	kinds, err := owned.Kinds(w.t.Context())
	if err != nil {
		w.t.Fatal(err)
	}
	typ, rest, _ := strings.Cut(name, "/")
	s := kindOf(w.t, typ)
	t, known := kinds.Resource(s.group, s.resource)
	if !known {
		w.t.Fatalf("%s is not served", typ)
	}
	namespace := ""
	if s.namespaced {
		namespace = "shop"
	}
	target, err := owned.Get(w.t.Context(), t, namespace, rest)
	if err != nil {
		w.t.Fatalf("get %s: %v", name, err)
	}
	facts, err := reader.Read(w.t.Context(), target)
	if err != nil {
		w.t.Fatal(err)
	}
	facts.Now = faultNow
	return Findings(facts)
}

// wronglyCertain are the causes that are called certain and are not true.
func wronglyCertain(found []document.Finding, truth ...string) []string {
	var wrong []string
	for _, f := range found {
		if f.Role == document.RoleCause && f.Certainty == document.Certain && !slices.Contains(truth, f.Cause) {
			wrong = append(wrong, f.Cause)
		}
	}
	return wrong
}

// miss says why the first finding is not the true cause; empty where it is.
func miss(found []document.Finding, cause string, says []string) string {
	if len(found) == 0 {
		return "nothing found, want " + cause
	}
	first := found[0]
	text := first.Object.String() + "\n" + first.Text
	for _, e := range first.Evidence {
		text += "\n" + e.Object.String() + " " + e.Path + ": " + e.Value
	}
	var lacks []string
	for _, s := range says {
		if !strings.Contains(text, s) {
			lacks = append(lacks, fmt.Sprintf("%q", s))
		}
	}
	switch {
	case first.Cause != cause:
		return fmt.Sprintf("%s (%s, %s) comes first, want %s: %s", first.Cause, first.Certainty, first.Role, cause, first.Text)
	case first.Role == document.RoleSymptom:
		return cause + " is called a symptom"
	case len(lacks) > 0:
		return fmt.Sprintf("%s does not mention %s: %s", cause, strings.Join(lacks, ", "), text)
	case len(first.Evidence) == 0 || first.Next == "":
		return cause + " has no evidence, or no next step"
	}
	return ""
}

// wantFirst is how many of the faults must have their true cause first, in per
// cent; mostWrong is in how many worlds something may be called certain that is
// not true.
const (
	wantFirst = 95
	mostWrong = 0
)

// TestFaults measures why on faults with known causes: how often the true cause
// comes first, and how often something is called certain that is not true.
func TestFaults(t *testing.T) {
	faults := loadFaults(t)
	first, wrong, worlds := 0, 0, 0
	certain := func(t *testing.T, name string, found []document.Finding, truth ...string) {
		worlds++
		if w := wronglyCertain(found, truth...); len(w) > 0 {
			wrong++
			t.Logf("WRONGLY CERTAIN %s: %s", name, strings.Join(w, ", "))
		}
	}
	for _, f := range faults {
		found := build(t, f.World, f.change.copyOf(t)).ask(f.Ask)
		if m := miss(found, f.Cause, f.Says); m == "" {
			first++
		} else {
			t.Logf("MISSED %s: %s", f.Name, m)
		}
		certain(t, f.Name, found, append(f.Also, f.Cause)...)
		for _, l := range f.Lookalikes {
			ask := f.Ask
			if l.Ask != "" {
				ask = l.Ask
			}
			found := build(t, f.World, f.change.copyOf(t), l.change.copyOf(t)).ask(ask)
			certain(t, f.Name+", look-alike: "+l.Name, found, append(l.Also, l.Cause)...)
			if l.Cause == "" {
				continue
			}
			if m := miss(found, l.Cause, nil); m != "" {
				t.Errorf("%s, look-alike %q: %s", f.Name, l.Name, m)
			}
		}
	}
	share := float64(first) / float64(len(faults)) * 100
	t.Logf("faults: %d; true cause first: %d (%.1f %%); worlds with look-alikes: %d; wrongly certain in: %d", len(faults), first, share, worlds, wrong)
	if len(faults) < 100 || share < wantFirst || wrong > mostWrong {
		t.Errorf("want at least 100 faults, %d %% of them with the true cause first, and something wrongly certain in %d at most", wantFirst, mostWrong)
	}
}

// Nothing is wrong in the worlds that faults happen to.
func TestNothingWrong(t *testing.T) {
	for _, c := range []struct{ base, ask string }{
		{"web", "deployment/web"}, {"web", "replicaset/web-1"}, {"web", "pod/web-1-a"}, {"web", "service/web"}, {"db", "statefulset/db"}, {"db", "pvc/data-db-0"}, {"db", "pv/pv-0"},
		{"job", "job/migrate"}, {"job", "pod/migrate-a"}, {"cron", "cronjob/report"}, {"agent", "daemonset/agent"}, {"cluster", "node/node-1"}, {"cluster", "ns/shop"},
	} {
		if found := build(t, []string{c.base}).ask(c.ask); len(found) > 0 {
			t.Errorf("%s of world %s: %+v", c.ask, c.base, found)
		}
	}
	if found := build(t, []string{"web", "hpa"}).ask("hpa/web"); len(found) > 0 {
		t.Errorf("hpa: %+v", found)
	}
}
