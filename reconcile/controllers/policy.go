package controllers

import (
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/scale"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/disruption"
)

func policyRows() []row {
	return []row{{
		name:          names.DisruptionController,
		aliases:       []string{"disruption"},
		does:          "counts how many disruptions each PodDisruptionBudget allows",
		namespaceSafe: true,
		queues:        []string{"disruption", "disruption_recheck", "stale_pod_disruption"},
		reads: []string{
			"policy/v1/poddisruptionbudgets", "v1/pods", "v1/replicationcontrollers",
			"apps/v1/replicasets", "apps/v1/deployments", "apps/v1/statefulsets",
		},
		workers: func(c *componentConfig) int { return int(c.DisruptionController.ConcurrentDisruptionSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			cfg, err := s.restConfig()
			if err != nil {
				return nil, err
			}
			scales, err := scale.NewForConfig(cfg, s.restMapper, dynamic.LegacyAPIPathResolverFunc,
				scale.NewDiscoveryScaleKindResolver(s.client.Discovery()))
			if err != nil {
				return nil, fmt.Errorf("create scale client: %w", err)
			}
			c := disruption.NewDisruptionController(ctx, s.Core().V1().Pods(), s.Policy().V1().PodDisruptionBudgets(),
				s.Core().V1().ReplicationControllers(), s.Apps().V1().ReplicaSets(), s.Apps().V1().Deployments(),
				s.Apps().V1().StatefulSets(), s.client, s.restMapper, scales, s.client.Discovery())
			return s.pool(c, c.Run), nil
		},
	}}
}
