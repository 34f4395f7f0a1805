package programtest

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Plugged is a user whose kubeconfig has a credential plugin: a script that leaves a
// line in a file for each time it was run.
type Plugged struct {
	testing.TB
	Home, Kubeconfig string
	ran              string
}

// NewPlugged has the script go on as text says, and puts the kubeconfig where a user
// has it.
func NewPlugged(t testing.TB, url string, ca []byte, token string, text string, mode clientcmdapi.ExecInteractiveMode) *Plugged {
	t.Helper()
	home := t.TempDir()
	p := &Plugged{TB: t, Home: home, Kubeconfig: filepath.Join(home, ".kube", "config"), ran: filepath.Join(home, "ran")}
	plugin := filepath.Join(home, "bin", "login")
	text = fmt.Sprintf("#!/bin/sh\necho ran >>%s\nanswer() { printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"%%s\",\"expirationTimestamp\":\"%%s\"}}' \"$1\" \"$2\"; }\ntoken=%s\n%s\n",
		p.ran, token, text)
	for _, dir := range []string{filepath.Dir(p.Kubeconfig), filepath.Dir(plugin)} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(plugin, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: url, CertificateAuthorityData: ca}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: plugin, InteractiveMode: mode, InstallHint: "install it\nand log in",
	}}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, p.Kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p
}

// Env is that of the user.
func (p *Plugged) Env(more ...string) []string {
	return append([]string{"HOME=" + p.Home, "KUBECONFIG=", "KUBERC=", "XDG_STATE_HOME=" + filepath.Join(p.Home, "state"), "XDG_CONFIG_HOME=", "KCTL_CTRL_ATTACH_DIR=" + filepath.Join(p.Home, "a")}, more...)
}

// Runs gives the exit code and what was printed.
func (p *Plugged) Runs(env []string, args ...string) (code int, stdout, stderr string) {
	p.Helper()
	command := Program(p.TB, args...)
	command.Env = append(command.Env, p.Env(env...)...)
	var out, errOut strings.Builder
	command.Stdout, command.Stderr = &out, &errOut
	if err := command.Start(); err != nil {
		p.Fatal(err)
	}
	_ = command.Wait()
	return command.ProcessState.ExitCode(), out.String(), errOut.String()
}

// Times is how often the plugin was run.
func (p *Plugged) Times() int {
	text, err := os.ReadFile(p.ran)
	if err != nil && !os.IsNotExist(err) {
		p.Fatal(err)
	}
	return strings.Count(string(text), "ran\n")
}

// A Touched file is what shows that somebody wrote it.
type Touched struct {
	inode     uint64
	modified  time.Time
	mode      os.FileMode
	bytes     string
	neighbour []string
}

// Look reads the kubeconfig as it lies on the disk.
func (p *Plugged) Look() Touched {
	p.Helper()
	info, err := os.Stat(p.Kubeconfig)
	if err != nil {
		p.Fatal(err)
	}
	text, err := os.ReadFile(p.Kubeconfig)
	if err != nil {
		p.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(filepath.Dir(p.Kubeconfig))
	if err != nil {
		p.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	stat := info.Sys().(*syscall.Stat_t)
	return Touched{inode: stat.Ino, modified: info.ModTime(), mode: info.Mode(), bytes: string(text), neighbour: names}
}

// Answers is a plugin that lets its user in.
const Answers = `echo "CANARY on stderr" >&2
answer "$token" "$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -v+1H +%Y-%m-%dT%H:%M:%SZ)"`
