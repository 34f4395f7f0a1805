package plan

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// probed answers a dry run as an API server does that compiles policies some time
// after they were written: by the third question.
func (s *fakeServer) probed(w http.ResponseWriter, path string) {
	s.asked["probe"]++
	if s.asked["probe"]%3 != 0 {
		s.answer(w, map[string]any{"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration", "metadata": map[string]any{"name": "exempt"}})
		return
	}
	denied := ""
	for known, o := range s.objects {
		kind, name, _ := strings.Cut(known, "/")
		parameter := fieldText(o, "spec", "paramRef", "name")
		switch version := fieldText(s.objects["configmaps/"+parameter+"/shop"], "metadata", "resourceVersion"); {
		case kind == "validatingadmissionpolicybindings" && strings.HasPrefix(name, "kctl-ctrl-"):
			text := fmt.Sprintf("Validation failed for ValidatingAdmissionPolicy '%s' with binding '%s': %s", name, name, name)
			if parameter != "" {
				text += " resourceVersion " + version
			}
			w.Header().Add("Warning", fmt.Sprintf("299 - %q", text))
		case kind == "mutatingadmissionpolicybindings" && strings.HasPrefix(name, "kctl-ctrl-"):
			denied = fmt.Sprintf("policy '%s' with binding '%s' denied request: JSON Patch: no", name, name)
		}
	}
	s.writes = append(s.writes, "in force")
	if denied != "" {
		s.status(w, 422, denied)
		return
	}
	s.answer(w, map[string]any{"apiVersion": "flowcontrol.apiserver.k8s.io/v1", "kind": "PriorityLevelConfiguration", "metadata": map[string]any{"name": "exempt"}})
}

const policySet = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicyBinding
metadata: {name: team}
spec: {policyName: team}
---
apiVersion: admissionregistration.k8s.io/v1
kind: MutatingAdmissionPolicy
metadata: {name: team}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: max}
spec: {policyName: max, paramRef: {name: limits, namespace: shop}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: max}
spec: {paramKind: {apiVersion: v1, kind: ConfigMap}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: limits, namespace: shop}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: other, namespace: shop}
`

func TestPoliciesAreInForceBeforeTheRest(t *testing.T) {
	server, cluster := newFakeServer(t)
	if _, err := cluster.Apply(t.Context(), mustParse(t, policySet), Options{}); err != nil {
		t.Fatal(err)
	}
	var order []string
	for _, write := range server.writes {
		switch {
		case strings.HasSuffix(write, "policybindings/max"), strings.HasSuffix(write, "policybindings/team"),
			strings.HasPrefix(write, "apply configmaps"), strings.HasPrefix(write, "apply deployments"), write == "in force":
			order = append(order, write)
		}
	}
	slices.Sort(order[1:3]) // one phase
	want := []string{
		"apply configmaps/limits/shop", // the parameter
		"apply mutatingadmissionpolicybindings/team", "apply validatingadmissionpolicybindings/max",
		"in force", "in force", // one kind of policy after the other
		"apply configmaps/other/shop", "apply deployments/web/shop",
	}
	if !slices.Equal(order, want) {
		t.Errorf("got %q\nwant %q", order, want)
	}
	for path := range server.objects {
		if strings.Contains(path, "kctl-ctrl") {
			t.Errorf("%s is left", path)
		}
	}

	// What is in force already is not waited for.
	asked := server.asked["probe"]
	if _, err := cluster.Apply(t.Context(), mustParse(t, policySet), Options{}); err != nil {
		t.Fatal(err)
	}
	if server.asked["probe"] != asked {
		t.Errorf("asked again about unchanged policies")
	}
}

func TestAMarkerTellsWhatItWaitsFor(t *testing.T) {
	kind := schema.GroupVersionKind{Group: "rules.example.com", Version: "v1", Kind: "Limit"}
	parameter := map[string]any{"kind": "Limit", "metadata": map[string]any{"name": "web", "namespace": "rules", "resourceVersion": "12"}}
	for name, tt := range map[string]struct {
		marker marker
		said   string
		acts   bool
	}{
		"silence":              {marker{name: "m"}, "", false},
		"another policy":       {marker{name: "m"}, "policy 'm2' with binding 'm2' denied request: no", false},
		"it acts":              {marker{name: "m"}, "policy 'm' with binding 'm' denied request: no", true},
		"unknown type":         {marker{name: "m", kind: kind}, `policy "m" denied request: failed to configure policy: failed to find resource referenced by paramKind: 'x'`, false},
		"known type":           {marker{name: "m", kind: kind}, "policy 'm' with binding 'm' denied request: failed to configure binding: no params found", true},
		"an older parameter":   {marker{name: "m", kind: kind, parameter: parameter}, "Validation failed for ValidatingAdmissionPolicy 'm' with binding 'm': m resourceVersion 1", false},
		"the latest parameter": {marker{name: "m", kind: kind, parameter: parameter}, "Validation failed for ValidatingAdmissionPolicy 'm' with binding 'm': m resourceVersion 12", true},
	} {
		t.Run(name, func(t *testing.T) {
			var said []string
			if tt.said != "" {
				said = []string{tt.said}
			}
			if reason := tt.marker.missing(said); (reason == "") != tt.acts {
				t.Errorf("missing: %q", reason)
			}
		})
	}
}

func TestParametersAreThoseThatBindingsName(t *testing.T) {
	var requests []request
	for _, o := range mustParse(t, `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: max}
spec: {paramKind: {apiVersion: v1, kind: ConfigMap}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: named}
spec: {policyName: max, paramRef: {name: limits, namespace: shop}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: selected}
spec: {policyName: max, paramRef: {selector: {matchLabels: {limits: "yes"}}}}
`) {
		requests = append(requests, request{Object: o})
	}
	p := parametersOf(requests)
	for object, want := range map[string]bool{
		"{metadata: {name: limits, namespace: shop}}":                       true,
		"{metadata: {name: limits, namespace: blog}}":                       false,
		"{metadata: {name: other, namespace: shop}}":                        false,
		"{metadata: {name: a, namespace: blog, labels: {limits: \"yes\"}}}": true,
	} {
		o := mustParse(t, "{apiVersion: v1, kind: ConfigMap, "+strings.TrimPrefix(object, "{"))[0]
		if got := p.has(schema.GroupKind{Kind: "ConfigMap"}, o.Unstructured); got != want {
			t.Errorf("%s: %t", object, got)
		}
		if p.has(schema.GroupKind{Kind: "Secret"}, &unstructured.Unstructured{Object: o.Object}) {
			t.Errorf("%s as a Secret", object)
		}
	}
}
