package controllers

import (
	"context"
	"fmt"

	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/nodeipam"
	"k8s.io/kubernetes/pkg/controller/nodeipam/ipam"
	"k8s.io/kubernetes/pkg/controller/nodelifecycle"
	"k8s.io/kubernetes/pkg/controller/tainteviction"
	"k8s.io/kubernetes/pkg/controller/ttl"
	"k8s.io/kubernetes/pkg/features"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func nodeControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.NodeIpamController,
		Aliases: []string{"nodeipam"},
		Does:    "gives each node a range of pod addresses",
		Account: "node-controller",
		Queues:  []Queue{{Spec: tap.Of("cidrallocator_node", "cidrAllocator.queue", func(k any) string { return fmt.Sprint(k) }), Types: []string{"nodes"}}},
		Reads:   []string{"v1/nodes"},
		workers: workers(30),
		needs: []need{{
			what: "--allocate-node-cidrs and --cluster-cidr",
			missing: func(f *facts) string {
				switch c := f.component.KubeCloudShared; {
				case !c.AllocateNodeCIDRs:
					return "--allocate-node-cidrs is not set"
				case c.ClusterCIDR == "":
					return "--cluster-cidr is not set"
				}
				return ""
			},
		}},
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			conf := s.component.NodeIPAMController
			cluster, err := clusterCIDRs(s.component.KubeCloudShared.ClusterCIDR)
			if err != nil {
				return nil, err
			}
			service, secondary, err := serviceCIDRs(conf)
			if err != nil {
				return nil, err
			}
			masks, err := nodeMaskSizes(conf, cluster)
			if err != nil {
				return nil, err
			}
			c, err := nodeipam.NewNodeIpamController(ctx, s.Core().V1().Nodes(), nil, s.client, cluster, service, secondary,
				masks, ipam.CIDRAllocatorType(s.component.KubeCloudShared.CIDRAllocatorType))
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}, {
		Name:    names.NodeLifecycleController,
		Aliases: []string{"nodelifecycle"},
		Does:    "taints nodes by their conditions and marks those that stopped reporting",
		Account: "node-controller",
		Queues: []Queue{
			{Spec: tap.Strings("node_lifecycle_controller", "nodeUpdateQueue"), Types: []string{"nodes"}},
			{Spec: tap.Of("node_lifecycle_controller_pods", "podUpdateQueue", lifecyclePod.describe), Types: []string{"pods"}},
		},
		Reads:   []string{"coordination.k8s.io/v1/leases", "v1/pods", "v1/nodes", "apps/v1/daemonsets"},
		workers: workers(8),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			conf := s.component.NodeLifecycleController
			c, err := nodelifecycle.NewNodeLifecycleController(ctx, s.Coordination().V1().Leases(), s.Core().V1().Pods(),
				s.Core().V1().Nodes(), s.Apps().V1().DaemonSets(), s.client,
				conf.NodeMonitorPeriod.Duration, conf.NodeStartupGracePeriod.Duration, conf.NodeMonitorGracePeriod.Duration,
				conf.NodeEvictionRate, conf.SecondaryNodeEvictionRate, conf.LargeClusterSizeThreshold, conf.UnhealthyZoneThreshold)
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}, {
		Name:    names.TaintEvictionController,
		Does:    "evicts pods from nodes with NoExecute taints",
		Account: "node-controller",
		Gates:   []featuregate.Feature{features.SeparateTaintEvictionController},
		Queues: []Queue{
			{Spec: tap.Of("noexec_taint_node", "nodeUpdateQueue", taintedNode.describe), Types: []string{"nodes"}},
			{Spec: tap.Of("noexec_taint_pod", "podUpdateQueue", taintedPod.describe), Types: []string{"pods"}},
		},
		Reads:   []string{"v1/pods", "v1/nodes"},
		workers: workers(tainteviction.UpdateWorkerSize),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := tainteviction.New(ctx, s.client, s.Core().V1().Pods(), s.Core().V1().Nodes(), s.name)
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}, {
		Name:    names.TTLController,
		Aliases: []string{"ttl"},
		Does:    "tells kubelets by annotation how long to cache secrets",
		Account: "ttl-controller",
		Queues:  []Queue{{Spec: tap.Strings("ttlcontroller", "queue"), Types: []string{"nodes"}}},
		Reads:   []string{"v1/nodes"},
		workers: workers(5),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := ttl.NewTTLController(ctx, s.Core().V1().Nodes(), s.client)
			return s.pool(c, c.Run), nil
		},
	}}
}
