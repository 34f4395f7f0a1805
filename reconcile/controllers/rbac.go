package controllers

import (
	"context"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/clusterroleaggregation"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func rbacControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.ClusterRoleAggregationController,
		Aliases: []string{"clusterrole-aggregation"},
		Does:    "fills aggregated ClusterRoles with the rules of the roles they select",
		Account: "clusterrole-aggregation-controller",
		Decides: []string{"clusterroles.rbac.authorization.k8s.io"},
		Queues:  []Queue{{Spec: tap.Strings("ClusterRoleAggregator", "queue"), Types: []string{"clusterroles.rbac.authorization.k8s.io"}}},
		Reads:   []string{"rbac.authorization.k8s.io/v1/clusterroles"},
		workers: workers(5),
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c := clusterroleaggregation.NewClusterRoleAggregation(s.Rbac().V1().ClusterRoles(), s.client.RbacV1())
			return s.pool(c, c.Run), nil
		},
	}}
}
