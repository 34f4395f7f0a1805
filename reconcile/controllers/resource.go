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

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

// resourceControllers are the controllers of dynamic resource allocation.
func resourceControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.DeviceTaintEvictionController,
		Does:    "evicts pods from tainted devices",
		Account: "device-taint-eviction-controller",
		Gates:   []featuregate.Feature{features.DynamicResourceAllocation, features.DRADeviceTaints},
		Queues:  []Queue{{Spec: tap.Of("device-taint-eviction", "workqueue", deviceTaintWork.describe).MadeInRun(), Types: []string{"pods", "devicetaintrules.resource.k8s.io"}, Prefixes: map[string]string{"pods": "pod ", "devicetaintrules.resource.k8s.io": "devicetaintrule "}}},
		Reads: []string{
			"v1/pods", "resource.k8s.io/v1/resourceclaims", "resource.k8s.io/v1/resourceslices", "resource.k8s.io/v1/deviceclasses",
		},
		ReadsIf: map[featuregate.Feature][]string{features.DRADeviceTaintRules: {"resource.k8s.io/v1/devicetaintrules"}},
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
		Name:          names.ResourceClaimController,
		Aliases:       []string{"resource-claim-controller"},
		Does:          "creates ResourceClaims from the templates in pods and frees unused ones",
		Account:       "resource-claim-controller",
		Decides:       []string{"resourceclaims.resource.k8s.io"},
		Gates:         []featuregate.Feature{features.DynamicResourceAllocation},
		NamespaceSafe: true,
		Queues:        []Queue{{Spec: tap.Strings("resource_claim", "queue"), Types: []string{"resourceclaims.resource.k8s.io", "pods", "podgroups.scheduling.k8s.io"}, Prefixes: map[string]string{"resourceclaims.resource.k8s.io": "claim:", "pods": "pod:", "podgroups.scheduling.k8s.io": "podgroup:"}}},
		Reads:         []string{"v1/pods", "resource.k8s.io/v1/resourceclaims", "resource.k8s.io/v1/resourceclaimtemplates"},
		ReadsIf:       map[featuregate.Feature][]string{features.GenericWorkload: {"scheduling.k8s.io/v1beta1/podgroups"}},
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
		Name:    names.ResourcePoolStatusRequestController,
		Does:    "answers ResourcePoolStatusRequests with the state of device pools",
		Account: "resourcepoolstatusrequest-controller",
		Gates:   []featuregate.Feature{features.DRAResourcePoolStatus},
		Queues:  []Queue{{Spec: tap.Strings("resourcepoolstatusrequest", "workqueue"), Types: []string{"resourcepoolstatusrequests.resource.k8s.io"}}},
		Reads: []string{
			"resource.k8s.io/v1alpha3/resourcepoolstatusrequests", "resource.k8s.io/v1/resourceslices", "resource.k8s.io/v1/resourceclaims",
		},
		ReadsIf: map[featuregate.Feature][]string{features.DRADeviceTaintRules: {"resource.k8s.io/v1/devicetaintrules"}},
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
