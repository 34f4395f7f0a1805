package render

import (
	"fmt"

	"sigs.k8s.io/yaml"
)

// YAML encodes a value as YAML through its JSON form, keys in alphabetical order.
// Sanitise the text before printing it on a terminal.
func YAML(v any) (string, error) {
	out, err := yaml.Marshal(v)
	if err != nil {
		return "", fmt.Errorf("write YAML: %w", err)
	}
	return string(out), nil
}
