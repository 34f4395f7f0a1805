package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/cli-runtime/pkg/genericiooptions"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/command/policy"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/approve"
)

// What docs/policy.md shows is what 'policy validate' takes, and it leaves no field out.
func TestPolicyManual(t *testing.T) {
	root, err := filepath.Abs(filepath.Join("..", ".."))
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(root, "docs", "policy.md"))
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for i, block := range strings.Split(string(text), "```") {
		example, isYAML := strings.CutPrefix(block, "yaml\n")
		if i%2 == 0 || !isYAML {
			continue
		}
		examples++
		t.Chdir(t.TempDir())
		if err := os.WriteFile("policy.yaml", []byte(example), 0o600); err != nil {
			t.Fatal(err)
		}
		streams, _, out, _ := genericiooptions.NewTestIOStreams()
		cmd := policy.New(streams)
		cmd.SetArgs([]string{"validate", "policy.yaml"})
		if err := cmd.Execute(); err != nil {
			t.Errorf("example %d: %v", examples, err)
		}
		if examples == 1 && !strings.Contains(string(text), "```text\n"+out.String()+"```") {
			t.Errorf("the output of 'policy validate' is %q", out)
		}
	}
	if examples < 4 {
		t.Errorf("%d examples were found", examples)
	}
	var schema map[string]any
	if err := yaml.Unmarshal(approve.Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, field := range fieldsOf(schema) {
		if !strings.Contains(string(text), "| `"+field+"`") && !strings.Contains(string(text), ", `"+field+"` |") {
			t.Errorf("the field %s is not described", field)
		}
	}
	for _, verb := range approve.Verbs() {
		if !strings.Contains(string(text), "`"+verb+"`") {
			t.Errorf("the verb %s is not named", verb)
		}
	}
	for _, from := range []string{"README.md", filepath.Join("docs", "safety.md"), filepath.Join("docs", "active.md")} {
		page, err := os.ReadFile(filepath.Join(root, from))
		if err != nil || !strings.Contains(string(page), "policy.md") {
			t.Errorf("%s does not lead to docs/policy.md: %v", from, err)
		}
	}
}

// fieldsOf are the names of all fields in a JSON schema.
func fieldsOf(schema map[string]any) (names []string) {
	properties, _ := schema["properties"].(map[string]any)
	for name, of := range properties {
		names = append(names, name)
		if of, isObject := of.(map[string]any); isObject {
			names = append(names, fieldsOf(of)...)
			if items, isList := of["items"].(map[string]any); isList {
				names = append(names, fieldsOf(items)...)
			}
		}
	}
	return names
}
