package approve

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxPolicy bounds a document, in bytes.
const maxPolicy = 1 << 20

// Problem is an error at a line of a policy.
type Problem struct {
	File string
	Line int
	Text string
}

func (p *Problem) Error() string {
	if p.Line == 0 {
		return p.File + ": " + p.Text
	}
	return fmt.Sprintf("%s:%d: %s", p.File, p.Line, p.Text)
}

// Problems are all errors of a policy, by line.
type Problems []*Problem

func (p Problems) Error() string {
	lines := make([]string, len(p))
	for i, one := range p {
		lines[i] = one.Error()
	}
	return strings.Join(lines, "\n")
}

// Parse parses a policy in YAML or JSON. It is strict: unknown and duplicate fields,
// wrong types, unknown names and rules that cannot match anything are Problems.
// controller returns the full name of a controller, which may be given as an alias.
func Parse(file string, content []byte, controller func(string) (string, error)) (*Policy, error) {
	p := &parser{file: file, controller: controller}
	root := p.document(content)
	if root == nil {
		return nil, p.problems
	}
	policy := &Policy{}
	p.object(root, "the policy", map[string]field{
		"apiVersion": {required: true, read: func(n *yaml.Node) { policy.APIVersion = p.constant(n, APIVersion) }},
		"kind":       {required: true, read: func(n *yaml.Node) { policy.Kind = p.constant(n, Kind) }},
		"allow": {required: true, read: func(n *yaml.Node) {
			for i, item := range p.list(n, "allow", 0) {
				policy.Allow = append(policy.Allow, p.rule(item, i+1))
			}
		}},
		"limits": {read: func(n *yaml.Node) {
			p.object(n, "limits", map[string]field{
				"writesPerMinute": {read: func(n *yaml.Node) { policy.Limits.WritesPerMinute = p.number(n, "writesPerMinute", 1) }},
				"deletesInTotal":  {read: func(n *yaml.Node) { policy.Limits.DeletesInTotal = p.number(n, "deletesInTotal", 0) }},
			})
		}},
	})
	if policy.Limits.DeletesInTotal != nil {
		for i, r := range policy.Allow {
			if slices.Contains(r.Verbs, "deletecollection") {
				p.fail(r.line, "rule %d allows deletecollection, whose deletes limits.deletesInTotal cannot count: remove one of the two", i+1)
			}
		}
	}
	if len(p.problems) > 0 {
		slices.SortStableFunc(p.problems, func(a, b *Problem) int { return a.Line - b.Line })
		return nil, p.problems
	}
	return policy, nil
}

type parser struct {
	file       string
	controller func(string) (string, error)
	problems   Problems
}

// field describes how a field of an object is parsed.
type field struct {
	required bool
	read     func(*yaml.Node)
}

func (p *parser) fail(line int, format string, args ...any) {
	p.problems = append(p.problems, &Problem{p.file, line, state.OneLine(fmt.Sprintf(format, args...))})
}

// document is the only document of a file; nil if there is none.
func (p *parser) document(content []byte) *yaml.Node {
	if len(content) > maxPolicy {
		p.fail(0, "larger than %d bytes", maxPolicy)
		return nil
	}
	decoder := yaml.NewDecoder(bytes.NewReader(content))
	var root, more yaml.Node
	if err := decoder.Decode(&root); errors.Is(err, io.EOF) || err == nil && len(root.Content) == 0 {
		p.fail(0, "empty file: expected a document of kind %s", Kind)
		return nil
	} else if err != nil {
		p.syntax(err)
		return nil
	}
	if err := decoder.Decode(&more); err == nil {
		p.fail(more.Line, "more than one document: a file must contain one policy")
		return nil
	} else if !errors.Is(err, io.EOF) {
		p.syntax(err)
		return nil
	}
	return root.Content[0]
}

// syntax extracts the line from an error of the YAML library.
func (p *parser) syntax(err error) {
	text := strings.TrimPrefix(err.Error(), "yaml: ")
	if rest, found := strings.CutPrefix(text, "line "); found {
		if number, words, ok := strings.Cut(rest, ": "); ok {
			if line, err := strconv.Atoi(number); err == nil {
				p.fail(line, "%s", words)
				return
			}
		}
	}
	p.fail(0, "%s", text)
}

