package scripttest

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

// sandboxes are those that scripts share, by their flags.
var sandboxes pool

type pool struct {
	mu    sync.Mutex
	slots map[string]*slot
}

// slot holds the sandbox with certain flags. Who has the lock has the sandbox.
type slot struct {
	sync.Mutex
	running *programtest.Sandbox
}

func (p *pool) slot(flags []string) *slot {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.slots == nil {
		p.slots = map[string]*slot{}
	}
	key := strings.Join(flags, " ")
	if p.slots[key] == nil {
		p.slots[key] = &slot{}
	}
	return p.slots[key]
}

// close ends all. No script runs any more.
func (p *pool) close() {
	for _, s := range p.slots {
		if s.running != nil {
			s.running.Close()
		}
	}
}

// shared [FLAG...] -- COMMAND [ARG...] runs a command on a shared sandbox.
func shared(ts *testscript.TestScript, bin string, neg bool, args []string) {
	dash := slices.Index(args, "--")
	if dash < 0 || dash == len(args)-1 {
		ts.Fatalf("usage: shared [FLAG...] -- COMMAND [ARG...]")
	}
	s := sandboxes.slot(args[:dash])
	s.Lock()
	defer s.Unlock()
	if s.running == nil {
		started, err := programtest.StartSandbox(filepath.Join(bin, "kctl-ctrl"), args[:dash]...)
		ts.Check(err)
		s.running = started
	}
	// The script may write into its kubeconfig.
	kubeconfig := filepath.Join(ts.Getenv("WORK"), ".kubeconfig")
	ts.Check(os.WriteFile(kubeconfig, s.running.Kubeconfig, 0o600))
	for name, value := range map[string]string{"KUBECONFIG": kubeconfig, "KCTL_CTRL_ATTACH_DIR": s.running.AttachDir()} {
		before := ts.Getenv(name)
		ts.Setenv(name, value)
		defer ts.Setenv(name, before)
	}
	// Whatever the command did and however the script ends, the next one has it empty.
	defer func() {
		if err := s.running.Empty(context.Background()); err != nil {
			ts.Logf("the shared sandbox is of no use to the next script: %v", err)
			s.running.Close()
			s.running = nil
		}
	}()
	err := ts.Exec(args[dash+1], args[dash+2:]...)
	if line := s.running.Stall(); line != "" {
		ts.Fatalf("%s", line)
	}
	if (err != nil) != neg {
		ts.Fatalf("%q: %v", args[dash+1:], err)
	}
}
