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
)

// The daemon set controller's back-off for pods that fail again and again, as
// kube-controller-manager sets it.
const (
	failedPodBackoff    = time.Second
	failedPodBackoffMax = 15 * time.Minute
)

func appsRows() []row {
	return []row{{
		name:          names.DaemonSetController,
		aliases:       []string{"daemonset"},
		does:          "keeps one pod of each DaemonSet on every node that fits",
		namespaceSafe: true,
		queues:        []string{"daemonset", "daemonset-node-updates"},
		reads:         []string{"apps/v1/daemonsets", "apps/v1/controllerrevisions", "v1/pods", "v1/nodes"},
		workers:       func(c *componentConfig) int { return int(c.DaemonSetController.ConcurrentDaemonSetSyncs) },
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
		name:          names.DeploymentController,
		aliases:       []string{"deployment"},
		does:          "rolls Deployments out through ReplicaSets",
		namespaceSafe: true,
		queues:        []string{"deployment"},
		reads:         []string{"apps/v1/deployments", "apps/v1/replicasets", "v1/pods"},
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
		name:          names.ReplicaSetController,
		aliases:       []string{"replicaset"},
		does:          "creates and deletes the pods of ReplicaSets",
		namespaceSafe: true,
		queues:        []string{"replicaset"},
		reads:         []string{"apps/v1/replicasets", "v1/pods"},
		workers:       func(c *componentConfig) int { return int(c.ReplicaSetController.ConcurrentRSSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := replicaset.NewReplicaSetController(ctx, s.Apps().V1().ReplicaSets(), s.Core().V1().Pods(),
				s.client, replicaset.BurstReplicas)
			return s.pool(c, c.Run), nil
		},
	}, {
		name:          names.ReplicationControllerController,
		aliases:       []string{"replicationcontroller"},
		does:          "creates and deletes the pods of ReplicationControllers",
		namespaceSafe: true,
		queues:        []string{"replicationmanager"},
		reads:         []string{"v1/replicationcontrollers", "v1/pods"},
		workers:       func(c *componentConfig) int { return int(c.ReplicationController.ConcurrentRCSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := replication.NewReplicationManager(ctx, s.Core().V1().Pods(), s.Core().V1().ReplicationControllers(),
				s.client, replication.BurstReplicas)
			return s.pool(c, c.Run), nil
		},
	}, {
		name:          names.StatefulSetController,
		aliases:       []string{"statefulset"},
		does:          "creates, updates and deletes the numbered pods and claims of StatefulSets",
		namespaceSafe: true,
		queues:        []string{"statefulset"},
		reads:         []string{"apps/v1/statefulsets", "apps/v1/controllerrevisions", "v1/pods", "v1/persistentvolumeclaims"},
		workers:       func(c *componentConfig) int { return int(c.StatefulSetController.ConcurrentStatefulSetSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := statefulset.NewStatefulSetController(ctx, s.Core().V1().Pods(), s.Apps().V1().StatefulSets(),
				s.Core().V1().PersistentVolumeClaims(), s.Apps().V1().ControllerRevisions(), s.client)
			return s.pool(c, c.Run), nil
		},
	}}
}
