package controllers

import (
	"context"
	"fmt"

	"k8s.io/client-go/util/keyutil"
	"k8s.io/klog/v2"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	serviceaccountcontroller "k8s.io/kubernetes/pkg/controller/serviceaccount"
	"k8s.io/kubernetes/pkg/serviceaccount"
	"k8s.io/utils/clock"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func serviceAccountControllers() []Descriptor {
	return []Descriptor{{
		Name:    names.LegacyServiceAccountTokenCleanerController,
		Aliases: []string{"legacy-service-account-token-cleaner"},
		Does:    "deletes long unused secret-based service account tokens",
		Account: "legacy-service-account-token-cleaner",
		Reads:   []string{"v1/serviceaccounts", "v1/secrets", "v1/pods"},
		workers: workers(1),
		build: func(_ context.Context, s *scope) ([]loop, error) {
			c, err := serviceaccountcontroller.NewLegacySATokenCleaner(s.Core().V1().ServiceAccounts(), s.Core().V1().Secrets(),
				s.Core().V1().Pods(), s.client, clock.RealClock{}, serviceaccountcontroller.LegacySATokenCleanerOptions{
					CleanUpPeriod: s.component.LegacySATokenCleaner.CleanUpPeriod.Duration,
					SyncInterval:  serviceaccountcontroller.DefaultCleanerSyncInterval,
				})
			if err != nil {
				return nil, err
			}
			return s.single(c, c.Run), nil
		},
	}, {
		Name:    names.ServiceAccountController,
		Aliases: []string{"serviceaccount"},
		Does:    "creates the default ServiceAccount of each namespace",
		Account: "service-account-controller",
		Decides: []string{"namespaces"},
		Queues:  []Queue{{Spec: tap.Strings("serviceaccount", "queue"), Types: []string{"namespaces"}}},
		Reads:   []string{"v1/serviceaccounts", "v1/namespaces"},
		workers: workers(1),
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := serviceaccountcontroller.NewServiceAccountsController(klog.FromContext(ctx), s.Core().V1().ServiceAccounts(),
				s.Core().V1().Namespaces(), s.client, serviceaccountcontroller.DefaultServiceAccountsControllerOptions())
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:    names.ServiceAccountTokenController,
		Aliases: []string{"serviceaccount-token"},
		Does:    "fills and deletes secret-based service account tokens",
		Queues: []Queue{
			{Spec: tap.Of("serviceaccount_tokens_secret", "syncSecretQueue", secretKey.describe), Types: []string{"secrets"}},
			{Spec: tap.Of("serviceaccount_tokens_service", "syncServiceAccountQueue", serviceAccountKey.describe), Types: []string{"serviceaccounts"}},
		},
		Reads:   []string{"v1/serviceaccounts", "v1/secrets"},
		workers: func(c *componentConfig) int { return int(c.SAController.ConcurrentSATokenSyncs) },
		needs: []need{{
			what: "--service-account-private-key-file",
			missing: func(f *facts) string {
				if f.component.SAController.ServiceAccountKeyFile != "" {
					return ""
				}
				return "no key to sign tokens with: set --service-account-private-key-file"
			},
		}},
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			file := s.component.SAController.ServiceAccountKeyFile
			key, err := keyutil.PrivateKeyFromFile(file)
			if err != nil {
				return nil, fmt.Errorf("read service account key %s: %w", file, err)
			}
			tokens, err := serviceaccount.JWTTokenGenerator(serviceaccount.LegacyIssuer, key)
			if err != nil {
				return nil, fmt.Errorf("use service account key %s: %w", file, err)
			}
			c, err := serviceaccountcontroller.NewTokensController(klog.FromContext(ctx), s.Core().V1().ServiceAccounts(),
				s.Core().V1().Secrets(), s.client, serviceaccountcontroller.TokensControllerOptions{
					TokenGenerator: tokens, RootCA: s.rootCA,
				})
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}}
}
