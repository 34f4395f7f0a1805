package rights

import (
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func policy(groups, resources string, verbs ...string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{APIGroups: strings.Split(groups, ","), Resources: strings.Split(resources, ","), Verbs: verbs}
}

// Loops that have all that roles of upstream's have: a group that is gone,
// subresources, names, namespaces, reviews, wildcards.
func loops() []Loop {
	events := policy(",events.k8s.io", "events", "create", "update", "patch")
	return []Loop{{
		Name: "deployment-controller", Account: "deployment-controller",
		Informers: []schema.GroupVersionResource{
			{Group: "apps", Version: "v1", Resource: "deployments"}, {Group: "apps", Version: "v1", Resource: "replicasets"}, {Version: "v1", Resource: "pods"},
		},
		Rules: []rbacv1.PolicyRule{
			policy("extensions,apps", "deployments", "get", "list", "watch", "update"),
			policy("extensions,apps", "deployments/status,deployments/finalizers", "update"),
			policy("apps", "replicasets", "get", "create", "delete"),
			events,
		},
	}, {
		Name: "replicaset-controller", Account: "replicaset-controller",
		Informers: []schema.GroupVersionResource{{Group: "apps", Version: "v1", Resource: "replicasets"}, {Version: "v1", Resource: "pods"}},
		Rules:     []rbacv1.PolicyRule{policy("apps", "replicasets/status", "update"), policy("", "pods", "create", "delete", "list"), events},
	}, {
		Name: "scaler", Account: "scaler", Informers: []schema.GroupVersionResource{{Version: "v1", Resource: "nodes"}},
		Rules: []rbacv1.PolicyRule{
			policy("*", "*/scale", "get", "update"), policy("", "pods/binding,pods/eviction", "create"),
			policy("authorization.k8s.io", "subjectaccessreviews", "create"),
			{APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"b", "a"}, Verbs: []string{"get"}},
			{APIGroups: []string{"certificates.k8s.io"}, Resources: []string{"signers"}, ResourceNames: []string{"s"}, Verbs: []string{"sign"}},
		},
		NamespaceRules: map[string][]rbacv1.PolicyRule{"kube-public": {{
			APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{"cluster-info"}, Verbs: []string{"update"},
		}}},
	}, {
		Name: "tokens", Informers: []schema.GroupVersionResource{{Version: "v1", Resource: "secrets"}},
		Rules: []rbacv1.PolicyRule{policy("", "secrets", "get", "update", "delete")},
	}}
}

func TestRoles(t *testing.T) {
	lease := &Lease{Namespace: "kube-system", Name: "kube-controller-manager"}
	collector := Loop{Name: "collector", ReadsAll: true, Rules: []rbacv1.PolicyRule{policy("*", "*", "get", "list", "watch", "patch", "delete")}}
	for name, c := range map[string]struct {
		loops     []Loop
		options   Options
		namespace string
		verbs     []string
	}{
		"observe":             {loops: loops(), options: Options{Mode: Observe}},
		"dry-run":             {loops: loops(), options: Options{Mode: DryRun}},
		"dry-run-server":      {loops: loops(), options: Options{Mode: DryRunServer}},
		"active":              {loops: loops(), options: Options{Mode: Active, Lease: lease}},
		"active-no-lease":     {loops: loops()[:1], options: Options{Mode: Active}},
		"dry-run-namespace":   {loops: loops(), options: Options{Mode: DryRun}, namespace: "shop"},
		"dry-run-accounts":    {loops: loops(), options: Options{Mode: DryRun, Impersonate: true}},
		"active-accounts":     {loops: loops(), options: Options{Mode: Active, Impersonate: true, Lease: lease}},
		"active-every-type":   {loops: append(loops(), collector), options: Options{Mode: Active, Lease: lease}},
		"verbs":               {verbs: []string{"leases", "revisions"}},
		"verbs-of-every-type": {verbs: Verbs()},
	} {
		t.Run(name, func(t *testing.T) {
			needs, err := OfVerbs(c.verbs)
			if err != nil {
				t.Fatal(err)
			}
			roles := Roles("test", Merge(Confine(append(needs, OfLoops(c.loops, c.options)...), c.namespace)))
			got, err := YAML(roles, []rbacv1.Subject{{Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "jane"}})
			if err != nil {
				t.Fatal(err)
			}
			golden(t, name+".yaml", got)
		})
	}
}

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s (- want, + got; -update rewrites it):\n%s", path, diff)
	}
}

// Another lease is not taken without a look at the usual one.
func TestPreflight(t *testing.T) {
	for lease, want := range map[Lease]string{
		{"kube-system", "kube-controller-manager"}: "get configmaps kube-root-ca.crt",
		{"kube-system", "other"}:                   "get configmaps kube-root-ca.crt, get leases.coordination.k8s.io kube-controller-manager",
	} {
		var got []string
		for _, rule := range Merge(OfPreflight(lease, Lease{"kube-system", "kube-controller-manager"})) {
			got = append(got, strings.Join(rule.Verbs, ", ")+" "+rule.What())
		}
		if text := strings.Join(got, ", "); text != want {
			t.Errorf("%v: %s, want %s", lease, text, want)
		}
	}
}

