package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// apiVersion marks every document this program writes for machines.
const apiVersion = "kctl-ctrl.dev/v1alpha1"

// printDocument writes v as JSON or YAML. Both come from the same struct.
func printDocument(out io.Writer, format string, v any) error {
	switch format {
	case "json":
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(v)
	case "yaml":
		text, err := yaml.Marshal(v)
		if err != nil {
			return err
		}
		_, err = out.Write(text)
		return err
	default:
		return fmt.Errorf("unknown output format %q", format)
	}
}

// checkFormat refuses an --output value that is not in formats.
func checkFormat(format string, formats ...string) error {
	if format == "" || slices.Contains(formats, format) {
		return nil
	}
	return fmt.Errorf("unknown output format %q: use %s", format, strings.Join(formats, ", "))
}
