package controlplane_test

import (
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
)

func TestAdmissionCacheTellsHowFarItIs(t *testing.T) {
	c := newClient(t, shared)
	created := c.must(http.MethodPost, "/api/v1/namespaces/default/limitranges", object{
		"apiVersion": "v1", "kind": "LimitRange", "metadata": object{"name": "cached"},
		"spec": object{"limits": []object{{"type": "Container", "max": object{"cpu": "1"}}}},
	})
	version, err := strconv.Atoi(created["metadata"].(object)["resourceVersion"].(string))
	if err != nil {
		t.Fatal(err)
	}
	behind := func(resource, name string, version int) bool {
		t.Helper()
		q := url.Values{"version": {"v1"}, "resource": {resource}, "namespace": {"default"}, "name": {name}, "resourceVersion": {strconv.Itoa(version)}}
		answer := c.must(http.MethodGet, sandbox.AdmissionCachePath+"?"+q.Encode(), nil)
		return answer["behind"].(bool)
	}
	eventually(t, "the LimitRange is read", func() bool { return !behind("limitranges", "cached", version) })
	if !behind("limitranges", "cached", version+1000) {
		t.Error("a version that does not exist yet is said to be read")
	}
	if !behind("limitranges", "none", 1) {
		t.Error("an object that does not exist is said to be read")
	}
	if behind("configmaps", "none", 1) {
		t.Error("a type that admission does not read is said to be behind")
	}
	if status, _ := c.do(http.MethodGet, sandbox.AdmissionCachePath, nil); status != http.StatusBadRequest {
		t.Errorf("without a version: %d", status)
	}
	if status, _ := c.do(http.MethodGet, sandbox.AdmissionCachePath+"?resourceVersion=1", nil, "Authorization: "); status == http.StatusOK {
		t.Error("it answers without a token")
	}
}

// Upstream looks for the types of parameters every 30 s, longer than eventually
// waits.
func TestParametersOfANewTypeAreFoundSoon(t *testing.T) {
	c := newClient(t, shared)
	c.must(http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", object{
		"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": object{"name": "limits.rules.example.com"},
		"spec": object{
			"group": "rules.example.com", "scope": "Cluster", "names": object{"plural": "limits", "kind": "Limit"},
			"versions": []object{{"name": "v1", "served": true, "storage": true, "schema": object{"openAPIV3Schema": object{"type": "object"}}}},
		},
	})
	const admission = "/apis/admissionregistration.k8s.io/v1/"
	c.must(http.MethodPost, admission+"validatingadmissionpolicies", object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy", "metadata": object{"name": "soon"},
		"spec": object{
			"paramKind": object{"apiVersion": "rules.example.com/v1", "kind": "Limit"},
			"matchConstraints": object{"resourceRules": []object{{
				"apiGroups": []string{""}, "apiVersions": []string{"v1"}, "resources": []string{"configmaps"}, "operations": []string{"CREATE"}, "resourceNames": []string{"soon"},
			}}},
			"validations": []object{{"expression": "true"}},
		},
	})
	c.must(http.MethodPost, admission+"validatingadmissionpolicybindings", object{
		"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding", "metadata": object{"name": "soon"},
		"spec": object{"policyName": "soon", "validationActions": []string{"Deny"}, "paramRef": object{"name": "none", "parameterNotFoundAction": "Deny"}},
	})
	eventually(t, "the policy knows its parameters", func() bool {
		_, answer := c.do(http.MethodPost, "/api/v1/namespaces/default/configmaps?dryRun=All", named("v1", "ConfigMap", "soon"))
		text, _ := answer["message"].(string)
		return strings.Contains(text, "no params found")
	})
}
