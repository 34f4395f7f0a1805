package controllers

import (
	"context"
	"time"

	"k8s.io/client-go/util/flowcontrol"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/daemon"
	"k8s.io/kubernetes/pkg/controller/deployment"
	"k8s.io/kubernetes/pkg/controller/replicaset"
	"k8s.io/kubernetes/pkg/controller/replication"
	"k8s.io/kubernetes/pkg/controller/statefulset"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

// The daemon set controller's back-off for pods that fail again and again, as
// kube-controller-manager sets it.
const (
	failedPodBackoff    = time.Second
	failedPodBackoffMax = 15 * time.Minute
)

func appsControllers() []Descriptor {
	return []Descriptor{{
		Name:          names.DaemonSetController,
		Aliases:       []string{"daemonset"},
		Does:          "keeps one pod of each DaemonSet on every node that fits",
		Account:       "daemon-set-controller",
		Decides:       []string{"daemonsets.apps"},
		NamespaceSafe: true,
		Expects:       true,
		Queues: []Queue{
			{Spec: tap.Strings("daemonset", "queue"), Types: []string{"daemonsets.apps"}},
			{Spec: tap.Strings("daemonset-node-updates", "nodeUpdateQueue"), Types: []string{"nodes"}, Feeds: true},
		},
		Reads:   []string{"apps/v1/daemonsets", "apps/v1/controllerrevisions", "v1/pods", "v1/nodes"},
		workers: func(c *componentConfig) int { return int(c.DaemonSetController.ConcurrentDaemonSetSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := daemon.NewDaemonSetsController(ctx, s.Apps().V1().DaemonSets(), s.Apps().V1().ControllerRevisions(),
				s.Core().V1().Pods(), s.Core().V1().Nodes(), s.client,
				flowcontrol.NewBackOff(failedPodBackoff, failedPodBackoffMax))
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:          names.DeploymentController,
		Aliases:       []string{"deployment"},
		Does:          "rolls Deployments out through ReplicaSets",
		Account:       "deployment-controller",
		Decides:       []string{"deployments.apps"},
		NamespaceSafe: true,
		Queues:        []Queue{{Spec: tap.Strings("deployment", "queue").TellsErrors(), Types: []string{"deployments.apps"}}},
		Reads:         []string{"apps/v1/deployments", "apps/v1/replicasets", "v1/pods"},
		workers:       func(c *componentConfig) int { return int(c.DeploymentController.ConcurrentDeploymentSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := deployment.NewDeploymentController(ctx, s.Apps().V1().Deployments(), s.Apps().V1().ReplicaSets(),
				s.Core().V1().Pods(), s.client)
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:          names.ReplicaSetController,
		Aliases:       []string{"replicaset"},
		Does:          "creates and deletes the pods of ReplicaSets",
		Account:       "replicaset-controller",
		Decides:       []string{"replicasets.apps"},
		NamespaceSafe: true,
		Expects:       true,
		Queues:        []Queue{{Spec: tap.Strings("replicaset", "queue"), Types: []string{"replicasets.apps"}}},
		Reads:         []string{"apps/v1/replicasets", "v1/pods"},
		workers:       func(c *componentConfig) int { return int(c.ReplicaSetController.ConcurrentRSSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := replicaset.NewReplicaSetController(ctx, s.Apps().V1().ReplicaSets(), s.Core().V1().Pods(),
				s.client, replicaset.BurstReplicas)
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:          names.ReplicationControllerController,
		Aliases:       []string{"replicationcontroller"},
		Does:          "creates and deletes the pods of ReplicationControllers",
		Account:       "replication-controller",
		Decides:       []string{"replicationcontrollers"},
		NamespaceSafe: true,
		Expects:       true,
		Queues:        []Queue{{Spec: tap.Strings("replicationmanager", "ReplicaSetController.queue"), Types: []string{"replicationcontrollers"}}},
		Reads:         []string{"v1/replicationcontrollers", "v1/pods"},
		workers:       func(c *componentConfig) int { return int(c.ReplicationController.ConcurrentRCSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := replication.NewReplicationManager(ctx, s.Core().V1().Pods(), s.Core().V1().ReplicationControllers(),
				s.client, replication.BurstReplicas)
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:          names.StatefulSetController,
		Aliases:       []string{"statefulset"},
		Does:          "creates, updates and deletes the numbered pods and claims of StatefulSets",
		Account:       "statefulset-controller",
		Decides:       []string{"statefulsets.apps"},
		NamespaceSafe: true,
		Queues:        []Queue{{Spec: tap.Strings("statefulset", "queue"), Types: []string{"statefulsets.apps"}}},
		Reads:         []string{"apps/v1/statefulsets", "apps/v1/controllerrevisions", "v1/pods", "v1/persistentvolumeclaims"},
		workers:       func(c *componentConfig) int { return int(c.StatefulSetController.ConcurrentStatefulSetSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := statefulset.NewStatefulSetController(ctx, s.Core().V1().Pods(), s.Apps().V1().StatefulSets(),
				s.Core().V1().PersistentVolumeClaims(), s.Apps().V1().ControllerRevisions(), s.client)
			return s.pool(c, c.Run), nil
		},
	}}
}
