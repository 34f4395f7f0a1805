package controllers

import (
	"slices"
	"strings"
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	featuregatetesting "k8s.io/component-base/featuregate/testing"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/plugin/pkg/auth/authorizer/rbac/bootstrappolicy"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/rights"
)

// Each controller has an account, each account a role of upstream's, and each of
// upstream's roles a controller, with all gates on that controllers need.
func TestAccounts(t *testing.T) {
	for _, r := range Descriptors() {
		for _, g := range r.Gates {
			if !enabled(g) {
				featuregatetesting.SetFeatureGateDuringTest(t, utilfeature.DefaultFeatureGate, g, true)
			}
		}
	}
	roles := map[string]bool{}
	for _, role := range bootstrappolicy.ControllerRoles() {
		roles[role.Name] = false
	}
	for _, local := range bootstrappolicy.NamespaceRoles() {
		for _, role := range local {
			if strings.HasPrefix(role.Name, rolePrefix) {
				roles[role.Name] = false
			}
		}
	}
	for _, r := range Descriptors() {
		role := rolePrefix + r.Account
		switch _, exists := roles[role]; {
		case r.Account == "" && r.Name == names.ServiceAccountTokenController:
		case !exists:
			t.Errorf("%s: upstream has no role %s", r.Name, role)
		default:
			roles[role] = true
		}
	}
	// Those of k8s.io/cloud-provider are not built in.
	for _, cloud := range []string{"service-controller", "route-controller", "cloud-provider"} {
		delete(roles, rolePrefix+cloud)
	}
	for role, used := range roles {
		if !used {
			t.Errorf("no controller has the role %s", role)
		}
	}
}

// With its role and its informers, a loop may read all that the table says, and
// what it may do active covers the other modes.
func TestRightsOfAllLoops(t *testing.T) {
	component, err := options.NewDefaultComponentConfig()
	if err != nil {
		t.Fatal(err)
	}
	component.Generic.Controllers = []string{"*", names.BootstrapSignerController, names.TokenCleanerController, names.SELinuxWarningController}
	component.SAController.ServiceAccountKeyFile = "a-key"
	loops, off, err := Rights(&component, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, text := range off {
		if !strings.Contains(text, "feature gate") && !strings.Contains(text, "--") {
			t.Errorf("off for an unexpected reason: %s", text)
		}
	}
	if len(loops)+len(off) != len(Descriptors()) {
		t.Errorf("%d loops and %d off make %d, not %d", len(loops), len(off), len(loops)+len(off), len(Descriptors()))
	}
	for _, l := range loops {
		if len(l.Rules) == 0 && len(l.NamespaceRules) == 0 {
			t.Errorf("%s has no rule", l.Name)
		}
		all := map[rights.Mode][]rights.Rule{}
		for _, mode := range []rights.Mode{rights.Observe, rights.DryRun, rights.DryRunServer, rights.Active} {
			all[mode] = rights.Merge(rights.OfLoops([]rights.Loop{l}, rights.Options{Mode: mode}))
			for _, rule := range all[mode] {
				if slices.Contains(rule.Groups, "extensions") {
					t.Errorf("%s, %s: a right in the group extensions", l.Name, mode)
				}
				for _, verb := range rule.Verbs {
					if mode == rights.DryRun && verb != "get" && verb != "list" && verb != "watch" && !strings.HasSuffix(rule.Resources[0], "reviews") {
						t.Errorf("%s may %s %s in a dry run", l.Name, verb, rule.What())
					}
				}
			}
		}
	}
}

func TestRightsInNamespace(t *testing.T) {
	component, err := options.NewDefaultComponentConfig()
	if err != nil {
		t.Fatal(err)
	}
	component.Generic.Controllers = []string{"deployment", "namespace"}
	loops, off, err := Rights(&component, "shop")
	if err != nil {
		t.Fatal(err)
	}
	if len(loops) != 1 || loops[0].Name != names.DeploymentController {
		t.Errorf("loops in a namespace: %v", loops)
	}
	if want := []string{"namespace-controller (it works on the whole cluster and would see namespace shop only)"}; !slices.Equal(off, want) {
		t.Errorf("off: %q, want %q", off, want)
	}
	component.Generic.Controllers = []string{"deploymint"}
	if _, _, err := Rights(&component, ""); err == nil {
		t.Error("an unknown controller is no error")
	}
}

// Only the clients of the controllers act as accounts.
func TestImpersonation(t *testing.T) {
	cluster := newEmptyCluster(t)
	c := clients{base: cluster.config(), impersonate: true}
	for name, want := range map[string]string{
		names.DeploymentController:          "system:serviceaccount:kube-system:deployment-controller",
		names.TaintEvictionController:       "system:serviceaccount:kube-system:node-controller",
		names.ServiceAccountTokenController: "",
		"shared-informers":                  "",
		"metadata-informers":                "",
		"controller-discovery":              "",
		"access-review":                     "",
	} {
		config, err := c.Config(name)
		if err != nil {
			t.Fatal(err)
		}
		if got := config.Impersonate.UserName; got != want {
			t.Errorf("%s acts as %q, want %q", name, got, want)
		}
		c := c
		c.impersonate = false
		if config, _ := c.Config(name); config.Impersonate.UserName != "" {
			t.Errorf("%s acts as %q unasked", name, config.Impersonate.UserName)
		}
	}
}
