package plan

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const plainManifest = "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n"

// A kustomization must never make this program run git or open a connection.
// URL stands for a server on loopback that records who comes.
func TestKustomizeFetchesNothing(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	visited := make(chan struct{}, 100)
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			visited <- struct{}{}
			conn.Close()
		}
	}()
	url := "http://" + listener.Addr().String()

	for name, files := range map[string]map[string]string{
		"resource":        {"kustomization.yaml": "resources: [a.yaml, URL/x.yaml]"},
		"upper case":      {"kustomization.yaml": "Resources: [a.yaml, 'HTTP://HOST/x.yaml']"},
		"base by git":     {"kustomization.yaml": "resources: ['git::https://github.com/o/r']"},
		"github":          {"kustomization.yaml": "bases: [github.com/o/r]"},
		"scp":             {"kustomization.yaml": "resources: ['git@127.0.0.1:o/r']"},
		"file scheme":     {"kustomization.yaml": "resources: ['file:///tmp/r']"},
		"component":       {"kustomization.yaml": "resources: [a.yaml]\ncomponents: ['URL/o/r.git']"},
		"other file name": {"kustomization.yml": "resources: [URL/x.yaml]"},
		"patch":           {"kustomization.yaml": "resources: [a.yaml]\npatches: [{path: URL/p.yaml}]"},
		"merge":           {"kustomization.yaml": "resources: [a.yaml]\npatchesStrategicMerge: [URL/p.yaml]"},
		"json patch":      {"kustomization.yaml": "resources: [a.yaml]\npatchesJson6902: [{path: URL/p.yaml, target: {kind: ConfigMap, name: a, version: v1}}]"},
		"generator file":  {"kustomization.yaml": "configMapGenerator: [{name: x, files: [k=URL/f]}]"},
		"generator env":   {"kustomization.yaml": "secretGenerator: [{name: x, envs: [URL/f]}]"},
		"crd":             {"kustomization.yaml": "resources: [a.yaml]\ncrds: [URL/f]"},
		"openapi":         {"kustomization.yaml": "resources: [a.yaml]\nopenapi: {path: URL/f}"},
		"configuration":   {"kustomization.yaml": "resources: [a.yaml]\nconfigurations: [URL/f]"},
		"replacement":     {"kustomization.yaml": "resources: [a.yaml]\nreplacements: [{path: URL/f}]"},
		"merge key":       {"kustomization.yaml": "x: &x {resources: [URL/f]}\n<<: *x\n"},
		"transformer":     {"kustomization.yaml": "resources: [a.yaml]\ntransformers: [URL/f]"},
		"inline": {"kustomization.yaml": "resources: [a.yaml]\ntransformers:\n- |-\n  apiVersion: builtin\n  kind: PatchTransformer\n" +
			"  metadata: {name: x}\n  path: URL/p\n  target: {kind: ConfigMap}\n"},
		"inline in a line": {"kustomization.yaml": "resources: [a.yaml]\ntransformers: ['{apiVersion: builtin, kind: PatchTransformer, metadata: {name: x}, path: URL/p}']"},
		"plugin file": {"kustomization.yaml": "resources: [a.yaml]\ntransformers: [t.yaml]",
			"t.yaml": plainManifest + "---\napiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\npath: URL/p\n"},
		"plugin from a kustomization": {"kustomization.yaml": "resources: [a.yaml]\ntransformers: [t]",
			"t/kustomization.yaml": "resources: [t.yaml]\npatches: [{patch: '[{op: add, path: /path, value: \"URL/p\"}]', target: {kind: PatchTransformer}}]",
			"t/t.yaml":             "apiVersion: builtin\nkind: PatchTransformer\nmetadata: {name: x}\n"},
		"nested":         {"kustomization.yaml": "resources: [b]", "b/kustomization.yaml": "resources: [URL/x.yaml]"},
		"chart":          {"kustomization.yaml": "helmCharts: [{name: x, repo: URL, version: '1'}]"},
		"local chart":    {"kustomization.yaml": "helmCharts: [{name: x, version: '1'}]"},
		"exec generator": {"kustomization.yaml": "generators: ['{apiVersion: example.com/v1, kind: Run, metadata: {name: x, annotations: {config.kubernetes.io/function: \"exec: {path: ./git}\"}}}']"},
		"outside":        {"kustomization.yaml": "resources: [../outside.yaml]"},
	} {
		t.Run(name, func(t *testing.T) {
			top := t.TempDir()
			ran := filepath.Join(top, "ran")
			write(t, filepath.Join(top, "bin", "git"), "#!/bin/sh\n: > "+ran+"\nexit 1\n")
			write(t, filepath.Join(top, "outside.yaml"), plainManifest)
			t.Setenv("PATH", filepath.Join(top, "bin"))
			dir := filepath.Join(top, "k")
			write(t, filepath.Join(dir, "a.yaml"), plainManifest)
			for name, content := range files {
				write(t, filepath.Join(dir, name), strings.NewReplacer("URL", url, "HOST", listener.Addr().String()).Replace(content))
			}
			objects, err := Load(Sources{Kustomize: []string{dir}})
			if err == nil {
				t.Errorf("built %v", objects)
			}
			if _, err := os.Stat(ran); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("git was run: %v", err)
			}
			select {
			case <-visited:
				t.Error("the server was visited")
			default:
			}
		})
	}
}

func write(t *testing.T, path, content string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o700); err != nil {
		t.Fatal(err)
	}
}

// What the check must not refuse.
func TestKustomizeKeepsURLsInValues(t *testing.T) {
	dir := t.TempDir()
	write(t, filepath.Join(dir, "a.yaml"), plainManifest+"data: {path: 'https://example.com/', files: 'http://x'}\n")
	write(t, filepath.Join(dir, "kustomization.yaml"), `
resources: [a.yaml]
commonAnnotations: {path: a, home: "https://example.com"}
images: [{name: nginx, newName: registry.example.com/nginx, newTag: "1.2"}]
configMapGenerator: [{name: x, literals: ["url=https://example.com"]}]
patches: [{patch: '{apiVersion: v1, kind: ConfigMap, metadata: {name: a}, data: {u: "https://example.com"}}'}]
transformers:
- |-
  apiVersion: builtin
  kind: PrefixTransformer
  metadata: {name: p}
  prefix: shop-
  fieldSpecs: [{path: metadata/name}]
`)
	objects, err := Load(Sources{Kustomize: []string{dir}})
	if err != nil || len(objects) != 2 {
		t.Fatalf("%v %v", objects, err)
	}
}
