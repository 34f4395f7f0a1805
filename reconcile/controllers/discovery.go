package controllers

import (
	"context"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/endpoint"
	"k8s.io/kubernetes/pkg/controller/endpointslice"
	"k8s.io/kubernetes/pkg/controller/endpointslicemirroring"
)

func discoveryRows() []row {
	return []row{{
		name:          names.EndpointsController,
		aliases:       []string{"endpoint"},
		does:          "writes the Endpoints of Services with a selector",
		namespaceSafe: true,
		queues:        []string{"endpoint", "endpoint_pods"},
		reads:         []string{"v1/services", "v1/pods", "v1/endpoints"},
		workers:       func(c *componentConfig) int { return int(c.EndpointController.ConcurrentEndpointSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := endpoint.NewEndpointController(ctx, s.Core().V1().Pods(), s.Core().V1().Services(), s.Core().V1().Endpoints(),
				s.client, s.component.EndpointController.EndpointUpdatesBatchPeriod.Duration)
			return s.pool(c, c.Run), nil
		},
	}, {
		name:          names.EndpointSliceController,
		aliases:       []string{"endpointslice"},
		does:          "writes the EndpointSlices of Services with a selector",
		namespaceSafe: true,
		queues:        []string{"endpoint_slice", "endpoint_slice_pods", "endpoint_slice_topology"},
		reads:         []string{"v1/services", "v1/pods", "v1/nodes", "discovery.k8s.io/v1/endpointslices"},
		workers:       func(c *componentConfig) int { return int(c.EndpointSliceController.ConcurrentServiceEndpointSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			conf := s.component.EndpointSliceController
			c := endpointslice.NewController(ctx, s.Core().V1().Pods(), s.Core().V1().Services(), s.Core().V1().Nodes(),
				s.Discovery().V1().EndpointSlices(), conf.MaxEndpointsPerSlice, s.client,
				conf.EndpointUpdatesBatchPeriod.Duration)
			return s.pool(c, c.Run), nil
		},
	}, {
		name:          names.EndpointSliceMirroringController,
		aliases:       []string{"endpointslicemirroring"},
		does:          "mirrors hand-made Endpoints into EndpointSlices",
		namespaceSafe: true,
		queues:        []string{"endpoint_slice_mirroring"},
		reads:         []string{"v1/endpoints", "v1/services", "discovery.k8s.io/v1/endpointslices"},
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
