package render

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// YAML writes a value as YAML by its JSON form, keys in the order of the alphabet.
// The text is of whoever made the value: sanitise it before it goes to a terminal.
func YAML(v any) (string, error) {
	out, err := yaml.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return string(out), nil
}
