package controllers

import (
	"context"

	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/devicetainteviction"
	"k8s.io/kubernetes/pkg/controller/resourceclaim"
	"k8s.io/kubernetes/pkg/controller/resourcepoolstatusrequest"
	"k8s.io/kubernetes/pkg/features"
)

// resourceRows are the controllers of dynamic resource allocation.
func resourceRows() []row {
	return []row{{
		name:   names.DeviceTaintEvictionController,
		does:   "evicts pods from tainted devices",
		gates:  []featuregate.Feature{features.DynamicResourceAllocation, features.DRADeviceTaints},
		queues: []string{"device-taint-eviction"},
		reads: []string{
			"v1/pods", "resource.k8s.io/v1/resourceclaims", "resource.k8s.io/v1/resourceslices", "resource.k8s.io/v1/deviceclasses",
		},
		readsIf: map[featuregate.Feature][]string{features.DRADeviceTaintRules: {"resource.k8s.io/v1/devicetaintrules"}},
		workers: func(c *componentConfig) int { return int(c.DeviceTaintEvictionController.ConcurrentSyncs) },
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c := devicetainteviction.New(s.client, s.Core().V1().Pods(), s.Resource().V1().ResourceClaims(),
				s.Resource().V1().ResourceSlices(), s.Resource().V1().DeviceTaintRules(), s.Resource().V1().DeviceClasses(), s.name)
			return s.single(c, func(ctx context.Context) {
				if err := c.Run(ctx, s.workers); err != nil {
					klog.FromContext(ctx).Error(err, "Device taint eviction stopped")
				}
			}), nil
		},
	}, {
		name:          names.ResourceClaimController,
		aliases:       []string{"resource-claim-controller"},
		does:          "creates ResourceClaims from the templates in pods and frees unused ones",
		gates:         []featuregate.Feature{features.DynamicResourceAllocation},
		namespaceSafe: true,
		queues:        []string{"resource_claim"},
		reads:         []string{"v1/pods", "resource.k8s.io/v1/resourceclaims", "resource.k8s.io/v1/resourceclaimtemplates"},
		readsIf:       map[featuregate.Feature][]string{features.GenericWorkload: {"scheduling.k8s.io/v1beta1/podgroups"}},
		workers:       func(c *componentConfig) int { return int(c.ResourceClaimController.ConcurrentSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := resourceclaim.NewController(klog.FromContext(ctx), s.client, s.Core().V1().Pods(),
				s.Scheduling().V1beta1().PodGroups(), s.Resource().V1().ResourceClaims(), s.Resource().V1().ResourceClaimTemplates())
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		name:   names.ResourcePoolStatusRequestController,
		does:   "answers ResourcePoolStatusRequests with the state of device pools",
		gates:  []featuregate.Feature{features.DRAResourcePoolStatus},
		queues: []string{"resourcepoolstatusrequest"},
		reads: []string{
			"resource.k8s.io/v1alpha3/resourcepoolstatusrequests", "resource.k8s.io/v1/resourceslices", "resource.k8s.io/v1/resourceclaims",
		},
		readsIf: map[featuregate.Feature][]string{features.DRADeviceTaintRules: {"resource.k8s.io/v1/devicetaintrules"}},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := resourcepoolstatusrequest.NewController(ctx, s.client, s.Resource().V1alpha3().ResourcePoolStatusRequests(),
				s.Resource().V1().ResourceSlices(), s.Resource().V1().ResourceClaims(), s.Resource().V1().DeviceTaintRules())
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}}
}
