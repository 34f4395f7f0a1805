package printing

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Document writes v as JSON or YAML, in the order of its fields for JSON.
// Both come from the same struct, and both spell out what a terminal or the runner of
// a CI system might act on, as Printer does.
func Document(out io.Writer, format string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	switch format {
	case "json":
		text = append(state.EscapeJSON(text), '\n')
	case "yaml":
		if text, err = readableYAML(text); err != nil {
			return fmt.Errorf("encode %T: %w", v, err)
		}
	default:
		return fmt.Errorf("unknown output format %q", format)
	}
	_, err = out.Write(text)
	return err
}

// readableYAML makes YAML of JSON, where nothing in it has to be spelt out: JSON has
// escapes for all of it, and is YAML.
func readableYAML(text []byte) ([]byte, error) {
	if !bytes.ContainsFunc(text, odd) {
		readable, err := yaml.JSONToYAML(text)
		if err != nil || !state.HoldsCommand(string(readable)) {
			return readable, err
		}
	}
	return append(state.EscapeJSONInYAML(text), '\n'), nil
}

// CheckFormat refuses an --output value that is not in formats.
func CheckFormat(format string, formats ...string) error {
	if format == "" || slices.Contains(formats, format) {
		return nil
	}
	return fmt.Errorf("unknown output format %q: use %s", format, strings.Join(formats, ", "))
}
