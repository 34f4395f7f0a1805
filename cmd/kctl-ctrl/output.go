package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"

	"sigs.k8s.io/yaml"
)

// apiVersion marks every document this program writes for machines.
const apiVersion = "kctl-ctrl.dev/v1alpha1"

// printDocument writes v as JSON or YAML, in the order of its fields for JSON.
// Both come from the same struct, and both spell out what a terminal might act
// on, as outputPrinter does.
func printDocument(out io.Writer, format string, v any) error {
	text, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %T: %w", v, err)
	}
	switch {
	case format == "json":
		text = append(spellOut(text, ""), '\n')
	case format == "yaml" && bytes.ContainsFunc(text, odd):
		text = append(spellOut(text, yamlEscape), '\n')
	case format == "yaml":
		if text, err = yaml.JSONToYAML(text); err != nil {
			return fmt.Errorf("encode %T: %w", v, err)
		}
	default:
		return fmt.Errorf("unknown output format %q", format)
	}
	_, err = out.Write(text)
	return err
}

// checkFormat refuses an --output value that is not in formats.
func checkFormat(format string, formats ...string) error {
	if format == "" || slices.Contains(formats, format) {
		return nil
	}
	return fmt.Errorf("unknown output format %q: use %s", format, strings.Join(formats, ", "))
}
