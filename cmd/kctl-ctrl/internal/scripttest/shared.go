package scripttest

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/rogpeppe/go-internal/testscript"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/recycle"
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
	running *running
}

// running is a `kctl-ctrl sandbox`.
type running struct {
	command    *exec.Cmd
	stdin      io.Closer // its end is that of the sandbox
	home       string
	kubeconfig []byte
	recycled   *recycle.Cluster
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
			s.running.close()
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
		started, err := start(bin, args[:dash])
		ts.Check(err)
		s.running = started
	}
	// The script may write into its kubeconfig.
	kubeconfig := filepath.Join(ts.Getenv("WORK"), ".kubeconfig")
	ts.Check(os.WriteFile(kubeconfig, s.running.kubeconfig, 0o600))
	for name, value := range map[string]string{"KUBECONFIG": kubeconfig, "KCTL_CTRL_ATTACH_DIR": s.running.attach()} {
		before := ts.Getenv(name)
		ts.Setenv(name, value)
		defer ts.Setenv(name, before)
	}
	// Whatever the command did and however the script ends, the next one has it empty.
	defer func() {
		if err := s.running.recycled.Empty(context.Background()); err != nil {
			ts.Logf("the shared sandbox is of no use to the next script: %v", err)
			s.running.close()
			s.running = nil
		}
	}()
	err := ts.Exec(args[dash+1], args[dash+2:]...)
	if line := stallIn(filepath.Join(s.running.home, "state")); line != "" {
		ts.Fatalf("%s", line)
	}
	if (err != nil) != neg {
		ts.Fatalf("%q: %v", args[dash+1:], err)
	}
}

func (r *running) attach() string { return filepath.Join(r.home, "a") }

// start starts a sandbox, and waits until its controllers have made what is theirs.
func start(bin string, flags []string) (_ *running, err error) {
	home, err := os.MkdirTemp("", "kc") // sockets have short paths
	if err != nil {
		return nil, err
	}
	r := &running{home: home}
	defer func() {
		if err != nil {
			r.close()
		}
	}()
	// It ends with this process, whatever ends that: cat reads the end of its input.
	r.command = exec.Command(filepath.Join(bin, "kctl-ctrl"), slices.Concat([]string{"sandbox"}, flags, []string{"--", "sh", "-c", `echo "$KUBECONFIG"; exec cat`})...)
	r.command.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CONFIG_HOME=", "KUBECONFIG=", "KCTL_CTRL_ATTACH_DIR="+r.attach())
	var said strings.Builder
	r.command.Stderr = &said
	stdin, err := r.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	r.stdin = stdin
	stdout, err := r.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := r.command.Start(); err != nil {
		return nil, err
	}
	path, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("start the shared sandbox: %w: %s", err, said.String())
	}
	if r.kubeconfig, err = os.ReadFile(strings.TrimSpace(path)); err != nil {
		return nil, err
	}
	r.recycled, err = clusterOf(r.kubeconfig)
	return r, err
}

// close ends the sandbox, and waits until nothing of it is left.
func (r *running) close() {
	if r.stdin != nil {
		_ = r.stdin.Close()
	}
	if r.command != nil && r.command.Process != nil {
		_ = r.command.Wait()
	}
	_ = os.RemoveAll(r.home)
}

// clusterOf is the one that a sandbox's kubeconfig leads to.
func clusterOf(kubeconfig []byte) (*recycle.Cluster, error) {
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
				CA     string `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Token string `json:"token"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(kubeconfig, &config); err != nil {
		return nil, err
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return nil, errors.New("the sandbox's kubeconfig has not one cluster and one user")
	}
	ca, err := base64.StdEncoding.DecodeString(config.Clusters[0].Cluster.CA)
	if err != nil {
		return nil, err
	}
	return recycle.New(context.Background(), config.Clusters[0].Cluster.Server, ca, config.Users[0].User.Token)
}
