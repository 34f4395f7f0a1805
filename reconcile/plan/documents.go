package plan

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	yamlv3 "go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utiljson "k8s.io/apimachinery/pkg/util/json"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/yaml"
)

// section is one YAML document or one value of a JSON stream.
type section struct {
	text []byte
	// before is the number of lines in the file before text.
	before int
	// first is the line in the file of the first character that is neither white space
	// nor comment.
	first int
	// json: it is a JSON value, which YAML does not read in all cases.
	json bool
}

// parse parses a file: a stream of YAML documents or of JSON values.
func parse(name string, content []byte) ([]Object, Problems) {
	p := &parser{name: name}
	content = bytes.TrimPrefix(content, []byte("\ufeff"))
	if !utf8.Valid(content) {
		p.fail(0, "", errors.New("not UTF-8 text"))
		return nil, p.problems
	}
	if !p.jsonStream(content) {
		for _, d := range split(content) {
			p.document(d)
		}
	}
	return p.objects, p.problems
}

type parser struct {
	name     string
	objects  []Object
	problems Problems
}

func (p *parser) fail(line int, object string, err error) {
	p.problems = append(p.problems, &Problem{At: Position{File: p.name, Line: line}, Object: object, Err: err})
}

// jsonStream parses content that begins with "{" and is JSON throughout. It returns
// false without a result if it may be YAML.
func (p *parser) jsonStream(content []byte) bool {
	if !bytes.HasPrefix(bytes.TrimLeft(content, " \t\r\n"), []byte("{")) {
		return false
	}
	var docs []section
	decoder := json.NewDecoder(bytes.NewReader(content))
	for {
		from := int(decoder.InputOffset())
		var raw json.RawMessage
		err := decoder.Decode(&raw)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false
		}
		from += len(content[from:]) - len(bytes.TrimLeft(content[from:], " \t\r\n"))
		before := bytes.Count(content[:from], []byte("\n"))
		docs = append(docs, section{text: raw, before: before, first: before + 1, json: true})
	}
	for _, d := range docs {
		p.document(d)
	}
	return true
}

// split splits a YAML stream at its document markers. A marker's own line belongs to
// the document that it begins, since content may follow it.
func split(content []byte) []section {
	var docs []section
	var current section
	line := 0
	cut := func() {
		if current.first > 0 {
			docs = append(docs, current)
		}
		current = section{before: line}
	}
	for text := range bytes.Lines(content) {
		marker, rest := "", text
		for _, m := range []string{"---", "..."} {
			if after, ok := bytes.CutPrefix(text, []byte(m)); ok && (len(after) == 0 || bytes.ContainsRune([]byte(" \t\r\n"), rune(after[0]))) {
				marker, rest = m, after
			}
		}
		if marker != "" {
			cut()
		}
		line++
		if marker == "" && text[0] == '%' && current.first == 0 {
			// A directive belongs to the marker after it; its line is kept empty.
			current.text = append(current.text, '\n')
			continue
		}
		if marker == "..." {
			text = []byte("\n")
			rest = nil
		}
		current.text = append(current.text, text...)
		rest = bytes.TrimSpace(rest)
		if current.first == 0 && len(rest) > 0 && rest[0] != '#' {
			current.first = line
		}
	}
	cut()
	return docs
}

func (p *parser) document(d section) {
	converted, err := yaml.YAMLToJSONStrict(d.text)
	if err != nil && d.json && strictJSON(d.text) {
		converted, err = d.text, nil
	}
	if err != nil {
		p.fail(brokenAt(d, err))
		return
	}
	var value any
	if err := utiljson.Unmarshal(converted, &value); err != nil {
		p.fail(d.first, "", fmt.Errorf("broken YAML: %w", err))
		return
	}
	switch value := value.(type) {
	case nil:
	case map[string]any:
		p.object(value, d.first, func() *yamlv3.Node { return nodeOf(d) }, d.before)
	default:
		p.fail(d.first, "", fmt.Errorf("not a Kubernetes object: a mapping is needed, this is %s", kindOfValue(value)))
	}
}

// strictJSON reports whether text is JSON without duplicate keys. Most JSON is YAML,
// except for escapes of characters beyond U+FFFF, which are pairs in JSON, and bare
// control characters.
func strictJSON(text []byte) bool {
	var value any
	strict, err := kjson.UnmarshalStrict(text, &value, kjson.DisallowDuplicateFields)
	return err == nil && len(strict) == 0
}

var (
	lineInError = regexp.MustCompile(`line (\d+): `)
	helmSyntax  = regexp.MustCompile(`\{\{.*\}\}`)
)

// brokenAt finds the line in the file to which a YAML error refers.
//
// go.yaml.in/yaml/v2@v2.4.4 counts from the start of its input. Errors of its scanner
// count from 1, those of its parser ("did not find expected …") from 0, and omit line
// 0.
func brokenAt(d section, err error) (line int, object string, wrapped error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	line = d.before + 1
	if m := lineInError.FindStringSubmatch(text); m != nil {
		n, _ := strconv.Atoi(m[1])
		line = d.before + n
		if strings.Contains(text, "did not find expected") {
			line++
		}
	}
	line = max(line, d.first)
	text = strings.TrimPrefix(text, "unmarshal errors:\n  ")
	text, _, _ = strings.Cut(lineInError.ReplaceAllString(text, ""), "\n")
	if strings.HasPrefix(text, "invalid map key") {
		text = "a key of a mapping must be a string"
	}
	if at := helmSyntax.FindIndex(d.text); at != nil {
		line = d.before + 1 + bytes.Count(d.text[:at[0]], []byte("\n"))
		text += ` (this looks like a template: render it first, "helm template … | kctl-ctrl diff -f -")`
	}
	return line, "", fmt.Errorf("broken YAML: %s", text)
}

