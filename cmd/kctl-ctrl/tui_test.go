package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
)

// The screen leaves the terminal as it was, whatever ends it.
func TestScreenRestoresTheTerminal(t *testing.T) {
	const onSandbox, onCluster = true, false
	for _, c := range []struct {
		name  string
		where bool
		end   func(*terminal)
		code  int
	}{
		{"q", onCluster, func(x *terminal) { x.press("q") }, exit.OK},
		{"Ctrl-C", onSandbox, func(x *terminal) { x.press("<ctrl-c>") }, exit.OK},
		{"SIGTERM", onCluster, func(x *terminal) { x.signal(syscall.SIGTERM) }, exit.OK},
		{"SIGHUP", onCluster, func(x *terminal) { x.signal(syscall.SIGHUP) }, exit.OK},
		{"a crash of the sandbox", onSandbox, func(x *terminal) {
			if err := x.child().Kill(); err != nil {
				x.t.Fatal(err)
			}
		}, exit.Failed},
	} {
		t.Run(c.name, func(t *testing.T) {
			testbed.Parallel(t)
			args, title := []string{"tui", "--controllers=deployment,replicaset", "--sandbox", "--nodes=0"}, "SANDBOX"
			if c.where == onCluster {
				args, title = []string{"tui", "--controllers=deployment,replicaset", "--kubeconfig", testbed.Kubeconfig(t, testbed.Share(t).Sandbox)}, "DRY-RUN=CLIENT"
			}
			x := onTerminal(t, 80, 24, args...).shows(title, "2 of 49 running")
			begin := time.Now()
			c.end(x)
			if code := x.ends(); code != c.code {
				t.Errorf("exit code %d, want %d:\n%s", code, c.code, x.picture.String())
			}
			t.Logf("ended after %s", time.Since(begin).Round(time.Millisecond))
			if c.code == exit.Failed && !strings.Contains(x.raw.String(), "error: the sandbox's control plane ended") {
				t.Errorf("it is not said why the screen ended:\n%s", x.picture.String())
			}
		})
	}
}

// Ctrl-Z gives the shell its terminal back, and fg the screen.
func TestScreenIsSuspended(t *testing.T) {
	testbed.Parallel(t)
	x := onShell(t, 80, 24)
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	x.press("PS1='$ '\n").press(self + " tui --controllers=deployment --kubeconfig=" + testbed.Kubeconfig(t, testbed.Share(t).Sandbox) + "\n")
	x.shows("1 of 49 running").press("<ctrl-z>").shows("$ ")
	x.restored()
	x.press("fg\n").shows("1 of 49 running").press("q").shows("$ ")
	x.press("exit\n")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
}

// Without a terminal there is a line that names what works there.
func TestScreenNeedsATerminal(t *testing.T) {
	for _, args := range [][]string{{}, {"tui", "--sandbox"}} {
		command := program(t, args...)
		out, err := command.CombinedOutput()
		if err == nil || command.ProcessState.ExitCode() != exit.Failed {
			t.Errorf("%v: %v, want exit code %d", args, err, exit.Failed)
		}
		if got := string(out); strings.Count(got, "\n") != 1 || !strings.Contains(got, "'run'") || !strings.Contains(got, "--plain") {
			t.Errorf("%v says %q", args, got)
		}
	}
}

