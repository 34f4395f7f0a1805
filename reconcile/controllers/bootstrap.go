package controllers

import (
	"context"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/bootstrap"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func bootstrapControllers() []Descriptor {
	return []Descriptor{{
		Name:         names.BootstrapSignerController,
		Aliases:      []string{"bootstrapsigner"},
		Does:         "signs the cluster-info ConfigMap with the bootstrap tokens",
		Account:      "bootstrap-signer",
		OffByDefault: true,
		Queues:       []Queue{{Spec: tap.Strings("bootstrap_signer_queue", "syncQueue"), Types: []string{"configmaps"}}},
		Reads:        []string{"v1/secrets", "v1/configmaps"},
		workers:      workers(1),
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c, err := bootstrap.NewSigner(s.client, s.Core().V1().Secrets(), s.Core().V1().ConfigMaps(),
				bootstrap.DefaultSignerOptions())
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}, {
		Name:         names.TokenCleanerController,
		Aliases:      []string{"tokencleaner"},
		Does:         "deletes expired bootstrap tokens",
		Account:      "token-cleaner",
		OffByDefault: true,
		Queues:       []Queue{{Spec: tap.Strings("token_cleaner", "queue"), Types: []string{"secrets"}}},
		Reads:        []string{"v1/secrets"},
		workers:      workers(1),
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c, err := bootstrap.NewTokenCleaner(s.client, s.Core().V1().Secrets(), bootstrap.DefaultTokenCleanerOptions())
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}}
}
