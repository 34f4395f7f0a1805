// Package scripttest plays scripts: sessions of a user, with what is typed, what is
// printed where, and the exit code. They are the files testdata/COMMAND/*.txtar of the
// package that calls Run (go doc testscript has their language).
//
// They run the program itself. It is linked once for all packages: go tool keeps it in
// the build cache. kubectl is there too, from the same source as the control plane.
//
// Beside the commands of testscript there are:
//
//	exits CODE COMMAND [ARG...]          run a command and compare its exit code
//	mode FILE PERM                       compare a file's permission bits
//	[!] shared [FLAG...] -- COMMAND...   run a command on a shared sandbox
//
// shared is `exec kctl-ctrl sandbox FLAG... -- COMMAND...`, except that the sandbox is
// kept for the next script of the package with the same flags, and is emptied in
// between. One script has it at a time. A script that is about the sandbox itself, that
// reads the counters of its controllers or changes its nodes needs one of its own.
package scripttest

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// atOnce is how many scripts run at a time where -parallel does not say it: most of the
// time they wait for controllers.
const atOnce = 3

// Main is the TestMain of a package with scripts.
func Main(m *testing.M) {
	flag.Parse()
	parallel := false
	flag.Visit(func(f *flag.Flag) { parallel = parallel || f.Name == "test.parallel" })
	if !parallel {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
			panic(err)
		}
	}
	code := m.Run()
	sandboxes.close()
	os.Exit(code)
}

// Run plays the package's scripts.
func Run(t *testing.T) {
	t.Helper()
	if testing.Short() {
		t.Skip("-short: the scripts link the program and start sandboxes")
	}
	root := programtest.Repository(t)
	bin := programs(t)
	commands, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, command := range commands {
		t.Run(command.Name(), func(t *testing.T) {
			t.Parallel()
			play(t, filepath.Join("testdata", command.Name()), root, bin)
		})
	}
}

// play plays the scripts of a directory.
func play(t *testing.T, dir, root, bin string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("PATH", bin+string(filepath.ListSeparator)+env.Getenv("PATH"))
			env.Setenv("ROOT", root)
			env.Setenv("SHOP", filepath.Join(root, "watch", "recording", "testdata", "shop.jsonl"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("KCTL_CTRL_ATTACH_DIR", filepath.Join(env.WorkDir, "a"))
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-kubeconfig"))
			env.Defer(func() {
				if line := programtest.StallIn(filepath.Join(env.WorkDir, "state")); line != "" {
					t.Errorf("%s: %s", filepath.Base(env.WorkDir), line)
				}
			})
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"mode":   mode,
			"shared": func(ts *testscript.TestScript, neg bool, args []string) { shared(ts, bin, neg, args) },
		},
	})
}

// programs is a directory with the program, under each of its names, and kubectl.
func programs(t *testing.T) string {
	t.Helper()
	bin := t.TempDir()
	for pkg, names := range map[string][]string{programtest.KctlCtrl: {"kctl-ctrl", "kubectl-ctrl", "kubectl_complete-ctrl"}, programtest.Kubectl: {"kubectl"}} {
		built := programtest.Tool(t, pkg)
		for _, name := range names {
			if err := os.Symlink(built, filepath.Join(bin, name)); err != nil {
				t.Fatal(err)
			}
		}
	}
	return bin
}

// exits CODE COMMAND... runs a command and compares its exit code, which the
// script language knows only as success or failure.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	code := "0"
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		code = err.Error()
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			code = strconv.Itoa(exit.ExitCode())
		}
	}
	if code != args[0] {
		ts.Fatalf("exit code %s, want %s", code, args[0])
	}
}

// mode FILE PERM compares a file's permission bits: mode kubeconfig 0600.
func mode(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: mode FILE PERM")
	}
	info, err := os.Stat(ts.MkAbs(args[0]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}