// object takes one object, or the items of a list. The node of the document is
// asked for only where lines inside it are needed.
func (p *parser) object(content map[string]any, line int, node func() *yamlv3.Node, before int) {
	if items, ok := itemsOf(content); ok {
		apiVersion, _ := content["apiVersion"].(string)
		kind, _ := content["kind"].(string)
		nodes := itemNodes(node(), len(items))
		for i, item := range items {
			at := line
			if nodes != nil {
				at = before + nodes[i].Line
			}
			itemContent, ok := item.(map[string]any)
			if !ok {
				p.fail(at, "", fmt.Errorf("items[%d] of %s is not a Kubernetes object but %s", i, kind, kindOfValue(item)))
				continue
			}
			if kind != "List" && itemContent["kind"] == nil && itemContent["apiVersion"] == nil {
				itemContent["kind"], itemContent["apiVersion"] = strings.TrimSuffix(kind, "List"), apiVersion
			}
			p.object(itemContent, at, func() *yamlv3.Node {
				if nodes == nil {
					return nil
				}
				return nodes[i]
			}, before)
		}
		return
	}
	if err := wellFormed(content); err != nil {
		p.fail(line, describeAny(content), err)
		return
	}
	p.objects = append(p.objects, Object{
		Unstructured: &unstructured.Unstructured{Object: content},
		Source:       Position{File: p.name, Line: line},
	})
}

// itemsOf returns the items of a List, a DeploymentList….
func itemsOf(content map[string]any) ([]any, bool) {
	kind, _ := content["kind"].(string)
	if !strings.HasSuffix(kind, "List") {
		return nil, false
	}
	if metadata, _ := content["metadata"].(map[string]any); metadata["name"] != nil {
		return nil, false
	}
	items, ok := content["items"].([]any)
	if !ok && kind == "List" {
		return nil, true
	}
	return items, ok
}

// wellFormed checks what every object needs before it can be sent.
func wellFormed(content map[string]any) error {
	for _, field := range []string{"apiVersion", "kind"} {
		if err := needString(content, field, field); err != nil {
			return err
		}
	}
	if _, err := schema.ParseGroupVersion(content["apiVersion"].(string)); err != nil {
		return fmt.Errorf("apiVersion: %w", err)
	}
	metadata, ok := content["metadata"].(map[string]any)
	if !ok {
		if content["metadata"] == nil {
			return errors.New("metadata.name is missing")
		}
		return fmt.Errorf("metadata must be a mapping, this is %s", kindOfValue(content["metadata"]))
	}
	if generate, ok := metadata["generateName"]; ok && metadata["name"] == nil {
		return fmt.Errorf("metadata.generateName %q cannot be planned: an apply needs metadata.name", generate)
	}
	if ns, ok := metadata["namespace"]; ok && ns == nil {
		delete(metadata, "namespace")
	} else if ok {
		if _, isString := ns.(string); !isString {
			return fmt.Errorf("metadata.namespace must be a string, this is %s", kindOfValue(ns))
		}
	}
	for _, field := range []string{"labels", "annotations"} {
		if err := stringMap(metadata, field); err != nil {
			return err
		}
	}
	return needString(metadata, "name", "metadata.name")
}

func needString(in map[string]any, field, path string) error {
	switch value := in[field].(type) {
	case nil:
		return fmt.Errorf("%s is missing", path)
	case string:
		if value == "" {
			return fmt.Errorf("%s is empty", path)
		}
		return nil
	default:
		return fmt.Errorf("%s must be a string, this is %s: put it in quotes", path, kindOfValue(value))
	}
}

// stringMap finds what the API server would report as a decoding error without a path:
// "enabled: true" among labels.
func stringMap(metadata map[string]any, field string) error {
	values, ok := metadata[field].(map[string]any)
	if !ok {
		if metadata[field] == nil {
			return nil
		}
		return fmt.Errorf("metadata.%s must be a mapping, this is %s", field, kindOfValue(metadata[field]))
	}
	for _, key := range slices.Sorted(maps.Keys(values)) {
		if _, ok := values[key].(string); !ok && values[key] != nil {
			return fmt.Errorf("metadata.%s[%s] must be a string, this is %s: put it in quotes", field, key, kindOfValue(values[key]))
		}
	}
	return nil
}

// describeAny is describe for incomplete content.
func describeAny(content map[string]any) string {
	kind, _ := content["kind"].(string)
	metadata, _ := content["metadata"].(map[string]any)
	name, _ := metadata["name"].(string)
	if ns, _ := metadata["namespace"].(string); ns != "" && name != "" {
		name = ns + "/" + name
	}
	return strings.TrimSpace(kind + " " + name)
}

func kindOfValue(value any) string {
	switch value.(type) {
	case nil:
		return "null"
	case string:
		return "a string"
	case bool:
		return "a boolean"
	case int64, float64:
		return "a number"
	case []any:
		return "a list"
	default:
		return "a mapping"
	}
}

// nodeOf parses a document for its lines; nil where that fails.
func nodeOf(d section) *yamlv3.Node {
	var node yamlv3.Node
	if err := yamlv3.Unmarshal(d.text, &node); err != nil || len(node.Content) == 0 {
		return nil
	}
	return node.Content[0]
}

// itemNodes finds the nodes of the items of a list, nil unless there are want.
func itemNodes(list *yamlv3.Node, want int) []*yamlv3.Node {
	if list == nil || list.Kind != yamlv3.MappingNode {
		return nil
	}
	for i := 0; i+1 < len(list.Content); i += 2 {
		if items := list.Content[i+1]; list.Content[i].Value == "items" && items.Kind == yamlv3.SequenceNode && len(items.Content) == want {
			return items.Content
		}
	}
	return nil
}
