package controllers

import (
	"context"

	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/scheduling/podgroupprotection"
	"k8s.io/kubernetes/pkg/features"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func schedulingControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.PodGroupProtectionController,
		Does:    "keeps PodGroups until the last of their pods has ended",
		Account: "podgroup-protection-controller",
		Gates:   []featuregate.Feature{features.GenericWorkload},
		Queues:  []Queue{{Spec: tap.Strings("podgroupprotection", "queue"), Types: []string{"podgroups.scheduling.k8s.io"}}},
		Reads:   []string{"scheduling.k8s.io/v1beta1/podgroups", "v1/pods"},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := podgroupprotection.NewPodGroupProtectionController(klog.FromContext(ctx),
				s.Scheduling().V1beta1().PodGroups(), s.Core().V1().Pods(), s.client)
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}}
}