// A user watches the shop of the README: into a cache, up to the owners, what a
// deletion would take, what a rollout changed; then holds a loop, and sees its write
// only after the step.
func TestScreenShowsTheLoopsAtWork(t *testing.T) {
	testbed.Parallel(t)
	x := onTerminal(t, 120, 32, "tui", "--sandbox", "-f", "examples/shop/")
	x.shows("SANDBOX", "43 of 49 running").press("K")
	s := &liveSandbox{t: t, kubeconfig: x.matches(`KUBECONFIG=(\S+)`)}
	s.kubectl("-n", "shop", "rollout", "status", "deployment/web") // each pod has its node

	x.press(":pods<enter>").shows("cache of pods", "web-", "1/1", "Running").press("/web<enter>").matches("> .*web-[0-9a-f]+-")
	x.press("w").shows("Who owns the fields of pods shop/web-", "by the server", "kctl-ctrl").press("<esc>").shows("cache of pods")
	x.press("<enter>").shows("as the cache holds it").press("/nodename<enter>").shows("nodeName: node-").press("<esc>").shows("cache of pods")
	x.press("O").shows("Tree: ", "Deployment/web", "ReplicaSet/web-")
	x.press("R").shows("roots", "StatefulSet/db").press("/deployment/web<enter>").shows("> Deployment/web").press("x").shows("Delete preview: Deployment/web", "it has no owner left").press("f").shows("[f Foreground]").press("<esc>").shows("Tree: roots")

	s.kubectl("-n", "shop", "set", "image", "deployment/web", "web=registry.example/web:9.9")
	s.kubectl("-n", "shop", "rollout", "status", "deployment/web")
	x.press("6").shows("Revisions: 3 histories", "at #2").press("/web<enter>").shows("> + Deployment/web").press("<enter>").shows("- Deployment/web", "#1").press("jjd").shows("revision 1 → live", "shop/web:1.4.2", "web:9.9").press("<esc>").shows("3 histories")

	x.press("1").press("/^replicaset$<enter>").shows("/^replicaset$", "> replicaset ").press("P").shows("PAUSED")
	before := s.kubectl("-n", "shop", "get", "pods", "-l", "app=web", "-o", "name")
	s.kubectl("-n", "shop", "scale", "deployment/web", "--replicas=7")
	x.press("Q").shows("Queues of replicaset", "ready ", "shop/web-")
	if now := s.kubectl("-n", "shop", "get", "pods", "-l", "app=web", "-o", "name"); now != before {
		t.Errorf("a paused loop has made pods:\n%s", now)
	}
	x.press("s")
	x.press("W").shows("Writes", "create  pods shop/web-", "real")
	x.press("1P").shows("running")
	s.kubectl("-n", "shop", "rollout", "status", "deployment/web")
	x.press("4").shows("Writes").resize(80, 24)
	x.shows("Writes").press("q")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d:\n%s", code, x.picture.String())
	}
}

// Where no cluster configured the sandbox is offered. What the screen saves, it
// replays: with a slider, errors to jump to, and keys that say why they are off.
func TestScreenSavesAndReplays(t *testing.T) {
	testbed.NeedsSandbox(t)
	testbed.Parallel(t)
	x := onTerminal(t, 100, 30)
	x.shows("No cluster is configured", "[Y/n]").press("\n").shows("SANDBOX", "43 of 49 running")
	s := &liveSandbox{t: t, kubeconfig: x.press("K").matches(`KUBECONFIG=(\S+)`)}
	x.press("S").shows("Recording to", "REC")
	s.kubectl("create", "deployment", "web", "--image=web", "--replicas=2")
	s.kubectl("rollout", "status", "deployment/web")
	x.press("4").shows("kube-schedul", "real").press("S")
	x.shows("Saved")
	state := ""
	for _, v := range x.command.Env {
		if dir, ok := strings.CutPrefix(v, "XDG_STATE_HOME="); ok {
			state = dir
		}
	}
	x.press("q")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}
	files, err := filepath.Glob(filepath.Join(state, "kctl-ctrl", "*", "*.jsonl.zst"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings: %v, %v", files, err)
	}
	if info, err := os.Stat(files[0]); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the recording is %v, %v", info.Mode(), err)
	}

	x = onTerminal(t, 100, 30, "tui", "--from", files[0])
	x.shows("RECORDING", "stopped", "Controllers: 43 of 49 running")
	// What is not read yet cannot be gone to.
	x.until(func(picture string) bool { return strings.Contains(picture, "at its beginning") }, "that the recording is read")
	x.press("4:seek +1h<enter>").shows("kube-schedul", "real").press("1").shows("Controllers:").press("P").shows("not now: this is a recording")
	x.press(":pods<enter>").shows("cache of pods: 2").press("q")
	if code := x.ends(); code != exit.OK {
		t.Errorf("exit code %d", code)
	}

	lines := program(t, "tui", "--plain", "--page", "4", "--from", files[0])
	out, err := lines.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "pods default/web-") || strings.Contains(string(out), "\x1b") {
		t.Errorf("%v\n%s", err, out)
	}
}
