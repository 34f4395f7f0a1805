package rights

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Mode is what a role is for.
type Mode string

// The modes, ordered by what they need.
const (
	Observe      Mode = "observe"
	DryRun       Mode = "dry-run"
	DryRunServer Mode = "dry-run=server"
	Active       Mode = "active"
)

// ParseMode parses a mode; "dry-run=client" is "dry-run".
func ParseMode(text string) (Mode, error) {
	switch m := Mode(text); m {
	case Observe, DryRun, DryRunServer, Active:
		return m, nil
	case "dry-run=client":
		return DryRun, nil
	}
	return "", fmt.Errorf("unknown mode %q: use observe, dry-run, dry-run=server or active", text)
}

// A Right is a permission: one verb on one resource.
type Right struct {
	Verb, Group string
	// Resource has its subresource after a slash: "deployments/status".
	Resource string
	// Name restricts it to one object; empty means all.
	Name string
	// Namespace is empty for the whole cluster.
	Namespace string
}

func (r Right) compare(o Right) int {
	return cmp.Or(
		cmp.Compare(r.Namespace, o.Namespace), cmp.Compare(r.Group, o.Group), cmp.Compare(r.Resource, o.Resource),
		cmp.Compare(r.Name, o.Name), cmp.Compare(r.Verb, o.Verb),
	)
}

// covers reports whether r includes o, by RBAC's rules (k8s.io/kubernetes v1.37.1
// pkg/apis/rbac/v1/evaluation_helpers.go).
func (r Right) covers(o Right) bool {
	resource := r.Resource == "*" || r.Resource == o.Resource
	if _, sub, has := strings.Cut(o.Resource, "/"); has && r.Resource == "*/"+sub {
		resource = true
	}
	return resource &&
		(r.Verb == "*" || r.Verb == o.Verb) &&
		(r.Group == "*" || r.Group == o.Group) &&
		(r.Name == "" || r.Name == o.Name) &&
		(r.Namespace == "" || r.Namespace == o.Namespace)
}

// A Need is a permission and what needs it: a controller by upstream's name, or a
// command of this program.
type Need struct {
	Right
	By string
}

// Loop describes a controller.
type Loop struct {
	Name string
	// Account is its ServiceAccount in kube-system; empty if upstream uses
	// kube-controller-manager's own.
	Account string
	// Informers are the types of its shared informers; ReadsAll reports that it has one
	// for each discovered type.
	Informers []schema.GroupVersionResource
	ReadsAll  bool
	// Rules are those of its bootstrap ClusterRole, NamespaceRules those of its Roles.
	Rules          []rbacv1.PolicyRule
	NamespaceRules map[string][]rbacv1.PolicyRule
}

// AccountNamespace is the namespace of the controllers' ServiceAccounts.
const AccountNamespace = "kube-system"

// Impersonation is the permission to impersonate a controller's ServiceAccount.
func Impersonation(account string) Right {
	return Right{Verb: "impersonate", Resource: "serviceaccounts", Name: account, Namespace: AccountNamespace}
}

// Lease is the Lease that active mode holds.
type Lease struct{ Namespace, Name string }

// Options are how controllers are run.
type Options struct {
	Mode Mode
	// Impersonate: controllers impersonate their ServiceAccounts.
	Impersonate bool
	// Lease is what active mode needs besides the controllers' permissions; nil if no
	// lease is held.
	Lease *Lease
}

// OfPreflight are the needs of package election before it becomes a candidate: if the
// Lease does not exist, the ConfigMap that every controller manager publishes, and
// besides another Lease than the component's usual one also that one.
func OfPreflight(l, usual Lease) []Need {
	var needs []Need
	if usual.Name == "kube-controller-manager" {
		needs = append(needs, Need{Right{Verb: "get", Resource: "configmaps", Name: "kube-root-ca.crt", Namespace: usual.Namespace}, "--active"})
	}
	if l != usual {
		needs = append(needs, Need{Right{Verb: "get", Group: "coordination.k8s.io", Resource: "leases", Name: usual.Name, Namespace: usual.Namespace}, "--active"})
	}
	return needs
}