func (p *parser) object(n *yaml.Node, what string, fields map[string]field) {
	if n.Kind != yaml.MappingNode {
		p.fail(n.Line, "%s must be an object, not %s", what, kindOf(n))
		return
	}
	seen := map[string]int{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, value := n.Content[i], n.Content[i+1]
		f, known := fields[key.Value]
		switch {
		case key.Kind != yaml.ScalarNode || !known:
			p.fail(key.Line, "%s: unknown field %q%s", what, key.Value, meant(key.Value, fields))
		case seen[key.Value] != 0:
			p.fail(key.Line, "%s: duplicate field %q, first set on line %d", what, key.Value, seen[key.Value])
		case value.Kind == yaml.AliasNode:
			p.fail(value.Line, "%q: YAML aliases are not supported: write out the value", key.Value)
		default:
			f.read(value)
		}
		seen[key.Value] = key.Line
	}
	for _, name := range sorted(fields) {
		if fields[name].required && seen[name] == 0 {
			p.fail(n.Line, "%s: missing required field %q", what, name)
		}
	}
}

// meant finds the field that differs in case or in a plural s.
func meant(name string, fields map[string]field) string {
	plain := func(s string) string { return strings.TrimSuffix(strings.ToLower(s), "s") }
	for _, f := range sorted(fields) {
		if plain(f) == plain(name) {
			return fmt.Sprintf(": did you mean %q?", f)
		}
	}
	return fmt.Sprintf(": known fields are %s", strings.Join(sorted(fields), ", "))
}

func sorted(fields map[string]field) []string {
	var out []string
	for name := range fields {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "an object"
	case yaml.SequenceNode:
		return "a list"
	case yaml.AliasNode:
		return "an alias"
	}
	switch n.ShortTag() {
	case "!!str":
		return fmt.Sprintf("the string %q", n.Value)
	case "!!null":
		return "nothing"
	}
	return n.Value
}

func (p *parser) list(n *yaml.Node, what string, least int) []*yaml.Node {
	if n.Kind != yaml.SequenceNode {
		p.fail(n.Line, "%s must be a list, not %s", what, kindOf(n))
		return nil
	}
	if len(n.Content) < least {
		p.fail(n.Line, "%s is empty: the rule matches nothing", what)
	}
	return n.Content
}

func (p *parser) text(n *yaml.Node) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		p.fail(n.Line, "expected a string, got %s%s", kindOf(n), quoteHint(n))
		return "", false
	}
	return n.Value, true
}

// quoteHint is for values that YAML does not parse as a string.
func quoteHint(n *yaml.Node) string {
	if n.Kind == yaml.AliasNode || n.Kind == yaml.ScalarNode && n.ShortTag() != "!!null" {
		return ": put it in quotes"
	}
	return ""
}

func (p *parser) constant(n *yaml.Node, want string) string {
	if got, ok := p.text(n); ok && got != want {
		p.fail(n.Line, "%q is not supported: use %s", got, want)
	}
	return want
}

func (p *parser) number(n *yaml.Node, name string, least int) *int {
	value, err := strconv.Atoi(n.Value)
	switch {
	case n.Kind != yaml.ScalarNode || n.ShortTag() != "!!int" || err != nil:
		p.fail(n.Line, "%s: expected an integer, got %s", name, kindOf(n))
	case value < least:
		p.fail(n.Line, "%s: %d is less than the minimum of %d", name, value, least)
	default:
		return &value
	}
	return nil
}

func (p *parser) boolean(n *yaml.Node) bool {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!bool" {
		p.fail(n.Line, "expected true or false, got %s", kindOf(n))
	}
	return n.Value == "true"
}

