package rights

import (
	"bytes"
	"fmt"
	"slices"
	"strconv"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

// NeededByAnnotation lists what needs each rule of a role, a line for each.
const NeededByAnnotation = "kctl-ctrl.dev/needed-by"

// A Role is a ClusterRole, or a Role in a namespace, with what needs its rules.
type Role struct {
	Name, Namespace string
	Rules           []Rule
}

// Roles returns the roles for rules: a ClusterRole and a Role for each namespace, if
// there are rules for them.
func Roles(name string, rules []Rule) []Role {
	var out []Role
	for _, r := range rules {
		if len(out) == 0 || out[len(out)-1].Namespace != r.Namespace {
			out = append(out, Role{Name: name, Namespace: r.Namespace})
		}
		last := &out[len(out)-1]
		last.Rules = append(last.Rules, r)
	}
	return out
}

// ParseSubject parses "user:NAME", "group:NAME" or "serviceaccount:NAMESPACE:NAME".
func ParseSubject(text string) (rbacv1.Subject, error) {
	kind, name, _ := strings.Cut(text, ":")
	switch kind {
	case "user":
		if name != "" {
			return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}, nil
		}
	case "group":
		if name != "" {
			return rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name}, nil
		}
	case "serviceaccount":
		if namespace, account, two := strings.Cut(name, ":"); two && namespace != "" && account != "" {
			return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: account}, nil
		}
	}
	return rbacv1.Subject{}, fmt.Errorf("invalid subject %q: use user:NAME, group:NAME or serviceaccount:NAMESPACE:NAME", text)
}

func (r *Role) kind() string {
	if r.Namespace == "" {
		return "ClusterRole"
	}
	return "Role"
}

// object is the role for kubectl.
func (r *Role) object() any {
	meta := metav1.ObjectMeta{Name: r.Name, Namespace: r.Namespace}
	var rules []rbacv1.PolicyRule
	for _, rule := range r.Rules {
		rules = append(rules, rule.policy())
	}
	kind := metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: r.kind()}
	if r.Namespace == "" {
		return &rbacv1.ClusterRole{TypeMeta: kind, ObjectMeta: meta, Rules: rules}
	}
	return &rbacv1.Role{TypeMeta: kind, ObjectMeta: meta, Rules: rules}
}

func (r *Rule) policy() rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: r.Groups, Resources: r.Resources, ResourceNames: r.Names, Verbs: r.Verbs}
}

// lines formats the rule as YAML, a line for each list: JSON strings are valid in YAML.
func (r *Rule) lines() string {
	var out strings.Builder
	start := "- "
	for _, list := range []struct {
		key    string
		values []string
	}{{"apiGroups", r.Groups}, {"resources", r.Resources}, {"resourceNames", r.Names}, {"verbs", r.Verbs}} {
		if len(list.values) == 0 {
			continue
		}
		quoted := make([]string, len(list.values))
		for i, v := range list.values {
			quoted[i] = strconv.Quote(v)
		}
		out.WriteString(start + list.key + ": [" + strings.Join(quoted, ", ") + "]\n")
		start = "  "
	}
	return out.String()
}

func (r *Role) binding(to []rbacv1.Subject) any {
	meta := metav1.ObjectMeta{Name: r.Name, Namespace: r.Namespace}
	ref := rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: r.kind(), Name: r.Name}
	kind := metav1.TypeMeta{APIVersion: rbacv1.SchemeGroupVersion.String(), Kind: r.kind() + "Binding"}
	if r.Namespace == "" {
		return &rbacv1.ClusterRoleBinding{TypeMeta: kind, ObjectMeta: meta, Subjects: to, RoleRef: ref}
	}
	return &rbacv1.RoleBinding{TypeMeta: kind, ObjectMeta: meta, Subjects: to, RoleRef: ref}
}

// NeededBy describes what needs the rule, with the verbs if these are not all of it.
func (r *Rule) NeededBy() string {
	var out []string
	for _, n := range r.Needs {
		text := n.By
		if !slices.Equal(n.Verbs, r.Verbs) {
			text += " (" + strings.Join(n.Verbs, ", ") + ")"
		}
		out = append(out, text)
	}
	return strings.Join(out, "; ")
}

// What names the resources of the rule: "deployments.apps, replicasets.apps".
func (r *Rule) What() string {
	var out []string
	for _, group := range r.Groups {
		for _, resource := range r.Resources {
			out = append(out, describe(group, resource))
		}
	}
	text := strings.Join(out, ", ")
	if len(r.Names) > 0 {
		text += " " + strings.Join(r.Names, ", ")
	}
	return text
}

func describe(group, resource string) string {
	if group == "*" && resource == "*" {
		return "every type"
	}
	name, sub, has := strings.Cut(resource, "/")
	name = schema.GroupResource{Group: group, Resource: name}.String()
	if has {
		name += "/" + sub
	}
	return name
}

// List returns the roles, and their bindings if there are subjects, as a List for
// kubectl, with NeededByAnnotation on each role.
func List(roles []Role, to []rbacv1.Subject) any {
	items := []any{}
	for _, r := range roles {
		var lines []string
		for _, rule := range r.Rules {
			lines = append(lines, strings.Join(rule.Verbs, ", ")+" "+rule.What()+": "+rule.NeededBy())
		}
		object := r.object()
		object.(metav1.Object).SetAnnotations(map[string]string{NeededByAnnotation: strings.Join(lines, "\n")})
		items = append(items, object)
		if len(to) > 0 {
			items = append(items, r.binding(to))
		}
	}
	return struct {
		metav1.TypeMeta `json:",inline"`
		Items           []any `json:"items"`
	}{metav1.TypeMeta{APIVersion: "v1", Kind: "List"}, items}
}

// YAML returns the same for people: a comment above each rule lists what needs it.
func YAML(roles []Role, to []rbacv1.Subject) ([]byte, error) {
	var out bytes.Buffer
	write := func(object any) error {
		text, err := yaml.Marshal(object)
		if err == nil {
			out.Write(text)
		}
		return err
	}
	for i, r := range roles {
		if i > 0 {
			out.WriteString("---\n")
		}
		head := r
		head.Rules = nil
		text, err := yaml.Marshal(head.object())
		if err != nil {
			return nil, fmt.Errorf("write role %s: %w", r.Name, err)
		}
		out.Write(bytes.TrimSuffix(text, []byte("rules: null\n")))
		out.WriteString("rules:\n")
		for _, rule := range r.Rules {
			out.WriteString("# " + rule.NeededBy() + "\n")
			out.WriteString(rule.lines())
		}
		if len(to) > 0 {
			out.WriteString("---\n")
			if err := write(r.binding(to)); err != nil {
				return nil, fmt.Errorf("write binding %s: %w", r.Name, err)
			}
		}
	}
	return out.Bytes(), nil
}
