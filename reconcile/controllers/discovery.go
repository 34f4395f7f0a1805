package controllers

import (
	"context"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func discoveryControllers() []Descriptor {
	return []Descriptor{{
		Name:          names.EndpointsController,
		Aliases:       []string{"endpoint"},
		Does:          "writes the Endpoints of Services with a selector",
		Account:       "endpoint-controller",
		Decides:       []string{"services"},
		NamespaceSafe: true,
		Queues: []Queue{
			{Spec: tap.Strings("endpoint", "queue"), Types: []string{"services"}},
			{Spec: tap.Of("endpoint_pods", "podQueue", (*podProjection).describe), Feeds: true},
		},
		Reads:   []string{"v1/services", "v1/pods", "v1/endpoints"},
		workers: func(c *componentConfig) int { return int(c.EndpointController.ConcurrentEndpointSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := endpoint.NewEndpointController(ctx, s.Core().V1().Pods(), s.Core().V1().Services(), s.Core().V1().Endpoints(),
				s.client, s.component.EndpointController.EndpointUpdatesBatchPeriod.Duration)
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:          names.EndpointSliceController,
		Aliases:       []string{"endpointslice"},
		Does:          "writes the EndpointSlices of Services with a selector",
		Account:       "endpointslice-controller",
		Decides:       []string{"services"},
		NamespaceSafe: true,
		Queues: []Queue{
			{Spec: tap.Strings("endpoint_slice", "serviceQueue"), Types: []string{"services"}},
			{Spec: tap.Of("endpoint_slice_pods", "podQueue", (*podProjection).describe), Feeds: true},
			{Spec: tap.Strings("endpoint_slice_topology", "topologyQueue"), Feeds: true},
		},
		Reads:   []string{"v1/services", "v1/pods", "v1/nodes", "discovery.k8s.io/v1/endpointslices"},
		workers: func(c *componentConfig) int { return int(c.EndpointSliceController.ConcurrentServiceEndpointSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			conf := s.component.EndpointSliceController
			c := endpointslice.NewController(ctx, s.Core().V1().Pods(), s.Core().V1().Services(), s.Core().V1().Nodes(),
				s.Discovery().V1().EndpointSlices(), conf.MaxEndpointsPerSlice, s.client,
				conf.EndpointUpdatesBatchPeriod.Duration)
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:          names.EndpointSliceMirroringController,
		Aliases:       []string{"endpointslicemirroring"},
		Does:          "mirrors hand-made Endpoints into EndpointSlices",
		Account:       "endpointslicemirroring-controller",
		NamespaceSafe: true,
		Queues:        []Queue{{Spec: tap.Strings("endpoint_slice_mirroring", "queue"), Types: []string{"endpoints"}}},
		Reads:         []string{"v1/endpoints", "v1/services", "discovery.k8s.io/v1/endpointslices"},
		workers: func(c *componentConfig) int {
			return int(c.EndpointSliceMirroringController.MirroringConcurrentServiceEndpointSyncs)
		},
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			conf := s.component.EndpointSliceMirroringController
			c := endpointslicemirroring.NewController(ctx, s.Core().V1().Endpoints(), s.Discovery().V1().EndpointSlices(),
				s.Core().V1().Services(), conf.MirroringMaxEndpointsPerSubset, s.client,
				conf.MirroringEndpointUpdatesBatchPeriod.Duration)
			return s.pool(c, c.Run), nil
		},
	}}
}
