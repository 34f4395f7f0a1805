package controllers

import (
	"context"
	"fmt"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/scale"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/podautoscaler"
	"k8s.io/kubernetes/pkg/controller/podautoscaler/metrics"
	resourceclient "k8s.io/metrics/pkg/client/clientset/versioned/typed/metrics/v1beta1"
	"k8s.io/metrics/pkg/client/custom_metrics"
	"k8s.io/metrics/pkg/client/external_metrics"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func autoscalingControllers() []Descriptor {
	return []Descriptor{{
		Name:          names.HorizontalPodAutoscalerController,
		Aliases:       []string{"horizontalpodautoscaling"},
		Does:          "scales workloads by the metrics of their pods",
		Account:       "horizontal-pod-autoscaler",
		Decides:       []string{"horizontalpodautoscalers.autoscaling"},
		NamespaceSafe: true,
		Queues:        []Queue{{Spec: tap.Strings("horizontalpodautoscaler", "queue").Periodic(), Types: []string{"horizontalpodautoscalers.autoscaling"}}},
		Reads:         []string{"autoscaling/v2/horizontalpodautoscalers", "v1/pods"},
		workers: func(c *componentConfig) int {
			return int(c.HPAController.ConcurrentHorizontalPodAutoscalerSyncs)
		},
		build: buildHorizontalPodAutoscaler,
	}}
}

func buildHorizontalPodAutoscaler(ctx context.Context, s *scope) ([]loop, error) {
	cfg, err := s.restConfig()
	if err != nil {
		return nil, err
	}
	scales, err := scale.NewForConfig(cfg, s.restMapper, dynamic.LegacyAPIPathResolverFunc,
		scale.NewDiscoveryScaleKindResolver(s.client.Discovery()))
	if err != nil {
		return nil, fmt.Errorf("create scale client: %w", err)
	}
	resourceMetrics, err := resourceclient.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create resource metrics client: %w", err)
	}
	externalMetrics, err := external_metrics.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("create external metrics client: %w", err)
	}
	versions := custom_metrics.NewAvailableAPIsGetter(s.client.Discovery())

	conf := s.component.HPAController
	c := podautoscaler.NewHorizontalController(ctx, s.client.CoreV1(), scales, s.client.AutoscalingV2(), s.restMapper,
		metrics.NewRESTMetricsClient(resourceMetrics, custom_metrics.NewForConfig(cfg, s.restMapper, versions), externalMetrics),
		s.Autoscaling().V2().HorizontalPodAutoscalers(), s.Core().V1().Pods(),
		conf.HorizontalPodAutoscalerSyncPeriod.Duration,
		conf.HorizontalPodAutoscalerDownscaleStabilizationWindow.Duration,
		conf.HorizontalPodAutoscalerTolerance,
		conf.HorizontalPodAutoscalerCPUInitializationPeriod.Duration,
		conf.HorizontalPodAutoscalerInitialReadinessDelay.Duration)

	refresh := func(ctx context.Context) {
		custom_metrics.PeriodicallyInvalidate(versions, conf.HorizontalPodAutoscalerSyncPeriod.Duration, ctx.Done())
	}
	return s.single(c, together(refresh, func(ctx context.Context) { c.Run(ctx, s.workers) })), nil
}
