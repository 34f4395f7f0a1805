package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// wrote are the writes that the API server has had of an operator, as "verb path", but
// for its election and for Events, which follow what they tell of.
func (p *proof) wrote(t *testing.T, operator string) []string {
	t.Helper()
	all, _ := p.mutations(t)
	var out []string
	for _, w := range all {
		words := strings.Fields(w) // the user agent has spaces in it
		if !strings.HasPrefix(w, operator+"/") {
			t.Fatalf("not a write of %s: %q", operator, w)
		}
		request := strings.Join(words[len(words)-2:], " ")
		if !strings.Contains(request, "/leases") && !strings.Contains(request, "/events") {
			out = append(out, request)
		}
	}
	return out
}

// TestExecAsks has an operator of controller-runtime wait for the user before each
// write. The server's own records say that nothing is written before the yes and that
// it is after it; what is skipped, the operator tries again.
func TestExecAsks(t *testing.T) {
	p := newProof(t)
	p.seedConfigMaps(t)
	kubeconfig, err := p.WriteKubeconfig("")
	if err != nil {
		t.Fatal(err)
	}
	operator := builtOperator(t)
	dir := t.TempDir()
	journal, output := filepath.Join(dir, "journal"), filepath.Join(dir, "output")
	const child = "/registry/configmaps/default/parent-child"
	nothing := func() {
		t.Helper()
		if wrote := p.wrote(t, "runtime-operator"); len(wrote) > 0 || p.revisions(t)[child] != 0 {
			t.Fatalf("written before the yes: %q", wrote)
		}
	}
	x := onTerminal(t, 120, 50, "exec", "--active", "--ask", "--kubeconfig", kubeconfig, "--journal-file", journal, "-o", "json", "--command-output", output, "--", operator)
	x.shows("question 1", "create configmaps default/parent-child", `data.from: "parent"`, "← the client runtime-operator/", "every write of runtime-operator to configmaps default/parent-child")
	nothing()
	x.press("s\n").shows("question 2", "skipped before: 1")
	nothing()
	x.press("y\n").shows("question 3", "apply configmaps default/parent-applied")
	if wrote := p.wrote(t, "runtime-operator"); len(wrote) != 1 || p.revisions(t)[child] == 0 {
		t.Fatalf("written after one yes: %q", wrote)
	}
	x.press("c\n")
	if code := x.ends(); code != exitOK {
		said, _ := os.ReadFile(output)
		t.Fatalf("exit code %d\n%s\n%s", code, x.picture.String(), said)
	}
	var verbs []string
	for _, w := range p.wrote(t, "runtime-operator") {
		verb, _, _ := strings.Cut(w, " ")
		verbs = append(verbs, verb)
	}
	if want := []string{"create", "patch", "patch", "update", "delete"}; !slices.Equal(verbs, want) {
		t.Errorf("the server has had %q, want %q", verbs, want)
	}
	if said, _ := os.ReadFile(output); !strings.Contains(string(said), "skipped by the user (kctl-ctrl has not sent this create)") {
		t.Errorf("the operator was not told of the skip:\n%s", said)
	}

	approvals := map[string]string{}
	for _, e := range journalOf(t, journal) {
		if w, ok := e.(state.WriteFinished); ok {
			approvals[w.Verb+" "+w.Object.Resource+" "+w.Object.Name+" "+string(w.Result)] = w.Approval
		}
	}
	for write, by := range map[string]string{
		"create configmaps parent-child refused": "",
		"create configmaps parent-child done":    "the user",
		"delete configmaps doomed done":          "the user: every write of runtime-operator",
		"create leases operator done":            "an exception: it is for the election of a leader",
	} {
		if got, ok := approvals[write]; !ok || got != by {
			t.Errorf("%s: approved by %q (%v), want %q", write, got, ok, by)
		}
	}
}

// Without a terminal there is nobody to ask, which is said before anything starts.
func TestExecAsksNobody(t *testing.T) {
	for _, args := range [][]string{{"--ask"}, {"--tui"}} {
		command := program(t, append(append([]string{"exec"}, args...), "--sandbox", "--", "true")...)
		command.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
		out, _ := command.CombinedOutput()
		if code := command.ProcessState.ExitCode(); code != exitError || !strings.Contains(string(out), args[0]+" needs a terminal") || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v: exit code %d, says %q", args, code, out)
		}
	}
}
