package approve

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// apiVersion and kind of an ApprovePolicy document.
const (
	APIVersion = "kctl-ctrl.dev/v1alpha1"
	Kind       = "ApprovePolicy"
)

// Policy is which writes are sent without approval. It comes from Parse and is not
// modified afterwards.
type Policy struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Allow are alternatives: a write is allowed if one rule matches it.
	Allow  []Rule `json:"allow"`
	Limits Limits `json:"limits,omitzero"`
}

// Rule matches writes that match all of its fields.
type Rule struct {
	// Controllers are names of controllers, or "*" for all.
	Controllers []string `json:"controllers"`
	// Verbs are those of the journal; there is no wildcard.
	Verbs []string `json:"verbs"`
	// Kinds are "Deployment", "Event.events.k8s.io" or "deployments.apps", each
	// including its status; other subresources are named: "pods/eviction". "*" is every
	// type with every subresource.
	Kinds []string `json:"kinds"`
	// Namespaces are patterns as in path.Match. ClusterScoped adds cluster-scoped
	// objects.
	Namespaces    []string `json:"namespaces,omitempty"`
	ClusterScoped bool     `json:"clusterScoped,omitempty"`

	line  int
	kinds []kindPattern
}

// Limits trip the circuit breaker when one would be exceeded; nil means none.
type Limits struct {
	// WritesPerMinute limits the writes sent within one minute.
	WritesPerMinute *int `json:"writesPerMinute,omitempty"`
	// DeletesInTotal limits the deletes and evictions since the start of the session or
	// the last release of the circuit breaker.
	DeletesInTotal *int `json:"deletesInTotal,omitempty"`
}

// Verbs are what a rule may allow, as in the journal.
func Verbs() []string {
	return []string{"create", "update", "patch", "apply", "delete", "deletecollection"}
}

// Concerns reports whether some write of a controller may be allowed.
func (p *Policy) Concerns(controller string) bool {
	return slices.ContainsFunc(p.Allow, func(r Rule) bool { return names(r.Controllers, controller) })
}

// covering describes the rule that allows a write, for the record.
func (p *Policy) covering(w subject) (rule string, ok bool) {
	if p == nil {
		return "", false
	}
	for i, r := range p.Allow {
		if r.covers(w) {
			return fmt.Sprintf("rule %d of the policy", i+1), true
		}
	}
	return "", false
}

// subject is what rules and approvals use of a write.
type subject struct {
	controller        string
	cause             state.Cause
	verb, subresource string
	object            state.Ref
	kind              string
	deletes           bool
}

func subjectOf(p guard.Pending) subject {
	return subject{
		controller: p.Controller(), cause: p.Cause(), verb: p.Verb(), subresource: p.Subresource(),
		object: p.Object(), kind: p.Kind(), deletes: p.Deletes(),
	}
}

func (r Rule) covers(w subject) bool {
	return names(r.Controllers, w.controller) && slices.Contains(r.Verbs, w.verb) && r.spans(w.object.Namespace) &&
		slices.ContainsFunc(r.kinds, func(k kindPattern) bool { return k.covers(w) })
}

func names(list []string, name string) bool {
	return slices.Contains(list, "*") || slices.Contains(list, name)
}

func (r Rule) spans(namespace string) bool {
	if namespace == "" {
		return r.ClusterScoped
	}
	return slices.ContainsFunc(r.Namespaces, func(pattern string) bool {
		match, err := path.Match(pattern, namespace)
		return err == nil && match
	})
}

// kindPattern is an entry of Rule.Kinds.
type kindPattern struct {
	any            bool
	kind, resource string // one of them
	group          string
	anyGroup       bool // of a kind without a group
	subresource    string
}

// readKind parses an entry, whether such a type exists or not.
func readKind(entry string) kindPattern {
	if entry == "*" {
		return kindPattern{any: true}
	}
	var k kindPattern
	entry, k.subresource, _ = strings.Cut(entry, "/")
	name, group, dotted := strings.Cut(entry, ".")
	k.group = group
	if name != "" && name[0] >= 'A' && name[0] <= 'Z' {
		k.kind, k.anyGroup = name, !dotted
	} else {
		k.resource = name
	}
	return k
}

func (k kindPattern) covers(w subject) bool {
	switch {
	case k.any:
		return true
	case !k.anyGroup && k.group != w.object.Group:
		return false
	case k.kind != "" && k.kind != w.kind, k.resource != "" && k.resource != w.object.Resource:
		return false
	}
	return k.subresource == w.subresource || k.subresource == "" && w.subresource == "status"
}
