package controllers

import (
	"fmt"
	"slices"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apiserver/pkg/authentication/serviceaccount"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

// rolePrefix and an account's name make the name of its bootstrap role.
const rolePrefix = "system:controller:"

// tokenRules stand for the role that the token controller does not have: what it
// does (k8s.io/kubernetes v1.37.1 pkg/controller/serviceaccount/tokens_controller.go)
// of what system:kube-controller-manager may.
var tokenRules = []rbacv1.PolicyRule{{
	APIGroups: []string{""}, Resources: []string{"secrets"}, Verbs: []string{"get", "update", "delete"},
}, {
	APIGroups: []string{""}, Resources: []string{"serviceaccounts"}, Verbs: []string{"get", "update"},
}}

// accountUser is the user of the named controller; empty where it has none, and for a
// client of another name.
func accountUser(controller string) string {
	all := Descriptors()
	i := slices.IndexFunc(all, func(d Descriptor) bool { return d.Name == controller })
	if i < 0 {
		return ""
	}
	return all[i].user()
}

// user is the name of the controller's account as a user; empty where it has none.
func (d *Descriptor) user() string {
	if d.Account == "" {
		return ""
	}
	return serviceaccount.MakeUsername(rights.AccountNamespace, d.Account)
}

// Rights describes what the selected controllers need of an API server, by
// upstream's bootstrap roles and the informers, with the feature gates of this
// process as they are. off tells of those that were asked for by --controllers and
// cannot run with this configuration, each with the reason. A namespace confines
// them as Config.Namespace does.
func Rights(component *kubectrlmgrconfig.KubeControllerManagerConfiguration, namespace string) (loops []rights.Loop, off []string, err error) {
	descriptors := Descriptors()
	selected, err := choose(descriptors, component.Generic.Controllers)
	if err != nil {
		return nil, nil, err
	}
	f := &facts{component: component, hasRootCA: true, selected: func(name string) bool { return selected[name] }}
	roles := map[string][]rbacv1.PolicyRule{}
	for _, role := range bootstrappolicy.ControllerRoles() {
		roles[role.Name] = role.Rules
	}
	for _, d := range descriptors {
		switch reason := d.off(f); {
		case !selected[d.Name]:
		case reason != "":
			off = append(off, fmt.Sprintf("%s (%s)", d.Name, reason))
		case namespace != "" && !d.NamespaceSafe:
			off = append(off, fmt.Sprintf("%s (%s)", d.Name, wholeCluster(namespace)))
		default:
			loops = append(loops, d.rights(roles))
		}
	}
	return loops, off, nil
}

// NotServed tells which of the controllers cannot run because the API server lacks a
// type that they read, each with the reason.
func NotServed(client discovery.DiscoveryInterface, loops []rights.Loop) (off []string, err error) {
	offers, err := discover(memory.NewMemCacheClient(client))
	if err != nil {
		return nil, err
	}
	for _, l := range loops {
		if reason := offers.missing(l.Informers); reason != "" {
			off = append(off, fmt.Sprintf("%s (%s)", l.Name, reason))
		}
	}
	return off, nil
}

func (d *Descriptor) rights(roles map[string][]rbacv1.PolicyRule) rights.Loop {
	l := rights.Loop{
		Name: d.Name, Account: d.Account, Informers: d.informers(), ReadsAll: d.ReadsAll,
		NamespaceRules: map[string][]rbacv1.PolicyRule{},
	}
	if l.Account == "" {
		l.Rules = tokenRules
		return l
	}
	l.Rules = roles[rolePrefix+l.Account]
	for namespace, local := range bootstrappolicy.NamespaceRoles() {
		for _, role := range local {
			if role.Name == rolePrefix+l.Account {
				l.NamespaceRules[namespace] = append(l.NamespaceRules[namespace], role.Rules...)
			}
		}
	}
	return l
}
