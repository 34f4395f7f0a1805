package userconfig

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestConfig(t *testing.T) {
	const head = "apiVersion: kctl-ctrl.dev/v1alpha1\nkind: Config\n"
	for text, want := range map[string]string{
		head:                               "",
		head + "protectedContexts: [prod]": "",
		"":                                 "should say apiVersion",
		"kind: Config":                     "should say apiVersion",
		"apiVersion: kctl-ctrl.dev/v2\nkind: Config": "should say apiVersion",
		head + "protectedContext: [prod]":            "unknown field",
		head + "kind: Config":                        "already",
		head + "protectedContexts: ['[']":            "neither a name nor a pattern",
		head + "protectedContexts: ['']":             "neither a name nor a pattern",
		head + "protectedContexts: prod":             "protectedContexts is of the wrong type, string",
		"\t":                                         "",
	} {
		_, err := Parse([]byte(text))
		if text == "\t" && err == nil || text != "\t" && ((err == nil) != (want == "") || err != nil && !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestProtectedContexts(t *testing.T) {
	c := File{ProtectedContexts: []string{"production", "prod-*", "arn:*:cluster/live", "odd[1]"}}
	for context, want := range map[string]string{
		"production": "production", "prod-eu": "prod-*", "prod-eu/1": "prod-*", "arn:aws:eks:cluster/live": "arn:*:cluster/live",
		"odd[1]": "odd[1]", "Production": "", "staging": "", "": "", "my-production": "",
	} {
		if got := c.protects(context); got != want {
			t.Errorf("%q is protected by %q, want %q", context, got, want)
		}
	}
}

func TestConfigPath(t *testing.T) {
	dir := t.TempDir()
	env := map[string]string{"HOME": dir}
	getenv := func(name string) string { return env[name] }
	if got, err := Path(getenv); err != nil || got != filepath.Join(dir, ".config", "kctl-ctrl", "config.yaml") {
		t.Errorf("%s, %v", got, err)
	}
	if c, err := Load(getenv); err != nil || len(c.ProtectedContexts) != 0 {
		t.Errorf("without a file: %+v, %v", c, err)
	}
	// A link that leads nowhere was meant to protect something.
	link := filepath.Join(dir, ".config", "kctl-ctrl", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(filepath.Join(dir, "gone.yaml"), link); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(getenv); err == nil || !strings.Contains(err.Error(), "config.yaml") {
		t.Errorf("a link that leads nowhere is taken for no configuration: %v", err)
	}
	env["XDG_CONFIG_HOME"] = filepath.Join(dir, "x")
	file := filepath.Join(dir, "x", "kctl-ctrl", "config.yaml")
	if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(file, []byte("nonsense: true"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(getenv); err == nil || !strings.Contains(err.Error(), file) {
		t.Errorf("a file with nonsense in it: %v", err)
	}
}
