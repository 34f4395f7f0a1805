package controllers

import (
	"context"

	apiextensionsscheme "k8s.io/apiextensions-apiserver/pkg/client/clientset/clientset/scheme"
	"k8s.io/apiserver/pkg/admission/plugin/policy/validating"
	"k8s.io/apiserver/pkg/cel/openapi/resolver"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/validatingadmissionpolicystatus"
	"k8s.io/kubernetes/pkg/generated/openapi"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func admissionControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.ValidatingAdmissionPolicyStatusController,
		Does:    "type-checks the expressions of ValidatingAdmissionPolicies",
		Account: "validatingadmissionpolicy-status-controller",
		Queues:  []Queue{{Spec: tap.Strings("validatingadmissionpolicy-status", "policyQueue"), Types: []string{"validatingadmissionpolicies.admissionregistration.k8s.io"}}},
		Reads:   []string{"admissionregistration.k8s.io/v1/validatingadmissionpolicies"},
		workers: func(c *componentConfig) int {
			return int(c.ValidatingAdmissionPolicyStatusController.ConcurrentPolicySyncs)
		},
		build: func(_ context.Context, s *scope) ([]loop, error) {
			disco, err := s.clients.DiscoveryClient(s.name)
			if err != nil {
				return nil, err
			}
			schemas := resolver.NewDefinitionsSchemaResolver(openapi.GetOpenAPIDefinitions, scheme.Scheme, apiextensionsscheme.Scheme).
				Combine(&resolver.ClientDiscoveryResolver{Discovery: disco})
			c, err := validatingadmissionpolicystatus.NewController(
				s.Admissionregistration().V1().ValidatingAdmissionPolicies(),
				s.client.AdmissionregistrationV1().ValidatingAdmissionPolicies(),
				&validating.TypeChecker{SchemaResolver: schemas, RestMapper: s.restMapper})
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}}
}
