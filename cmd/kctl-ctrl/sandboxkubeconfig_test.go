package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/sandbox"
)

// A kubeconfig that has become somebody's own is left.
func TestKubeconfigIsRemovedOrLeft(t *testing.T) {
	const ours = "# of this program\napiVersion: v1\nkind: Config\ncurrent-context: s\n" +
		"clusters:\n- name: s\n  cluster: {server: https://127.0.0.1:1}\nusers:\n- name: s\n  user: {token: t}\ncontexts:\n- name: s\n  context: {cluster: s, user: s}\n"
	rewritten := func(change func(*clientcmdapi.Config)) string {
		config, err := clientcmd.Load([]byte(ours))
		if err != nil {
			t.Fatal(err)
		}
		change(config)
		text, err := clientcmd.Write(*config)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	namespaced := rewritten(func(c *clientcmdapi.Config) { c.Contexts["s"].Namespace = "shop" })
	for name, c := range map[string]struct {
		now  string
		left bool
	}{
		"as it was":                  {ours, false},
		"kubectl set a namespace":    {namespaced, false},
		"kubectl made a context":     {rewritten(func(c *clientcmdapi.Config) { c.Contexts["other"] = &clientcmdapi.Context{Cluster: "s", AuthInfo: "s"} }), false},
		"kubectl took all out":       {rewritten(func(c *clientcmdapi.Config) { *c = clientcmdapi.Config{} }), false},
		"a comment":                  {"# mine\n" + namespaced, true},
		"a comment in what we wrote": {ours + "# mine\n", true},
		"a field that nobody knows":  {namespaced + "mine: {}\n", true},
		"another cluster":            {rewritten(func(c *clientcmdapi.Config) { c.Clusters["mine"] = &clientcmdapi.Cluster{Server: "https://x"} }), true},
		"another server, same name":  {rewritten(func(c *clientcmdapi.Config) { c.Clusters["s"].Server = "https://x" }), true},
		"another user":               {rewritten(func(c *clientcmdapi.Config) { c.AuthInfos["mine"] = &clientcmdapi.AuthInfo{Token: "x"} }), true},
		"another token, same name":   {rewritten(func(c *clientcmdapi.Config) { c.AuthInfos["s"].Token = "x" }), true},
		"a context that leads nowhere": {rewritten(func(c *clientcmdapi.Config) {
			c.Contexts["mine"] = &clientcmdapi.Context{Cluster: "mine", AuthInfo: "s"}
		}), true},
		"no kubeconfig": {"shopping list\n", true},
		"empty":         {"", true},
	} {
		path := filepath.Join(t.TempDir(), "kubeconfig")
		if err := os.WriteFile(path, []byte(c.now), 0o600); err != nil {
			t.Fatal(err)
		}
		var said strings.Builder
		if err := sandbox.RemoveKubeconfig(path, []byte(ours), &said); err != nil {
			t.Fatal(err)
		}
		now, err := os.ReadFile(path)
		if left := err == nil; left != c.left || left && string(now) != c.now {
			t.Errorf("%s: left is %v, want %v:\n%s", name, left, c.left, c.now)
		}
		if told := strings.Contains(said.String(), "the kubeconfig "+path+" is left: somebody has changed it"); told != c.left || strings.Count(said.String(), "\n") > 1 {
			t.Errorf("%s: it says %q", name, said.String())
		}
	}
	// What is no file of ours any more, and what is gone.
	dir := t.TempDir()
	mine, link := filepath.Join(dir, "mine"), filepath.Join(dir, "link")
	if err := os.WriteFile(mine, []byte(ours), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(mine, link); err != nil {
		t.Fatal(err)
	}
	var said strings.Builder
	if err := sandbox.RemoveKubeconfig(link, []byte(ours), &said); err != nil || !strings.Contains(said.String(), link+" is left") {
		t.Errorf("a link: %v, %q", err, said.String())
	}
	said.Reset()
	if err := sandbox.RemoveKubeconfig(filepath.Join(dir, "gone"), []byte(ours), &said); err != nil || said.Len() > 0 {
		t.Errorf("a file that is gone: %v, %q", err, said.String())
	}
	for _, path := range []string{mine, link} {
		if _, err := os.Lstat(path); err != nil {
			t.Error(err)
		}
	}
}
