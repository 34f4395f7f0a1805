package main

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	kubectl "k8s.io/kubectl/pkg/cmd"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/controlplane"
)

// TestMain makes the test binary the program: the scripts below call it by its
// names, and its sandboxes execute it as their control plane. kubectl comes from
// the library it is built from, so that the scripts need nothing installed.
func TestMain(m *testing.M) {
	controlplane.RunChild()
	program := func() {
		os.Exit(execute(context.Background(), os.Args, genericiooptions.IOStreams{In: os.Stdin, Out: os.Stdout, ErrOut: os.Stderr}))
	}
	if os.Getenv(asOperator) != "" {
		os.Exit(operator(context.Background()))
	}
	if os.Getenv(asProgram) != "" {
		program()
	}
	testscript.Main(m, map[string]func(){
		"kctl-ctrl":     program,
		"kubectl-ctrl":  program,
		completeProgram: program,
		"kubectl": func() {
			if err := kubectl.NewDefaultKubectlCommand().Execute(); err != nil {
				os.Exit(1)
			}
		},
	})
}

// TestScripts plays the scripts in testdata/script, which read as sessions of a
// user: what is typed, what is printed where, and the exit code.
func TestScripts(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	testscript.Run(t, testscript.Params{
		Dir:                 filepath.Join("testdata", "script"),
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		UpdateScripts:       os.Getenv("UPDATE_SCRIPTS") != "",
		Setup: func(env *testscript.Env) error {
			env.Setenv("ROOT", root)
			env.Setenv("SHOP", filepath.Join(root, "watch", "recording", "testdata", "shop.jsonl"))
			env.Setenv("XDG_STATE_HOME", filepath.Join(env.WorkDir, "state"))
			env.Setenv("HOME", env.WorkDir)
			env.Setenv("KCTL_CTRL_ATTACH_DIR", filepath.Join(env.WorkDir, "a"))
			env.Setenv("KUBECONFIG", filepath.Join(env.WorkDir, "no-kubeconfig"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits,
			"mode":  mode,
		},
	})
}

// exits CODE COMMAND... runs a command and compares its exit code, which the
// script language knows only as success or failure.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE COMMAND [ARG...]")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := "0"
	if err != nil {
		code = exitStatus(err)
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
	if got := permissions(info); got != args[1] {
		ts.Fatalf("%s has mode %s, want %s", args[0], got, args[1])
	}
}