// OfLoops are the needs of controllers that run in parallel.
func OfLoops(loops []Loop, o Options) []Need {
	var needs []Need
	for _, l := range loops {
		for _, r := range l.rights(o) {
			needs = append(needs, Need{r, l.Name})
		}
	}
	if o.Mode == DryRunServer {
		needs = append(needs, Need{Right{Verb: "list", Group: "apiregistration.k8s.io", Resource: "apiservices"}, "--dry-run=server"})
	}
	if o.Mode == Active && o.Lease != nil {
		// A create is authorized before there is a name.
		lease := Right{Group: "coordination.k8s.io", Resource: "leases", Namespace: o.Lease.Namespace}
		for verb, name := range map[string]string{"create": "", "get": o.Lease.Name, "update": o.Lease.Name} {
			lease.Verb, lease.Name = verb, name
			needs = append(needs, Need{lease, "--active"})
		}
	}
	return needs
}

func (l *Loop) rights(o Options) []Right {
	var out []Right
	on := func(group, resource string, verbs ...string) {
		for _, v := range verbs {
			out = append(out, Right{Verb: v, Group: group, Resource: resource})
		}
	}
	inform := []string{"list", "watch"}
	if o.Mode == Observe {
		inform = append(inform, "get") // an object is compared with the server's
	}
	for _, t := range l.Informers {
		on(t.Group, t.Resource, inform...)
	}
	if l.ReadsAll {
		on("*", "*", inform...)
	}
	if o.Mode == Observe {
		return out
	}
	impersonates := o.Impersonate && l.Account != ""
	if impersonates {
		out = append(out, Impersonation(l.Account))
	}
	for _, granted := range l.granted() {
		switch {
		case o.Mode == DryRun:
			if read, asked := guarded(granted); asked {
				out = append(out, read)
			}
			if !impersonates && passes(granted) {
				out = append(out, granted)
			}
		case !impersonates:
			out = append(out, granted)
		}
	}
	return out
}

// granted are the individual permissions of the controller's roles.
func (l *Loop) granted() []Right {
	out := expand(l.Rules, "")
	for namespace, rules := range l.NamespaceRules {
		out = append(out, expand(rules, namespace)...)
	}
	slices.SortFunc(out, Right.compare)
	return slices.Compact(out)
}

func expand(rules []rbacv1.PolicyRule, namespace string) []Right {
	var out []Right
	for _, rule := range rules {
		names := rule.ResourceNames
		if len(names) == 0 {
			names = []string{""}
		}
		for _, group := range rule.APIGroups {
			if group == "extensions" {
				continue
			}
			for _, resource := range rule.Resources {
				for _, verb := range rule.Verbs {
					for _, name := range names {
						out = append(out, Right{verb, group, resource, name, namespace})
					}
				}
			}
		}
	}
	return out
}

// passes reports whether a request with this permission is sent in a client-side dry
// run.
func passes(r Right) bool {
	switch r.Verb {
	case "get", "list", "watch":
		return true
	case "create":
		return r.Group == "authorization.k8s.io" || r.Group == "authentication.k8s.io"
	}
	return false
}

// guarded is the GET that reconcile/guard may send to answer a write with permission r:
// of the object itself, except for a scale, which is an object of its own.
func guarded(r Right) (Right, bool) {
	resource, sub, _ := strings.Cut(r.Resource, "/")
	read := r
	read.Verb, read.Resource = "get", resource
	switch {
	case sub == "finalizers" || sub == "restricted":
		return Right{}, false // admission checks these; no request is sent for them
	case r.Verb == "update", r.Verb == "patch":
		if sub == "scale" {
			read.Resource = r.Resource
		}
		return read, true
	case r.Verb == "delete":
		return read, true
	case r.Verb == "create" && (sub == "binding" || sub == "eviction"):
		return read, true
	}
	return Right{}, false
}
