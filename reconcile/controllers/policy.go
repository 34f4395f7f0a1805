package controllers

import (
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/scale"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/disruption"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func policyControllers() []Descriptor {
	return []Descriptor{{
		Name:          names.DisruptionController,
		Aliases:       []string{"disruption"},
		Does:          "counts how many disruptions each PodDisruptionBudget allows",
		Account:       "disruption-controller",
		Decides:       []string{"poddisruptionbudgets.policy"},
		NamespaceSafe: true,
		Queues: []Queue{
			{Spec: tap.Strings("disruption", "queue"), Types: []string{"poddisruptionbudgets.policy"}},
			{Spec: tap.Strings("disruption_recheck", "recheckQueue"), Types: []string{"poddisruptionbudgets.policy"}},
			{Spec: tap.Strings("stale_pod_disruption", "stalePodDisruptionQueue"), Types: []string{"pods"}},
		},
		Reads: []string{
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
