package plan

import (
	"maps"
	"slices"
	"strings"
)

// withRules is a Role or ClusterRole with its rules as a map from what may be
// done to the verbs, and anything else as it is. The order of rules and how
// they are cut says nothing, and aggregation inserts rules in the middle, where
// a comparison by place would see all later ones change.
func (i *item) withRules(content map[string]any) map[string]any {
	if i.group != "rbac.authorization.k8s.io" || content["rules"] == nil {
		return content
	}
	rules, _ := content["rules"].([]any)
	verbs := map[string][]string{}
	for _, r := range rules {
		rule, _ := r.(map[string]any)
		for _, target := range targetsOf(rule) {
			verbs[target] = append(verbs[target], texts(rule["verbs"])...)
		}
	}
	granted := map[string]any{}
	for target, list := range verbs {
		granted[target] = strings.Join(sorted(list), ", ")
	}
	content = maps.Clone(content)
	content["rules"] = granted
	return content
}

// targetsOf are "deployments.apps", "secrets login" for a rule about names, and
// the URLs that are no resources.
func targetsOf(rule map[string]any) []string {
	targets := texts(rule["nonResourceURLs"])
	names := texts(rule["resourceNames"])
	for _, group := range texts(rule["apiGroups"]) {
		for _, resource := range texts(rule["resources"]) {
			target := strings.TrimSuffix(resource+"."+group, ".")
			if len(names) == 0 {
				targets = append(targets, target)
			}
			for _, name := range slices.Sorted(slices.Values(names)) {
				targets = append(targets, target+" "+name)
			}
		}
	}
	return targets
}

func texts(value any) []string {
	list, _ := value.([]any)
	var out []string
	for _, item := range list {
		if text, ok := item.(string); ok {
			out = append(out, text)
		}
	}
	return out
}
