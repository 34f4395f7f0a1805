package approve

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/kube-openapi/pkg/validation/spec"
	"k8s.io/kube-openapi/pkg/validation/strfmt"
	"k8s.io/kube-openapi/pkg/validation/validate"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const head = "apiVersion: kctl-ctrl.dev/v1alpha1\nkind: ApprovePolicy\n"

const goodRule = "allow:\n- controllers: [replicaset]\n  verbs: [create]\n  kinds: [Pod]\n  namespaces: [shop]\n"

// cases are documents and what is wrong with them; nothing where they are good.
// known: only Parse can know, a schema cannot.
var cases = []struct {
	name, text string
	want       string
	known      bool
}{
	{name: "good", text: head + goodRule},
	{name: "JSON", text: `{"apiVersion":"kctl-ctrl.dev/v1alpha1","kind":"ApprovePolicy","allow":[],"limits":{"writesPerMinute":1,"deletesInTotal":0}}`},
	{name: "cluster-scoped only", text: head + "allow:\n- {controllers: ['*'], verbs: [delete], kinds: ['*'], clusterScoped: true}\n"},
	{name: "custom resource", text: head + "allow:\n- {controllers: ['*'], verbs: [delete], kinds: [widgets.example.com], namespaces: ['*']}\n"},
	{name: "empty", text: "", want: "policy.yaml: empty file", known: true},
	{name: "comment", text: "# nothing\n", want: "policy.yaml: empty file", known: true},
	{name: "a list", text: "- a\n", want: "policy.yaml:1: the policy must be an object, not a list"},
	{name: "other kind", text: "apiVersion: v1\nkind: Pod\nallow: []\n", want: "policy.yaml:1: \"v1\" is not supported: use kctl-ctrl.dev/v1alpha1\npolicy.yaml:2: \"Pod\" is not supported: use ApprovePolicy"},
	{name: "later version", text: "apiVersion: kctl-ctrl.dev/v1\nkind: ApprovePolicy\nallow: []\n", want: "policy.yaml:1:"},
	{name: "no rules", text: head, want: `policy.yaml:1: the policy: missing required field "allow"`},
	{name: "unknown field", text: head + goodRule + "limit: {}\n", want: `policy.yaml:8: the policy: unknown field "limit": did you mean "limits"?`},
	{name: "unknown field of a rule", text: head + goodRule + "  verbs2: [x]\n", want: `policy.yaml:8: rule 1: unknown field "verbs2": known fields are clusterScoped, controllers, kinds, namespaces, verbs`},
	{name: "field twice", text: head + goodRule + "  verbs: [patch]\n", want: `policy.yaml:8: rule 1: duplicate field "verbs", first set on line 5`, known: true},
	{name: "lacking", text: head + "allow:\n- controllers: ['*']\n  kinds: [Pod]\n  namespaces: ['*']\n", want: `policy.yaml:4: rule 1: missing required field "verbs"`},
	{name: "no namespace", text: head + "allow:\n- {controllers: ['*'], verbs: [create], kinds: [Pod]}\n", want: "policy.yaml:4: rule 1 matches no namespace"},
	{name: "clusterScoped false", text: head + "allow:\n- {controllers: ['*'], verbs: [create], kinds: [Pod], clusterScoped: false}\n", want: "policy.yaml:4: rule 1 matches no namespace"},
	{name: "text for a list", text: head + "allow:\n- {controllers: '*', verbs: [create], kinds: [Pod], namespaces: ['*']}\n", want: `policy.yaml:4: rule 1: controllers must be a list, not the string "*"`},
	{name: "empty list", text: head + "allow:\n- {controllers: [], verbs: [create], kinds: [Pod], namespaces: ['*']}\n", want: "policy.yaml:4: rule 1: controllers is empty: the rule matches nothing"},
	{name: "number for a text", text: head + "allow:\n- {controllers: [1], verbs: [create], kinds: [Pod], namespaces: ['*']}\n", want: "policy.yaml:4: expected a string, got 1: put it in quotes"},
	{name: "no is false", text: head + "allow:\n- {controllers: ['*'], verbs: [create], kinds: [Pod], namespaces: [false]}\n", want: "expected a string, got false"},
	{name: "twice", text: head + "allow:\n- {controllers: ['*'], verbs: [create, create], kinds: [Pod], namespaces: ['*']}\n", want: `policy.yaml:4: duplicate value "create"`},
	{name: "unknown verb", text: head + "allow:\n- controllers: ['*']\n  verbs:\n  - create\n  - '*'\n  kinds: [Pod]\n  namespaces: ['*']\n", want: `policy.yaml:7: "*" is not a valid verb: use create, update, patch, apply, delete, deletecollection`},
	{name: "unknown controller", text: head + "allow:\n- {controllers: [replicasets], verbs: [create], kinds: [Pod], namespaces: ['*']}\n", want: "policy.yaml:4: unknown controller replicasets", known: true},
	{name: "unknown kind", text: head + "allow:\n- {controllers: ['*'], verbs: [create], kinds: [Pods], namespaces: ['*']}\n", want: `"Pods" is not a Kubernetes kind: did you mean Pod?`, known: true},
	{name: "resource without its group", text: head + "allow:\n- {controllers: ['*'], verbs: [create], kinds: [deployments], namespaces: ['*']}\n", want: `unknown kind "deployments": did you mean deployments.apps`, known: true},
	{name: "unknown resource", text: head + "allow:\n- {controllers: ['*'], verbs: [create], kinds: [widgets.apps], namespaces: ['*']}\n", want: `"widgets.apps" is not a Kubernetes resource`, known: true},
	{name: "a list of objects", text: head + "allow:\n- {controllers: ['*'], verbs: [create], kinds: [PodList], namespaces: ['*']}\n", want: `"PodList" is not a Kubernetes kind`, known: true},
	{name: "namespace in capitals", text: head + "allow:\n- {controllers: ['*'], verbs: [create], kinds: [Pod], namespaces: [Default]}\n", want: `policy.yaml:4: "Default" is not a valid namespace name: a lowercase`, known: true},
	{name: "namespace pattern", text: head + "allow:\n- {controllers: ['*'], verbs: [create], kinds: [Pod], namespaces: ['[a']}\n", want: `"[a" is not a valid namespace pattern`, known: true},
	{name: "limit of nothing", text: head + goodRule + "limits: {writesPerMinute: 0}\n", want: "policy.yaml:8: writesPerMinute: 0 is less than the minimum of 1"},
	{name: "negative", text: head + goodRule + "limits: {deletesInTotal: -1}\n", want: "policy.yaml:8: deletesInTotal: -1 is less than the minimum of 0"},
	{name: "limit as text", text: head + goodRule + "limits: {deletesInTotal: '1'}\n", want: `policy.yaml:8: deletesInTotal: expected an integer, got the string "1"`},
	{name: "limit of halves", text: head + goodRule + "limits: {deletesInTotal: 1.5}\n", want: "policy.yaml:8: deletesInTotal: expected an integer, got 1.5"},
	{name: "collections and a limit", text: head + "limits: {deletesInTotal: 1}\nallow:\n- {controllers: ['*'], verbs: [deletecollection], kinds: [Pod], namespaces: ['*']}\n", want: "policy.yaml:5: rule 1 allows deletecollection, whose deletes limits.deletesInTotal cannot count", known: true},
	{name: "two documents", text: head + goodRule + "---\n" + head + goodRule, want: "more than one document", known: true},
	{name: "alias", text: head + "allow:\n- {controllers: &a ['*'], verbs: [create], kinds: *a, clusterScoped: true}\n", want: `policy.yaml:4: "kinds": YAML aliases are not supported`, known: true},
	{name: "merge", text: head + "allow: []\n<<: {limits: {}}\n", want: `the policy: unknown field "<<"`, known: true},
	{name: "no YAML", text: head + "allow: [\n", want: "policy.yaml:"},
	{name: "hostile", text: head + "allow: []\n\"\\e]0;x\\a\": 1\n", want: "policy.yaml:4: the policy: unknown field"},
}

