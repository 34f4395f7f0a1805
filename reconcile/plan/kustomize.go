package plan

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/kustomize/api/konfig"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// kustomize builds a kustomization without network access and without starting a
// process: plugins and Helm are disabled, files must be below the root, and a remote
// base is rejected. kustomize itself would fetch it, with git or over HTTP, and has no
// option against that (sigs.k8s.io/kustomize/api@v0.21.1
// internal/loader/fileloader.go); localOnly checks every configuration before kustomize
// reads it.
func (l *loader) kustomize(dir string) {
	at := Position{File: dir}
	if remote(dir) {
		l.fail(at, errRemote)
		return
	}
	if _, err := os.Stat(dir); err != nil {
		l.fail(at, fmt.Errorf("read the kustomization: %w", bare(err)))
		return
	}
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionUnspecified
	options.LoadRestrictions = types.LoadRestrictionsRootOnly
	options.PluginConfig = types.DisabledPluginConfig()
	disk := localOnly{FileSystem: filesys.MakeFsOnDisk(), refused: new(error)}
	built, err := krusty.MakeKustomizer(options).Run(disk, dir)
	if *disk.refused != nil {
		// kustomize treats an unreadable file as missing.
		l.fail(at, fmt.Errorf("build the kustomization: %w", *disk.refused))
		return
	}
	if err != nil {
		l.fail(at, fmt.Errorf("build the kustomization: %s", strings.TrimSpace(err.Error())))
		return
	}
	if built.Size() == 0 {
		l.fail(at, errors.New("the kustomization holds no Kubernetes objects"))
	}
	for _, resource := range built.Resources() {
		raw, err := resource.MarshalJSON()
		var content map[string]any
		if err == nil {
			err = utiljson.Unmarshal(raw, &content)
		}
		if err == nil {
			err = wellFormed(content)
		}
		if err != nil {
			l.problems = append(l.problems, &Problem{At: at, Object: describeAny(content), Err: err})
			continue
		}
		l.objects = append(l.objects, Object{Unstructured: &unstructured.Unstructured{Object: content}, Source: at})
	}
}

var errRemote = errors.New("a remote kustomization or file is not fetched: check it out first and refer to it by path")

// scpLike is how kustomize recognises "user@host:path".
var scpLike = regexp.MustCompile(`^[a-zA-Z][a-zA-Z0-9-]*@`)

// remote reports whether kustomize could fetch a path. It covers git.NewRepoSpecFromURL
// and loader.IsRemoteFile, which only check the beginning, and rejects in case of
// doubt.
func remote(path string) bool {
	path = strings.ToLower(path)
	return scpLike.MatchString(path) || slices.ContainsFunc(
		[]string{"http:", "https:", "ssh:", "file:", "git:", "github.com/", "github.com:"},
		func(prefix string) bool { return strings.HasPrefix(path, prefix) })
}

// localOnly is the read-only disk without configurations that refer to something
// remote.
type localOnly struct {
	filesys.FileSystem
	// refused is the first rejection.
	refused *error
}

// ReadFile reads a file for kustomize.
func (l localOnly) ReadFile(path string) ([]byte, error) {
	content, err := l.FileSystem.ReadFile(path)
	if err != nil {
		return nil, err
	}
	if err := l.inspect(path, content); err != nil {
		if *l.refused == nil {
			*l.refused = err
		}
		return nil, err
	}
	return content, nil
}

// inspect returns an error if kustomize must not read a file's configuration.
func (l localOnly) inspect(path string, content []byte) error {
	isKustomization := slices.Contains(konfig.RecognizedKustomizationFileNames(), filepath.Base(path))
	if !isKustomization && !strings.Contains(string(content), konfig.BuiltinPluginApiVersion) {
		return nil
	}
	for _, d := range split(content) {
		converted, err := yaml.YAMLToJSONStrict(d.text)
		if err != nil {
			line, _, err := brokenAt(d, err)
			return fmt.Errorf("%s:%d: %w", path, line, err)
		}
		var value any
		if err := utiljson.Unmarshal(converted, &value); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		config, _ := value.(map[string]any)
		if !isKustomization && config["apiVersion"] != konfig.BuiltinPluginApiVersion {
			continue
		}
		if err := l.check(filepath.Dir(path), "", value); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
	}
	return nil
}

// loadedFields are the fields of kustomizations and of the configurations of built-in
// plugins whose strings are opened as files or bases. Like encoding/json, kustomize
// matches field names case-insensitively.
var loadedFields = []string{
	"resources", "bases", "components", "crds", "configurations", "openapi",
	"generators", "transformers", "validators", "patchesStrategicMerge", "patchesJson6902",
	"path", "paths", "files", "env", "envs", "repo", "valuesFile", "additionalValuesFiles",
}

// pluginFields hold configurations of plugins, inline or by path.
var pluginFields = []string{"generators", "transformers", "validators"}

func oneOf(names []string, field string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, field) })
}

func (l localOnly) check(dir, field string, value any) error {
	switch value := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(value)) {
			if err := l.check(dir, key, value[key]); err != nil {
				return err
			}
		}
	case []any:
		for _, item := range value {
			if err := l.check(dir, field, item); err != nil {
				return err
			}
		}
	case string:
		if !oneOf(loadedFields, field) {
			return nil
		}
		// "files: [name=path]" names the key first.
		if _, path, ok := strings.Cut(value, "="); remote(value) || ok && remote(path) {
			return fmt.Errorf("%s %q: %w", field, value, errRemote)
		}
		if oneOf(pluginFields, field) {
			return l.checkPlugin(dir, field, value)
		}
	}
	return nil
}

// checkPlugin checks an inline configuration, and rejects one that is itself built by a
// kustomization: patches could write any path into it after this check.
func (l localOnly) checkPlugin(dir, field, value string) error {
	inline := false
	for _, d := range split([]byte(value)) {
		var config any
		if err := yaml.Unmarshal(d.text, &config); err != nil {
			return fmt.Errorf("%s: %w", field, err)
		}
		if _, isMapping := config.(map[string]any); !isMapping {
			continue
		}
		inline = true
		if err := l.check(dir, "", config); err != nil {
			return err
		}
	}
	if inline {
		return nil
	}
	if l.IsDir(filepath.Join(dir, value)) {
		return fmt.Errorf("%s %q is a directory: configurations of plugins are taken from files only", field, value)
	}
	return nil
}

var errReadOnly = errors.New("a kustomization is built without writing files")

func (localOnly) Create(string) (filesys.File, error) { return nil, errReadOnly }
func (localOnly) Mkdir(string) error                  { return errReadOnly }
func (localOnly) MkdirAll(string) error               { return errReadOnly }
func (localOnly) RemoveAll(string) error              { return errReadOnly }
func (localOnly) WriteFile(string, []byte) error      { return errReadOnly }