// The two forms are the same roles; JSON has the comments as an annotation.
func TestFormsAreTheSame(t *testing.T) {
	roles := Roles("test", Merge(OfLoops(loops(), Options{Mode: Active, Lease: &Lease{"kube-system", "x"}})))
	text, err := YAML(roles, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, err := yaml.Marshal(List(roles, nil))
	if err != nil {
		t.Fatal(err)
	}
	var fromList struct{ Items []map[string]any }
	if err := yaml.Unmarshal(list, &fromList); err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "---\n")
	if len(documents) != len(fromList.Items) || len(documents) != 3 {
		t.Fatalf("%d documents and %d items, want 3", len(documents), len(fromList.Items))
	}
	for i, document := range documents {
		var want map[string]any
		if err := yaml.Unmarshal([]byte(document), &want); err != nil {
			t.Fatal(err)
		}
		meta := fromList.Items[i]["metadata"].(map[string]any)
		notes, _ := meta["annotations"].(map[string]any)[NeededByAnnotation].(string)
		if lines := strings.Count(notes, "\n") + 1; lines != len(roles[i].Rules) || lines != strings.Count(document, "\n# ") {
			t.Errorf("%d rules, %d notes, %d comments", len(roles[i].Rules), lines, strings.Count(document, "\n# "))
		}
		delete(meta, "annotations")
		if diff := cmp.Diff(want, fromList.Items[i]); diff != "" {
			t.Errorf("document %d (- YAML, + JSON):\n%s", i, diff)
		}
	}
}

// Whatever is needed: the merged rules grant all of it and nothing else, have
// nothing that could be dropped, name all who need it, and do not depend on the
// order.
func TestMergeGrantsExactlyTheNeeds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pick := func(of ...string) string { return of[random.IntN(len(of))] }
	for range 2000 {
		var needs []Need
		for range 1 + random.IntN(12) {
			needs = append(needs, Need{Right{
				Verb: pick("get", "list", "update", "*"), Group: pick("", "apps", "*"),
				Resource: pick("pods", "pods/status", "pods/scale", "sets", "*", "*/scale"),
				Name:     pick("", "", "", "a", "b"), Namespace: pick("", "", "shop", "kube-system"),
			}, pick("one", "two", "three")})
		}
		rules := Merge(needs)
		var granted []Right
		for _, rule := range rules {
			granted = append(granted, rule.Rights()...)
		}
		asked := func(r Right) bool {
			return slices.ContainsFunc(needs, func(n Need) bool { return n.Right == r })
		}
		for i, r := range granted {
			if !asked(r) {
				t.Fatalf("%+v is granted and nobody asked\nneeds %+v\nrules %+v", r, needs, rules)
			}
			for j, other := range granted {
				if i != j && other.covers(r) {
					t.Fatalf("%+v is granted by %+v too\nneeds %+v\nrules %+v", r, other, needs, rules)
				}
			}
		}
		for _, n := range needs {
			if !slices.ContainsFunc(granted, func(r Right) bool { return r.covers(n.Right) }) {
				t.Fatalf("%+v is not granted\nrules %+v", n, rules)
			}
			named := slices.ContainsFunc(rules, func(rule Rule) bool {
				return slices.Contains(rule.Rights(), n.Right) && slices.ContainsFunc(rule.Needs, func(r RuleNeed) bool {
					return r.By == n.By && slices.Contains(r.Verbs, n.Verb)
				})
			})
			if slices.Contains(granted, n.Right) && !named {
				t.Fatalf("%+v is granted, but not for %s\nrules %+v", n.Right, n.By, rules)
			}
		}
		random.Shuffle(len(needs), func(i, j int) { needs[i], needs[j] = needs[j], needs[i] })
		if diff := cmp.Diff(rules, Merge(needs)); diff != "" {
			t.Fatalf("the rules depend on the order of %+v:\n%s", needs, diff)
		}
	}
}

func TestOnly(t *testing.T) {
	rules := Merge(OfLoops(loops()[:2], Options{Mode: Active}))
	lacks := Only(rules, []Right{{Verb: "delete", Resource: "pods"}, {Verb: "update", Group: "apps", Resource: "deployments/status"}})
	var got []string
	for _, rule := range lacks {
		got = append(got, strings.Join(rule.Verbs, ",")+" "+rule.What()+": "+rule.NeededBy())
	}
	want := []string{"delete pods: replicaset-controller", "update deployments.apps/status: deployment-controller"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]Mode{"observe": Observe, "dry-run": DryRun, "dry-run=client": DryRun, "dry-run=server": DryRunServer, "active": Active} {
		if got, err := ParseMode(text); err != nil || got != want {
			t.Errorf("mode %s: %q, %v", text, got, err)
		}
	}
	for text, want := range map[string]rbacv1.Subject{
		"user:jane":                   {Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "jane"},
		"user:oidc:jane":              {Kind: "User", APIGroup: "rbac.authorization.k8s.io", Name: "oidc:jane"},
		"group:ops":                   {Kind: "Group", APIGroup: "rbac.authorization.k8s.io", Name: "ops"},
		"serviceaccount:shop:watcher": {Kind: "ServiceAccount", Namespace: "shop", Name: "watcher"},
	} {
		if got, err := ParseSubject(text); err != nil || got != want {
			t.Errorf("subject %s: %+v, %v", text, got, err)
		}
	}
	for _, bad := range []string{"", "jane", "user:", "group:", "serviceaccount:shop", "serviceaccount::x", "serviceaccount:shop:", "robot:x"} {
		if _, err := ParseSubject(bad); err == nil {
			t.Errorf("subject %q is no error", bad)
		}
	}
	if _, err := ParseMode("dry"); err == nil {
		t.Error("mode dry is no error")
	}
	if _, err := OfVerbs([]string{"leases", "elevators"}); err == nil {
		t.Error("the verb elevators is no error")
	}
}