func TestParse(t *testing.T) {
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			p, err := Parse("policy.yaml", []byte(c.text), knownController)
			if c.want == "" {
				if err != nil || p.APIVersion != APIVersion || p.Kind != Kind {
					t.Fatalf("got %+v, %v", p, err)
				}
				return
			}
			var problems Problems
			if !errors.As(err, &problems) || !strings.Contains(err.Error(), c.want) || p != nil {
				t.Errorf("got %v, want %s", err, c.want)
			}
			for _, problem := range problems {
				if problem.Text != state.OneLine(problem.Text) {
					t.Errorf("%q is not inert", problem.Text)
				}
			}
		})
	}
}

// The schema says yes and no where Parse does, but for what it cannot know.
func TestSchemaAgrees(t *testing.T) {
	var schema spec.Schema
	if err := json.Unmarshal(Schema(), &schema); err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		var document any
		if err := yaml.Unmarshal([]byte(c.text), &document); err != nil || document == nil {
			continue
		}
		result := validate.NewSchemaValidator(&schema, nil, "", strfmt.Default).Validate(document)
		if want := c.want == "" || c.known; result.IsValid() != want {
			t.Errorf("%s: valid %v, want %v: %v", c.name, result.IsValid(), want, result.Errors)
		}
	}
}

func TestSchemaIsPublished(t *testing.T) {
	file := filepath.Join("..", "..", "docs", "approvepolicy.schema.json")
	if *update {
		if err := os.WriteFile(file, Schema(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	published, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if string(published) != string(Schema()) {
		t.Errorf("%s is not the schema; if the change is meant, run go test with -update", file)
	}
}

// Each field of a rule narrows it.
func TestRulesCover(t *testing.T) {
	deployment := subject{controller: "deployment-controller", verb: "update", kind: "Deployment",
		object: state.Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web"}}
	with := func(change func(*subject)) subject {
		s := deployment
		change(&s)
		return s
	}
	cases := map[string]struct {
		rule string
		of   subject
		want bool
	}{
		"it":                       {"[deployment], [update], [Deployment], [shop]", deployment, true},
		"full name":                {"[deployment-controller], [update], [deployments.apps], [shop]", deployment, true},
		"kind and group":           {"['*'], [update], [Deployment.apps], ['*']", deployment, true},
		"everything":               {"['*'], [update], ['*'], ['*']", deployment, true},
		"another controller":       {"[replicaset], [update], ['*'], ['*']", deployment, false},
		"another verb":             {"['*'], [patch, apply], ['*'], ['*']", deployment, false},
		"another kind":             {"['*'], [update], [ReplicaSet], ['*']", deployment, false},
		"another namespace":        {"['*'], [update], ['*'], [sho, 'shop?']", deployment, false},
		"a pattern":                {"['*'], [update], ['*'], ['sh*']", deployment, true},
		"its status":               {"['*'], [update], [Deployment], ['*']", with(func(s *subject) { s.subresource = "status" }), true},
		"another subresource":      {"['*'], [update], [Deployment], ['*']", with(func(s *subject) { s.subresource = "scale" }), false},
		"a named subresource":      {"['*'], [update], [deployments.apps/scale], ['*']", with(func(s *subject) { s.subresource = "scale" }), true},
		"only that subresource":    {"['*'], [update], [Deployment/scale], ['*']", deployment, false},
		"any subresource":          {"['*'], [update], ['*'], ['*']", with(func(s *subject) { s.subresource = "scale" }), true},
		"in no namespace":          {"['*'], [update], ['*'], ['*']", with(func(s *subject) { s.object.Namespace = "" }), false},
		"a custom resource's kind": {"['*'], [update], [Deployment], ['*']", with(func(s *subject) { s.object.Group, s.kind = "example.com", "" }), false},
	}
	for name, c := range cases {
		parts := strings.Split(c.rule, "], ")
		text := "allow:\n- controllers: " + parts[0] + "]\n  verbs: " + parts[1] + "]\n  kinds: " + parts[2] + "]\n  namespaces: " + parts[3] + "\n"
		if _, got := policyOf(t, text).covering(c.of); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	p := policyOf(t, "allow:\n- {controllers: [namespace], verbs: [update], kinds: [Namespace/finalize], clusterScoped: true}\n")
	finalize := subject{controller: "namespace-controller", verb: "update", kind: "Namespace", subresource: "finalize", object: state.Ref{Version: "v1", Resource: "namespaces", Name: "shop"}}
	if _, ok := p.covering(finalize); !ok || !p.Concerns("namespace-controller") || p.Concerns("job-controller") {
		t.Error("a rule for what is in no namespace does not cover it")
	}
}
