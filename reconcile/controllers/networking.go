package controllers

import (
	"context"

	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
	"k8s.io/kubernetes/pkg/features"
)

func networkingRows() []row {
	return []row{{
		name:    names.ServiceCIDRController,
		does:    "keeps ServiceCIDRs until the last of their addresses is free",
		gates:   []featuregate.Feature{features.MultiCIDRServiceAllocator},
		queues:  []string{"ipaddresses"},
		reads:   []string{"networking.k8s.io/v1/servicecidrs", "networking.k8s.io/v1/ipaddresses"},
		workers: workers(5),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := servicecidrs.NewController(ctx, s.Networking().V1().ServiceCIDRs(), s.Networking().V1().IPAddresses(), s.client)
			return s.pool(c, c.Run), nil
		},
	}}
}