func (p *parser) rule(n *yaml.Node, number int) Rule {
	r := Rule{line: n.Line}
	what := fmt.Sprintf("rule %d", number)
	texts := func(name string, check func(line int, entry string) string) func(*yaml.Node) []string {
		return func(n *yaml.Node) (out []string) {
			for _, item := range p.list(n, what+": "+name, 1) {
				entry, ok := p.text(item)
				if !ok {
					continue
				}
				if slices.Contains(out, entry) {
					p.fail(item.Line, "duplicate value %q", entry)
					continue
				}
				out = append(out, check(item.Line, entry))
			}
			return out
		}
	}
	p.object(n, what, map[string]field{
		"controllers":   {required: true, read: func(n *yaml.Node) { r.Controllers = texts("controllers", p.controllerName)(n) }},
		"verbs":         {required: true, read: func(n *yaml.Node) { r.Verbs = texts("verbs", p.verb)(n) }},
		"kinds":         {required: true, read: func(n *yaml.Node) { r.Kinds = texts("kinds", p.kind)(n) }},
		"namespaces":    {read: func(n *yaml.Node) { r.Namespaces = texts("namespaces", p.namespace)(n) }},
		"clusterScoped": {read: func(n *yaml.Node) { r.ClusterScoped = p.boolean(n) }},
	})
	if n.Kind == yaml.MappingNode && len(r.Namespaces) == 0 && !r.ClusterScoped {
		p.fail(n.Line, `%s matches no namespace: set namespaces (["*"] for all) or clusterScoped: true`, what)
	}
	for _, k := range r.Kinds {
		r.kinds = append(r.kinds, readKind(k))
	}
	return r
}

func (p *parser) controllerName(line int, entry string) string {
	if entry == "*" || p.controller == nil {
		return entry
	}
	name, err := p.controller(entry)
	if err != nil {
		p.fail(line, "%v", err)
		return entry
	}
	return name
}

func (p *parser) verb(line int, entry string) string {
	if !slices.Contains(Verbs(), entry) {
		p.fail(line, "%q is not a valid verb: use %s", entry, strings.Join(Verbs(), ", "))
	}
	return entry
}

func (p *parser) namespace(line int, entry string) string {
	_, err := path.Match(entry, "")
	if err != nil || entry == "" || strings.Contains(entry, "/") {
		p.fail(line, "%q is not a valid namespace pattern: use a name, with * and ? as wildcards", entry)
	} else if !strings.ContainsAny(entry, `*?[\`) {
		if problems := validation.IsDNS1123Label(entry); len(problems) > 0 {
			p.fail(line, "%q is not a valid namespace name: %s", entry, problems[0])
		}
	}
	return entry
}

// kind rejects what is known not to be a type: a kind that Kubernetes does not serve,
// and a resource that one of its own groups does not have.
func (p *parser) kind(line int, entry string) string {
	k := readKind(entry)
	if k.any {
		return entry
	}
	var sameName, singular []string
	ownGroup := k.group == ""
	for gvk := range scheme.Scheme.AllKnownTypes() {
		if strings.HasSuffix(gvk.Kind, "List") || strings.HasSuffix(gvk.Kind, "Options") {
			continue // they are used in requests, not stored
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		ownGroup = ownGroup || gvk.Group == k.group
		full := plural.GroupResource().String()
		if k.kind != "" && strings.EqualFold(gvk.Kind+"s", k.kind) {
			singular = append(singular, gvk.Kind)
		}
		switch {
		case k.kind != "" && gvk.Kind == k.kind && (k.anyGroup || gvk.Group == k.group):
			return entry
		case k.resource != "" && plural.Resource == k.resource && gvk.Group == k.group:
			return entry
		case k.kind != "" && gvk.Kind == k.kind, k.resource != "" && (plural.Resource == k.resource || strings.EqualFold(gvk.Kind, k.resource)):
			sameName = append(sameName, full)
		}
	}
	slices.Sort(sameName)
	sameName = slices.Compact(sameName)
	switch {
	case len(sameName) > 0:
		p.fail(line, "unknown kind %q: did you mean %s?", entry, strings.Join(sameName, " or "))
	case len(singular) > 0:
		p.fail(line, "%q is not a Kubernetes kind: did you mean %s?", entry, slices.Min(singular))
	case k.kind != "":
		p.fail(line, "%q is not a Kubernetes kind: write a custom resource as \"widgets.example.com\"", entry)
	case k.resource == "" || ownGroup:
		p.fail(line, "%q is not a Kubernetes resource: use a kind such as Deployment, or a resource such as deployments.apps", entry)
	}
	return entry
}
