package controllers

import (
	"context"

	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/servicecidrs"
	"k8s.io/kubernetes/pkg/features"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func networkingControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.ServiceCIDRController,
		Does:    "keeps ServiceCIDRs until the last of their addresses is free",
		Account: "service-cidrs-controller",
		Gates:   []featuregate.Feature{features.MultiCIDRServiceAllocator},
		Queues:  []Queue{{Spec: tap.Strings("ipaddresses", "queue"), Types: []string{"servicecidrs.networking.k8s.io"}}},
		Reads:   []string{"networking.k8s.io/v1/servicecidrs", "networking.k8s.io/v1/ipaddresses"},
		workers: workers(5),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := servicecidrs.NewController(ctx, s.Networking().V1().ServiceCIDRs(), s.Networking().V1().IPAddresses(), s.client)
			return s.pool(c, c.Run), nil
		},
	}}
}
