package main

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"sigs.k8s.io/yaml"

	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

// configName is the file in configDir.
const configName = "config.yaml"

// configFile is the user's configuration:
//
//	apiVersion: kctl-ctrl.dev/v1alpha1
//	kind: Config
//	protectedContexts: [production, "prod-*"]
type configFile struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// ProtectedContexts are names of contexts, or patterns as of path.Match, on
	// which this program never writes for real.
	ProtectedContexts []string `json:"protectedContexts,omitempty"`

	path string
}

// configPath is where the configuration is looked for: the same on every system,
// as kubectl's is.
func configPath(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kctl-ctrl", configName), nil
	}
	home := getenv("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", fmt.Errorf("find the configuration: %w", err)
		}
	}
	return filepath.Join(home, ".config", "kctl-ctrl", configName), nil
}

// loadConfig reads the configuration; one that is not there is empty. Anything in
// it that this program does not know is an error: a protection that is spelt wrong
// would protect nothing.
func loadConfig(getenv func(string) string) (configFile, error) {
	file, err := configPath(getenv)
	if err != nil {
		return configFile{}, err
	}
	text, err := os.ReadFile(file)
	if _, there := os.Lstat(file); errors.Is(err, fs.ErrNotExist) && errors.Is(there, fs.ErrNotExist) {
		return configFile{path: file}, nil // and no link that leads nowhere
	}
	if err != nil {
		return configFile{}, fmt.Errorf("read the configuration: %w: mend it, or remove it", err)
	}
	config, err := parseConfig(text)
	if err != nil {
		return configFile{}, fmt.Errorf("read the configuration %s: %w: correct it; docs/active.md has an example", file, err)
	}
	config.path = file
	return config, nil
}

func parseConfig(text []byte) (configFile, error) {
	var config configFile
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return configFile{}, fmt.Errorf("%s is of the wrong type, %s", cmp.Or(kind.Field, "the document"), kind.Value)
		}
		words := err.Error()
		for _, noise := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "json: ", "yaml: "} {
			words = strings.TrimPrefix(words, noise)
		}
		return configFile{}, errors.New(words)
	}
	if config.APIVersion != apiVersion || config.Kind != "Config" {
		return configFile{}, fmt.Errorf("it is %q %q, and should say apiVersion: %s and kind: Config", config.APIVersion, config.Kind, apiVersion)
	}
	for _, pattern := range config.ProtectedContexts {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return configFile{}, fmt.Errorf("protectedContexts: %q is neither a name nor a pattern", pattern)
		}
	}
	return config, nil
}

// protects says which entry protects a context, or nothing.
func (c configFile) protects(context string) string {
	for _, pattern := range c.ProtectedContexts {
		// A slash, as EKS has in the names of contexts, is a letter like any other.
		if matched, _ := path.Match(flat(pattern), flat(context)); matched || pattern == context {
			return pattern
		}
	}
	return ""
}

// flat replaces what path.Match stops at by what stands in no name.
func flat(s string) string {
	out := []rune(s)
	for i, r := range out {
		if r == '/' {
			out[i] = '\x00'
		}
	}
	return string(out)
}

// allows is unprotected for a target.
func (c configFile) allows(name string, target connect.Target, kubeconfig clientcmdapi.Config) error {
	if pattern := c.protects(name); pattern != "" {
		return fmt.Errorf("context %q is protected (protectedContexts: %s in %s): use a dry run, or choose another with --context", name, pattern, c.path)
	}
	for _, other := range target.ContextsTo(kubeconfig) {
		if pattern := c.protects(other); pattern != "" {
			return fmt.Errorf("context %q leads to the API server of context %q, which is protected (protectedContexts: %s in %s): use a dry run, or choose another with --context", name, other, pattern, c.path)
		}
	}
	return nil
}
