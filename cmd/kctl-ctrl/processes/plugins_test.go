package processes

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/programtest"
)

const (
	expired = `answer "$token" 2020-01-01T00:00:00Z`
	refused = `answer CANARY-token 2040-01-01T00:00:00Z`
	fails   = `echo "CANARY on stderr" >&2; exit 3`
	rubbish = `echo CANARY`
)

// TestCredentialPlugins has kubeconfigs with plugins that work and that do not, and
// kubercs that forbid them.
func TestCredentialPlugins(t *testing.T) {
	t.Parallel()
	sb := share(t)
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
		"works":                   {programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitOK, "", once},
		"works without terminal":  {programtest.Answers, clientcmdapi.NeverExecInteractiveMode, nil, exitOK, "", once},
		"wants a terminal":        {programtest.Answers, clientcmdapi.AlwaysExecInteractiveMode, nil, exitError, "standard input is not a terminal", never},
		"expired":                 {expired, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitOK, "", often},
		"not let in":              {refused, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitError, "log in again", often},
		"fails":                   {fails, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitError, "failed with exit code 3: run it by hand, or log in again", often},
		"says nonsense":           {rubbish, clientcmdapi.IfAvailableExecInteractiveMode, nil, exitError, "run it by hand, or log in again", often},
		"all denied":              {programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{policy("credentialPluginPolicy: DenyAll")}, exitError, `policy set to "DenyAll": 'kubectl kuberc set`, never},
		"not on the list":         {programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{policy("credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{command: other}]")}, exitError, "not permitted by the credential plugin allowlist", never},
		"all allowed":             {programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{policy("credentialPluginPolicy: AllowAll")}, exitOK, "", once},
		"a policy that is none":   {programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{policy("credentialPluginPolicy: DenySome")}, exitError, "kuberc", never},
		"a kuberc that is broken": {programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{kuberc("{")}, exitError, "KUBERC=off", never},
		"kuberc off":              {programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode, []string{"KUBERC=off"}, exitOK, "", once},
	} {
		t.Run(name, func(t *testing.T) {
			p := programtest.NewPlugged(t, sb.URL, sb.CA, sb.Token, c.script, c.mode)
			code, stdout, stderr := p.Runs(c.env, "get", "leases", "-A")
			if code != c.code {
				t.Errorf("exit code %d, want %d", code, c.code)
			}
			if strings.Contains(stdout, "CANARY") || strings.Contains(stderr, "CANARY-token") || strings.Contains(stderr, sb.Token) {
				t.Errorf("a credential was printed:\n%s\n%s", stdout, stderr)
			}
			_, failed, _ := strings.Cut(stderr, "error: ")
			if strings.Count(failed, "\n") > 1 || !strings.Contains(failed, c.says) || (c.says == "") != (failed == "") {
				t.Errorf("the error is not one line with %q:\n%s", c.says, stderr)
			}
			if n := min(p.Times(), often); n != c.runs && c.runs != often || c.runs == often && n == never {
				t.Errorf("the plugin was run %d times", p.Times())
			}
			checkSecrets(t, filepath.Join(p.Home, "state"), "CANARY", sb.Token)
		})
	}
	t.Run("on the list", func(t *testing.T) {
		p := programtest.NewPlugged(t, sb.URL, sb.CA, sb.Token, programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode)
		rc := policy("credentialPluginPolicy: Allowlist\ncredentialPluginAllowlist: [{command: " + filepath.Join(p.Home, "bin", "login") + "}]")
		if code, _, stderr := p.Runs([]string{rc}, "get", "leases", "-A"); code != exitOK || p.Times() != 1 {
			t.Errorf("exit code %d, run %d times: %s", code, p.Times(), stderr)
		}
	})
}

// TestKubercFlag: --kuberc is kubectl's, and before the variable.
func TestKubercFlag(t *testing.T) {
	t.Parallel()
	sb := share(t)
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
			p := programtest.NewPlugged(t, sb.URL, sb.CA, sb.Token, programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode)
			code, _, stderr := p.Runs(c.env, "get", "leases", "-A", "--kuberc="+c.value)
			if code != c.code || !strings.Contains(stderr, c.says) || (p.Times() > 0) != (code == exitOK) {
				t.Errorf("exit code %d, run %d times: %s", code, p.Times(), stderr)
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

// TestKubeconfigStays has the verbs that touch a cluster use a kubeconfig, which is
// afterwards the same file with the same bytes, alone in its directory.
func TestKubeconfigStays(t *testing.T) {
	t.Parallel()
	sb := share(t)
	p := programtest.NewPlugged(t, sb.URL, sb.CA, sb.Token, programtest.Answers, clientcmdapi.IfAvailableExecInteractiveMode)
	before := p.Look()
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
		if code, stdout, stderr := p.Runs(nil, args...); code > exitChanged {
			t.Errorf("%q: exit code %d\n%s%s", args, code, stdout, stderr)
		}
		if after := p.Look(); !reflect.DeepEqual(before, after) {
			t.Fatalf("%q: the kubeconfig was %+v, is %+v", args, before, after)
		}
	}
	if p.Times() == 0 {
		t.Error("the plugin was never run")
	}
}
