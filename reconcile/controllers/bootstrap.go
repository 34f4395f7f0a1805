package controllers

import (
	"context"

	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/bootstrap"
)

func bootstrapRows() []row {
	return []row{{
		name:              names.BootstrapSignerController,
		aliases:           []string{"bootstrapsigner"},
		does:              "signs the cluster-info ConfigMap with the bootstrap tokens",
		disabledByDefault: true,
		queues:            []string{"bootstrap_signer_queue"},
		reads:             []string{"v1/secrets", "v1/configmaps"},
		workers:           workers(1),
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c, err := bootstrap.NewSigner(s.client, s.Core().V1().Secrets(), s.Core().V1().ConfigMaps(),
				bootstrap.DefaultSignerOptions())
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}, {
		name:              names.TokenCleanerController,
		aliases:           []string{"tokencleaner"},
		does:              "deletes expired bootstrap tokens",
		disabledByDefault: true,
		queues:            []string{"token_cleaner"},
		reads:             []string{"v1/secrets"},
		workers:           workers(1),
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c, err := bootstrap.NewTokenCleaner(s.client, s.Core().V1().Secrets(), bootstrap.DefaultTokenCleanerOptions())
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}}
}
