package rights

import (
	"cmp"
	"maps"
	"slices"
	"strings"
)

// A Rule is a rule of a role, with what needs it.
type Rule struct {
	// Namespace is empty for a rule of a ClusterRole.
	Namespace                       string
	Groups, Resources, Verbs, Names []string
	// Needs are sorted by what needs the rule.
	Needs []RuleNeed
}

// RuleNeed is what needs a rule, and which verbs of it.
type RuleNeed struct {
	By    string
	Verbs []string
}

// Rights are the individual permissions of the rule.
func (r *Rule) Rights() []Right {
	names := r.Names
	if len(names) == 0 {
		names = []string{""}
	}
	var out []Right
	for _, group := range r.Groups {
		for _, resource := range r.Resources {
			for _, name := range names {
				for _, verb := range r.Verbs {
					out = append(out, Right{verb, group, resource, name, r.Namespace})
				}
			}
		}
	}
	return out
}

// clusterScoped are the cluster-scoped resources of built-in groups that controllers
// and commands read.
var clusterScoped = map[string]bool{
	"nodes": true, "namespaces": true, "persistentvolumes": true,
	"apiservices.apiregistration.k8s.io": true,
	"storageclasses.storage.k8s.io":      true, "volumeattachments.storage.k8s.io": true, "csinodes.storage.k8s.io": true,
	"csidrivers.storage.k8s.io": true, "volumeattributesclasses.storage.k8s.io": true,
	"deviceclasses.resource.k8s.io": true, "resourceslices.resource.k8s.io": true, "devicetaintrules.resource.k8s.io": true,
	"resourcepoolstatusrequests.resource.k8s.io":               true,
	"certificatesigningrequests.certificates.k8s.io":           true,
	"clustertrustbundles.certificates.k8s.io":                  true,
	"signers.certificates.k8s.io":                              true,
	"servicecidrs.networking.k8s.io":                           true,
	"ipaddresses.networking.k8s.io":                            true,
	"clusterroles.rbac.authorization.k8s.io":                   true,
	"validatingadmissionpolicies.admissionregistration.k8s.io": true,
	"subjectaccessreviews.authorization.k8s.io":                true,
	"tokenreviews.authentication.k8s.io":                       true,
	"storageversions.internal.apiserver.k8s.io":                true,
	"storageversionmigrations.storagemigration.k8s.io":         true,
	"customresourcedefinitions.apiextensions.k8s.io":           true,
}

// Confine moves namespaced permissions into the given namespace. Permissions that are
// in a namespace already, and those for cluster-scoped resources, do not change. An
// empty namespace changes nothing.
func Confine(needs []Need, namespace string) []Need {
	out := slices.Clone(needs)
	for i, n := range out {
		resource, _, _ := strings.Cut(n.Resource, "/")
		if n.Namespace == "" && !clusterScoped[strings.TrimSuffix(resource+"."+n.Group, ".")] {
			out[i].Namespace = namespace
		}
	}
	return out
}

// Merge returns the smallest set of rules for needs without granting more: a permission
// that another covers is left out, and resources with the same verbs, needed by the
// same, share a rule. The result is sorted and does not depend on the order of needs.
func Merge(needs []Need) []Rule {
	var rules []Rule
	for right, by := range resources(needs) {
		rules = append(rules, Rule{
			Namespace: right.Namespace, Groups: []string{right.Group}, Resources: []string{right.Resource}, Names: named(right.Name),
			Verbs: slices.Sorted(maps.Keys(by)), Needs: ruleNeeds(by),
		})
	}
	slices.SortFunc(rules, compareRules)
	// Names first, so that no combination of a name and a resource is granted that is
	// not needed; then resources; then groups with the same resources.
	rules = join(rules, func(r *Rule) *[]string { return &r.Names })
	rules = join(rules, func(r *Rule) *[]string { return &r.Resources })
	rules = join(rules, func(r *Rule) *[]string { return &r.Groups })
	return rules
}

func named(name string) []string {
	if name == "" {
		return nil
	}
	return []string{name}
}

// resources collects what is needed of each resource: verbs, and what needs them. The
// keys have no verb.
func resources(needs []Need) map[Right]map[string]map[string]bool {
	distinct := map[Right]bool{}
	for _, n := range needs {
		distinct[n.Right] = true
	}
	out := map[Right]map[string]map[string]bool{}
	for _, n := range needs {
		if covered(n.Right, distinct) {
			continue
		}
		resource := n.Right
		resource.Verb = ""
		if out[resource] == nil {
			out[resource] = map[string]map[string]bool{}
		}
		if out[resource][n.Verb] == nil {
			out[resource][n.Verb] = map[string]bool{}
		}
		out[resource][n.Verb][n.By] = true
	}
	return out
}

// covered reports whether another permission grants r. No two different permissions
// cover each other.
func covered(r Right, all map[Right]bool) bool {
	for other := range all {
		if other != r && other.covers(r) {
			return true
		}
	}
	return false
}

func ruleNeeds(by map[string]map[string]bool) []RuleNeed {
	verbs := map[string][]string{}
	for verb, who := range by {
		for name := range who {
			verbs[name] = append(verbs[name], verb)
		}
	}
	var out []RuleNeed
	for _, name := range slices.Sorted(maps.Keys(verbs)) {
		slices.Sort(verbs[name])
		out = append(out, RuleNeed{name, verbs[name]})
	}
	return out
}

// join merges rules that differ in one list only.
func join(rules []Rule, list func(*Rule) *[]string) []Rule {
	var out []Rule
	for _, r := range rules {
		i := slices.IndexFunc(out, func(o Rule) bool {
			a, b := o, r
			if (len(*list(&a)) == 0) != (len(*list(&b)) == 0) {
				return false // "all" and "one of these" cannot be merged
			}
			*list(&a), *list(&b) = nil, nil
			return equal(a, b)
		})
		if i < 0 {
			out = append(out, r)
			continue
		}
		into := list(&out[i])
		*into = slices.Compact(slices.Sorted(slices.Values(slices.Concat(*into, *list(&r)))))
	}
	return out
}

func equal(a, b Rule) bool {
	return compareRules(a, b) == 0 && slices.EqualFunc(a.Needs, b.Needs, func(x, y RuleNeed) bool {
		return x.By == y.By && slices.Equal(x.Verbs, y.Verbs)
	})
}

func compareRules(a, b Rule) int {
	return cmp.Or(
		cmp.Compare(a.Namespace, b.Namespace), slices.Compare(a.Groups, b.Groups), slices.Compare(a.Resources, b.Resources),
		slices.Compare(a.Names, b.Names), slices.Compare(a.Verbs, b.Verbs),
	)
}
