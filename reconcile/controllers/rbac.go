package controllers

import (
	"context"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"
)

func rbacRows() []row {
	return []row{{
		name:    names.ClusterRoleAggregationController,
		aliases: []string{"clusterrole-aggregation"},
		does:    "fills aggregated ClusterRoles with the rules of the roles they select",
		queues:  []string{"ClusterRoleAggregator"},
		reads:   []string{"rbac.authorization.k8s.io/v1/clusterroles"},
		workers: workers(5),
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c := clusterroleaggregation.NewClusterRoleAggregation(s.Rbac().V1().ClusterRoles(), s.client.RbacV1())
			return s.pool(c, c.Run), nil
		},
	}}
}
