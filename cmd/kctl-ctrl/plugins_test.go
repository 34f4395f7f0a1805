package main

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
)

// plugged is a user whose kubeconfig has a credential plugin: a script that leaves a
// line in a file for each time it was run.
type plugged struct {
	*testing.T
	home, kubeconfig, ran string
}

// newPlugged has the script go on as text says, and puts the kubeconfig where a user
// has it.
func newPlugged(t *testing.T, sb *sandbox.Sandbox, text string, mode clientcmdapi.ExecInteractiveMode) *plugged {
	t.Helper()
	home := t.TempDir()
	p := &plugged{T: t, home: home, kubeconfig: filepath.Join(home, ".kube", "config"), ran: filepath.Join(home, "ran")}
	plugin := filepath.Join(home, "bin", "login")
	text = fmt.Sprintf("#!/bin/sh\necho ran >>%s\nanswer() { printf '{\"apiVersion\":\"client.authentication.k8s.io/v1\",\"kind\":\"ExecCredential\",\"status\":{\"token\":\"%%s\",\"expirationTimestamp\":\"%%s\"}}' \"$1\" \"$2\"; }\ntoken=%s\n%s\n",
		p.ran, sb.Endpoint().Token, text)
	for _, dir := range []string{filepath.Dir(p.kubeconfig), filepath.Dir(plugin)} {
		if err := os.Mkdir(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(plugin, []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	config := clientcmdapi.NewConfig()
	config.Clusters["c"] = &clientcmdapi.Cluster{Server: sb.Endpoint().URL, CertificateAuthorityData: sb.Endpoint().CA}
	config.AuthInfos["u"] = &clientcmdapi.AuthInfo{Exec: &clientcmdapi.ExecConfig{
		APIVersion: "client.authentication.k8s.io/v1", Command: plugin, InteractiveMode: mode, InstallHint: "install it\nand log in",
	}}
	config.Contexts["c"] = &clientcmdapi.Context{Cluster: "c", AuthInfo: "u"}
	config.CurrentContext = "c"
	if err := clientcmd.WriteToFile(*config, p.kubeconfig); err != nil {
		t.Fatal(err)
	}
	return p
}

// env is that of the user.
func (p *plugged) env(more ...string) []string {
	return append([]string{"HOME=" + p.home, "KUBECONFIG=", "KUBERC=", "XDG_STATE_HOME=" + filepath.Join(p.home, "state"), "XDG_CONFIG_HOME=", "KCTL_CTRL_ATTACH_DIR=" + filepath.Join(p.home, "a")}, more...)
}

// runs gives the exit code and what was printed.
func (p *plugged) runs(env []string, args ...string) (code int, stdout, stderr string) {
	p.Helper()
	command := program(p.T, args...)
	command.Env = append(command.Env, p.env(env...)...)
	var out, errOut strings.Builder
	command.Stdout, command.Stderr = &out, &errOut
	if err := command.Start(); err != nil {
		p.Fatal(err)
	}
	_ = command.Wait()
	return command.ProcessState.ExitCode(), out.String(), errOut.String()
}

// times is how often the plugin was run.
func (p *plugged) times() int {
	text, err := os.ReadFile(p.ran)
	if err != nil && !os.IsNotExist(err) {
		p.Fatal(err)
	}
	return strings.Count(string(text), "ran\n")
}

// A touched file is what shows that somebody wrote it.
type touched struct {
	inode     uint64
	modified  time.Time
	mode      os.FileMode
	bytes     string
	neighbour []string
}

// look reads the kubeconfig as it lies on the disk.
func (p *plugged) look() touched {
	p.Helper()
	info, err := os.Stat(p.kubeconfig)
	if err != nil {
		p.Fatal(err)
	}
	text, err := os.ReadFile(p.kubeconfig)
	if err != nil {
		p.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(filepath.Dir(p.kubeconfig))
	if err != nil {
		p.Fatal(err)
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	stat := info.Sys().(*syscall.Stat_t)
	return touched{inode: stat.Ino, modified: info.ModTime(), mode: info.Mode(), bytes: string(text), neighbour: names}
}

func startEmpty(t *testing.T) *sandbox.Sandbox {
	t.Helper()
	return share(t).Sandbox
}

const (
	answers = `echo "CANARY on stderr" >&2
answer "$token" "$(date -u -d '+1 hour' +%Y-%m-%dT%H:%M:%SZ 2>/dev/null || date -u -v+1H +%Y-%m-%dT%H:%M:%SZ)"`
	expired = `answer "$token" 2020-01-01T00:00:00Z`
	refused = `answer CANARY-token 2040-01-01T00:00:00Z`
	fails   = `echo "CANARY on stderr" >&2; exit 3`
	rubbish = `echo CANARY`
)

// TestCredentialPlugins has kubeconfigs with plugins that work and that do not, and
// kubercs that forbid them.
func TestCredentialPlugins(t *testing.T) {
	parallel(t)
	sb := startEmpty(t)
	kuberc := func(policy string) string {
		path := filepath.Join(t.TempDir(), "kuberc")
		if err := os.WriteFile(path, []byte(policy), 0o600); err != nil {
			t.Fatal(err)
		}
		return "KUBERC=" + path
	}
	policy := func(text string) string {
		return kuberc("apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\n" + text)
	}
	const never, once, often = 0, 1, 2
	for name, c := range map[string]struct {
		script string
		mode   clientcmdapi.ExecInteractiveMode
		env    []string
		code   int
		says   string // in the one line of the error
		runs   int
	}{
		"works":                   {answers, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitOK, "", once},
		"works without terminal":  {answers, clientcmdapi.NeverExecInteractiveMode, nil, exitOK, "", once},
		"wants a terminal":        {answers, clientcmdapi.AlwaysExecInteractiveMode, nil, exitError, "standard input is not a terminal", never},
		"expired":                 {expired, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitOK, "", often},
		"not let in":              {refused, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitError, "log in again", often},
		"fails":                   {fails, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitError, "failed with exit code 3: run it by hand, or log in again", often},
		"says nonsense":           {rubbish, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitError, "run it by hand, or log in again", often},
		"all denied":              {answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{policy("credentialPluginPolicy: DenyAll")}, exitError, `policy set to "DenyAll": 'kubectl kuberc set`, never},
		"not on the list":         {answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{policy("credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{command: other}]")}, exitError, "not permitted by the credential plugin allowlist", never},
		"all allowed":             {answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{policy("credentialPluginPolicy: AllowAll")}, exitOK, "", once},
		"a policy that is none":   {answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{policy("credentialPluginPolicy: DenySome")}, exitError, "kuberc", never},
		"a kuberc that is broken": {answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{kuberc("{")}, exitError, "KUBERC=off", never},
		"kuberc off":              {answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{"KUBERC=off"}, exitOK, "", once},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlugged(t, sb, c.script, c.mode)
			code, stdout, stderr := p.runs(c.env, "get", "leases", "-A")
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if strings.Contains(stdout, "CANARY") || strings.Contains(stderr, "CANARY-token") || strings.Contains(stderr, sb.Endpoint().Token) {
				t.Errorf("a credential was printed:\n%s\n%s", stdout, stderr)
			}
			_, failed, _ := strings.Cut(stderr, "error: ")
			if strings.Count(failed, "\n") > 1 || !strings.Contains(failed, c.says) || (c.says == "") != (failed == "") {
				t.Errorf("the error is not one line with %q:\n%s", c.says, stderr)
			}
			if n := min(p.times(), often); n != c.runs && c.runs != often || c.runs == often && n == never {
				t.Errorf("the plugin was run %d times", p.times())
			}
			checkSecrets(t, filepath.Join(p.home, "state"), "CANARY", sb.Endpoint().Token)
		})
	}
	t.Run("on the list", func(t *testing.T) {
		p := newPlugged(t, sb, answers, clientcmdapi.IfAvailableExecInteractiveMode)
		rc := policy("credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{command: " + filepath.Join(p.home, "bin", "login") + "}]")
		if code, _, stderr := p.runs([]string{rc}, "get", "leases", "-A"); code != exitOK || p.times() != 1 {
			t.Errorf("exit code %d, run %d times: %s", code, p.times(), stderr)
		}
	})
}

// TestKubercFlag: --kuberc is kubectl's, and before the variable.
func TestKubercFlag(t *testing.T) {
	parallel(t)
	sb := startEmpty(t)
	file := func(policy string) string {
		path := filepath.Join(t.TempDir(), "kuberc")
		if err := os.WriteFile(path, []byte("apiVersion: kubectl.config.k8s.io/v1beta1\nkind: Preference\ncredentialPluginPolicy: "+policy+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	for name, c := range map[string]struct {
		env   []string
		value string
		code  int
		says  string
	}{
		"denies":                     {nil, file("DenyAll"), exitError, `policy set to "DenyAll"`},
		"allows":                     {nil, file("AllowAll"), exitOK, ""},
		"denies, before a variable":  {[]string{"KUBERC=" + file("AllowAll")}, file("DenyAll"), exitError, `policy set to "DenyAll"`},
		"allows, before a variable":  {[]string{"KUBERC=" + file("DenyAll")}, file("AllowAll"), exitOK, ""},
		"beside KUBERC=off":          {[]string{"KUBERC=off"}, file("AllowAll"), exitError, "exclude each other"},
		"no such file":               {nil, filepath.Join(t.TempDir(), "none"), exitError, "no such file"},
		"a file that is called off":  {nil, "off", exitError, "no such file"},
		"nothing":                    {nil, "", exitError, "want the path of a file"},
		"a policy that there is not": {nil, file("DenySome"), exitError, "kuberc"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPlugged(t, sb, answers, clientcmdapi.IfAvailableExecInteractiveMode)
			code, _, stderr := p.runs(c.env, "get", "leases", "-A", "--kuberc="+c.value)
			if code != c.code || !strings.Contains(stderr, c.says) || (p.times() > 0) != (code == exitOK) {
				t.Errorf("exit code %d, run %d times: %s", code, p.times(), stderr)
			}
		})
	}
}

// checkSecrets looks for words in all files below a directory.
func checkSecrets(t *testing.T, dir string, words ...string) {
	t.Helper()
	_ = filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Error(err)
		}
		for _, word := range words {
			if strings.Contains(string(text), word) {
				t.Errorf("%s holds %q", path, word)
			}
		}
		return nil
	})
}

// A plugin gets nothing of a terminal that shows the screen: neither its keys nor a
// place to write.
func TestPluginBehindTheScreen(t *testing.T) {
	parallel(t)
	sb := startEmpty(t)
	p := newPlugged(t, sb, "read -r key && echo \"$key\" >>"+filepath.Join(t.TempDir(), "keys")+"\n"+answers, clientcmdapi.IfAvailableExecInteractiveMode)
	before := p.look()
	x := onTerminalAs(t, p.env(), 100, 30, "tui")
	x.shows("Controllers", "deployment")
	x.press(":leases<enter>").shows("Leases", "apiserver-").press("q")
	if code := x.ends(); code != exitOK {
		t.Errorf("exit code %d", code)
	}
	if p.times() == 0 {
		t.Error("the plugin was never run")
	}
	if strings.Contains(x.raw.String(), "CANARY") {
		t.Error("the plugin wrote on the screen")
	}
	if after := p.look(); !reflect.DeepEqual(before, after) {
		t.Errorf("the kubeconfig was %+v, is %+v", before, after)
	}
}

// TestKubeconfigStays has the verbs that touch a cluster use a kubeconfig, which is
// afterwards the same file with the same bytes, alone in its directory.
func TestKubeconfigStays(t *testing.T) {
	parallel(t)
	sb := startEmpty(t)
	p := newPlugged(t, sb, answers, clientcmdapi.IfAvailableExecInteractiveMode)
	before := p.look()
	elsewhere := filepath.Join(t.TempDir(), "kubeconfig")
	for _, args := range [][]string{
		{"run", "--controllers=deployment", "--until-settled", "--timeout=5s"},
		{"run", "--controllers=deployment", "--until-settled", "--timeout=5s", "--dry-run=server"},
		{"get", "leases", "-A"},
		{"get", "informers", "--controllers=deployment", "--attach=none", "--for=1s"},
		{"rbac", "--controllers=deployment"},
		{"tree", "namespace/default"},
		{"exec", "--", "sh", "-c", `test "$KUBECONFIG" != "$HOME/.kube/config" && echo '# mine now' >>"$KUBECONFIG"`},
		{"sandbox", "--nodes=0", "--", "sh", "-c", `test "$KUBECONFIG" != "$HOME/.kube/config" && cp "$KUBECONFIG" ` + elsewhere},
		{"run", "--sandbox", "--nodes=0", "--controllers=deployment", "--until-settled"},
	} {
		if code, stdout, stderr := p.runs(nil, args...); code > exitChanged {
			t.Errorf("%q: exit code %d\n%s%s", args, code, stdout, stderr)
		}
		if after := p.look(); !reflect.DeepEqual(before, after) {
			t.Fatalf("%q: the kubeconfig was %+v, is %+v", args, before, after)
		}
	}
	if p.times() == 0 {
		t.Error("the plugin was never run")
	}
}
