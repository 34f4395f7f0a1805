package controllers

import (
	"context"

	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/scheduling/podgroupprotection"
	"k8s.io/kubernetes/pkg/features"
)

func schedulingRows() []row {
	return []row{{
		name:    names.PodGroupProtectionController,
		does:    "keeps PodGroups until the last of their pods has ended",
		gates:   []featuregate.Feature{features.GenericWorkload},
		queues:  []string{"podgroupprotection"},
		reads:   []string{"scheduling.k8s.io/v1beta1/podgroups", "v1/pods"},
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
