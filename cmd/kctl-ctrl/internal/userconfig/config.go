// Package userconfig reads the user's configuration, a file that says on which contexts
// this program never writes for real. Anything in it that is not known is an error.
package userconfig

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

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
)

// Name is the file in configDir.
const Name = "config.yaml"

// File is the user's configuration:
//
//	about.APIVersion: kctl-ctrl.dev/v1alpha1
//	kind: Config
//	protectedContexts: [production, "prod-*"]
type File struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// ProtectedContexts are names of contexts, or patterns as of path.Match, on
	// which this program never writes for real.
	ProtectedContexts []string `json:"protectedContexts,omitempty"`

	path string
}

// Path is where the configuration is looked for: the same on every system,
// as kubectl's is.
func Path(getenv func(string) string) (string, error) {
	if dir := getenv("XDG_CONFIG_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kctl-ctrl", Name), nil
	}
	home := getenv("HOME")
	if home == "" {
		var err error
		if home, err = os.UserHomeDir(); err != nil {
			return "", fmt.Errorf("find the configuration: %w", err)
		}
	}
	return filepath.Join(home, ".config", "kctl-ctrl", Name), nil
}

// Load reads the configuration; one that is not there is empty. Anything in
// it that this program does not know is an error: a protection that is spelt wrong
// would protect nothing.
func Load(getenv func(string) string) (File, error) {
	file, err := Path(getenv)
	if err != nil {
		return File{}, err
	}
	text, err := os.ReadFile(file)
	if _, there := os.Lstat(file); errors.Is(err, fs.ErrNotExist) && errors.Is(there, fs.ErrNotExist) {
		return File{path: file}, nil // and no link that leads nowhere
	}
	if err != nil {
		return File{}, fmt.Errorf("read the configuration: %w: mend it, or remove it", err)
	}
	config, err := Parse(text)
	if err != nil {
		return File{}, fmt.Errorf("read the configuration %s: %w: correct it; docs/active.md has an example", file, err)
	}
	config.path = file
	return config, nil
}

// Parse reads the text of a configuration.
func Parse(text []byte) (File, error) {
	var config File
	if err := yaml.UnmarshalStrict(text, &config); err != nil {
		var kind *json.UnmarshalTypeError
		if errors.As(err, &kind) {
			return File{}, fmt.Errorf("%s is of the wrong type, %s", cmp.Or(kind.Field, "the document"), kind.Value)
		}
		words := err.Error()
		for _, noise := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: ", "while decoding JSON: ", "json: ", "yaml: "} {
			words = strings.TrimPrefix(words, noise)
		}
		return File{}, errors.New(words)
	}
	if config.APIVersion != about.APIVersion || config.Kind != "Config" {
		return File{}, fmt.Errorf("it is %q %q, and should say apiVersion: %s and kind: Config", config.APIVersion, config.Kind, about.APIVersion)
	}
	for _, pattern := range config.ProtectedContexts {
		if _, err := path.Match(pattern, ""); err != nil || pattern == "" {
			return File{}, fmt.Errorf("protectedContexts: %q is neither a name nor a pattern", pattern)
		}
	}
	return config, nil
}

// protects says which entry protects a context, or nothing.
func (c File) protects(context string) string {
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

// Allows is unprotected for a target.
func (c File) Allows(name string, target connect.Target, kubeconfig clientcmdapi.Config) error {
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
