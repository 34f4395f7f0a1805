package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/exec"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// wrote are the writes that the API server has had of an operator, as "verb path", but
// for its election and for Events, which follow what they tell of.
func (p *proof) wrote(t *testing.T, operator string) []string {
	t.Helper()
	all, _ := p.Mutations(t)
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
	testbed.Parallel(t)
	p := emptyProof(t)
	p.seedConfigMaps(t)
	kubeconfig := p.kubeconfig(t)
	operator := builtOperator(t)
	dir := t.TempDir()
	journal, output := filepath.Join(dir, "journal"), filepath.Join(dir, "output")
	const child = "/registry/configmaps/default/parent-child"
	nothing := func() {
		t.Helper()
		if wrote := p.wrote(t, "runtime-operator"); len(wrote) > 0 || p.Revisions(t)[child] != 0 {
			t.Fatalf("written before the yes: %q", wrote)
		}
	}
	x := onTerminal(t, 120, 50, "exec", "--active", "--ask", "--kubeconfig", kubeconfig, "--journal-file", journal, "-o", "json", "--command-output", output, "--", operator)
	x.shows("approval 1", "create configmaps default/parent-child", `data.from: "parent"`, "← the client runtime-operator/", "all writes of runtime-operator to configmaps default/parent-child")
	nothing()
	x.answer("s\n", "approval 2", "skipped before: 1")
	nothing()
	x.answer("y\n", "approval 3", "apply configmaps default/parent-applied")
	if wrote := p.wrote(t, "runtime-operator"); len(wrote) != 1 || p.Revisions(t)[child] == 0 {
		t.Fatalf("written after one yes: %q", wrote)
	}
	x.answer("c\n")
	if code := x.ends(); code != exit.OK {
		said, _ := os.ReadFile(output)
		t.Fatalf("exit code %d\n%s\n%s", code, x.picture.String(), said)
	}
	var verbs []string
	for _, w := range p.wrote(t, "runtime-operator") {
		verb, _, _ := strings.Cut(w, " ")
		verbs = append(verbs, verb)
	}
	// Its patch may bring it to begin anew before it ends.
	if want := []string{"create", "patch", "patch", "update", "delete"}; len(verbs) < len(want) || !slices.Equal(verbs[:len(want)], want) {
		t.Errorf("the server has had %q, want %q", verbs, want)
	}
	if said, _ := os.ReadFile(output); !strings.Contains(string(said), "rejected by the user (kctl-ctrl did not send this create)") {
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
		"delete configmaps doomed done":          "the user: all writes of runtime-operator",
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
		if code := command.ProcessState.ExitCode(); code != exit.Failed || !strings.Contains(string(out), args[0]+" needs a terminal") || strings.Count(string(out), "\n") != 1 {
			t.Errorf("%v: exit code %d, says %q", args, code, out)
		}
	}
}

// The screen over a command: it waits for answers there, what it reads and writes is on
// the pages, what it prints in a file, and leaving the screen ends it.
func TestExecOnTheScreen(t *testing.T) {
	testbed.Parallel(t)
	p := emptyProof(t)
	p.seedConfigMaps(t)
	args := []string{"exec", "--tui", "--active", "--ask", "--kubeconfig", p.kubeconfig(t), "--"}
	x := onTerminal(t, 120, 32, append(args, plainOperator(t, "watch")...)...)
	x.shows("ACTIVE", "1 PENDING: A", "plain-operator", "client", "none run here; clients of the command: 1")
	x.press("A").shows("create configmaps default/parent-child", "← the client plain-operator/v1")
	if wrote := p.wrote(t, "plain-operator"); len(wrote) > 0 {
		t.Errorf("written before the yes: %q", wrote)
	}
	x.press("y").shows("apply configmaps default/parent-applied").press("C").shows("From now on, approve all writes of plain-operator?").press("y")
	x.press("<esc>").shows("clients of the command: 1").press("4").shows("Writes: ", "plain-operator", "delete", "configmaps default/doomed", "real")
	x.press("X").shows("What the command prints: ", "waiting for late")
	file := x.matches(`prints: (\S+\.log)`)
	x.press("<esc>").shows("Writes: ").press("q").shows("Quit, and end the command, which writes for real?").press("y")
	if code := x.ends(); code != 1 { // its word on SIGTERM
		t.Errorf("exit code %d:\n%s", code, x.picture.String())
	}
	said := x.raw.String()
	_, said, found := strings.Cut(said, "the command has ended with exit code 1; what it printed is in "+file+", and at last:\r\n")
	if !found || !strings.Contains(said, "  waiting for late\r\n") || strings.Contains(said, "Failed to release lease") {
		t.Errorf("it is not said how the command ended:\n%s", said)
	}
	if wrote := p.wrote(t, "plain-operator"); len(wrote) != 5 {
		t.Errorf("the server has had %q, want five writes", wrote)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
}

// What a command did can be looked at when it has ended by itself; its exit code is
// the screen's.
func TestExecEndsBehindTheScreen(t *testing.T) {
	testbed.Parallel(t)
	x := onTerminal(t, 100, 24, "exec", "--tui", "--sandbox", "--nodes=0", "--controllers=deployment", "--", "sh", "-c", "echo the last words >&2; exit 7")
	x.shows("THE COMMAND has ended with exit code 7", "the last words").press("<esc>").shows("deployment").press("q")
	if code := x.ends(); code != 7 {
		t.Errorf("exit code %d:\n%s", code, x.picture.String())
	}
}

// Only so many files of what commands printed are kept, the latest.
func TestExecKeepsFewOutputs(t *testing.T) {
	t.Setenv("XDG_STATE_HOME", t.TempDir())
	var made []string
	for i := range exec.MostOutputs + 5 {
		path, err := exec.NewOutputPath("op")
		if err != nil {
			t.Fatal(err)
		}
		// Names go by seconds; this is a later one.
		path = strings.Replace(path, filepath.Base(path)[:17], time.Now().Add(time.Duration(i)*time.Second).Format("2006-01-02T150405"), 1)
		made = append(made, path)
		if err := os.WriteFile(path, nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(made[0]), "*"))
	if err != nil {
		t.Fatal(err)
	}
	if want := made[len(made)-exec.MostOutputs:]; !slices.Equal(left, want) {
		t.Errorf("left are %q, want %q", left, want)
	}
}
