package programtest

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

	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/internal/recycle"
)

// Sandbox is a `kctl-ctrl sandbox` that one test after the other uses.
type Sandbox struct {
	Kubeconfig []byte
	URL, Token string
	CA         []byte

	command  *exec.Cmd
	stdin    io.Closer // its end is that of the sandbox
	home     string
	recycled *recycle.Cluster
}

// AttachDir is where its process can be asked.
func (s *Sandbox) AttachDir() string { return filepath.Join(s.home, "a") }

// Stall is the line of its log that tells of a stalled queue, or empty.
func (s *Sandbox) Stall() string { return StallIn(filepath.Join(s.home, "state")) }

// Empty removes what was not there when it had started. After an error it is of no use
// to another test.
func (s *Sandbox) Empty(ctx context.Context) error { return s.recycled.Empty(ctx) }

// StartSandbox has a program start a sandbox, and waits until its controllers have made
// what is theirs.
func StartSandbox(program string, flags ...string) (_ *Sandbox, err error) {
	home, err := os.MkdirTemp("", "kc") // sockets have short paths
	if err != nil {
		return nil, err
	}
	s := &Sandbox{home: home}
	defer func() {
		if err != nil {
			s.Close()
		}
	}()
	// It ends with this process, whatever ends that: cat reads the end of its input.
	s.command = exec.Command(program, slices.Concat([]string{"sandbox"}, flags, []string{"--", "sh", "-c", `echo "$KUBECONFIG"; exec cat`})...)
	s.command.Env = append(os.Environ(), "HOME="+home, "XDG_STATE_HOME="+filepath.Join(home, "state"), "XDG_CONFIG_HOME=", "KUBECONFIG=", "KCTL_CTRL_ATTACH_DIR="+s.AttachDir())
	var said strings.Builder
	s.command.Stderr = &said
	stdin, err := s.command.StdinPipe()
	if err != nil {
		return nil, err
	}
	s.stdin = stdin
	stdout, err := s.command.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.command.Start(); err != nil {
		return nil, err
	}
	path, err := bufio.NewReader(stdout).ReadString('\n')
	if err != nil {
		return nil, fmt.Errorf("start the shared sandbox: %w: %s", err, said.String())
	}
	if s.Kubeconfig, err = os.ReadFile(strings.TrimSpace(path)); err != nil {
		return nil, err
	}
	if err = s.read(); err == nil {
		s.recycled, err = recycle.New(context.Background(), s.URL, s.CA, s.Token)
	}
	return s, err
}

// Close ends the sandbox, and waits until nothing of it is left.
func (s *Sandbox) Close() {
	if s.stdin != nil {
		_ = s.stdin.Close()
	}
	if s.command != nil && s.command.Process != nil {
		_ = s.command.Wait()
	}
	_ = os.RemoveAll(s.home)
}

// read reads where the kubeconfig leads to.
func (s *Sandbox) read() error {
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
	if err := yaml.Unmarshal(s.Kubeconfig, &config); err != nil {
		return err
	}
	if len(config.Clusters) != 1 || len(config.Users) != 1 {
		return errors.New("the sandbox's kubeconfig has not one cluster and one user")
	}
	ca, err := base64.StdEncoding.DecodeString(config.Clusters[0].Cluster.CA)
	if err != nil {
		return err
	}
	s.URL, s.CA, s.Token = config.Clusters[0].Cluster.Server, ca, config.Users[0].User.Token
	return nil
}
