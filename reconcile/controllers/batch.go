package controllers

import (
	"context"

	schedulinginformers "k8s.io/client-go/informers/scheduling/v1beta1"
	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
	"k8s.io/kubernetes/pkg/controller/cronjob"
	"k8s.io/kubernetes/pkg/controller/job"
	"k8s.io/kubernetes/pkg/controller/ttlafterfinished"
	"k8s.io/kubernetes/pkg/features"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

func batchControllers() []Descriptor {
	return []Descriptor{{
		Name:          names.CronJobController,
		Aliases:       []string{"cronjob"},
		Does:          "creates Jobs on the schedules of CronJobs",
		Account:       "cronjob-controller",
		Decides:       []string{"cronjobs.batch"},
		NamespaceSafe: true,
		Queues:        []Queue{{Spec: tap.Strings("cronjob", "queue"), Types: []string{"cronjobs.batch"}}},
		Reads:         []string{"batch/v1/cronjobs", "batch/v1/jobs"},
		workers:       func(c *componentConfig) int { return int(c.CronJobController.ConcurrentCronJobSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := cronjob.NewControllerV2(ctx, s.Batch().V1().Jobs(), s.Batch().V1().CronJobs(), s.client)
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:          names.JobController,
		Aliases:       []string{"job"},
		Does:          "runs the pods of Jobs to completion",
		Account:       "job-controller",
		Decides:       []string{"jobs.batch"},
		NamespaceSafe: true,
		Expects:       true,
		Queues: []Queue{
			{Spec: tap.Strings("job", "queue"), Types: []string{"jobs.batch"}},
			{Spec: tap.Of("job_orphan_pod", "orphanQueue", orphanPodKey.describe), Types: []string{"pods"}},
		},
		Reads: []string{"batch/v1/jobs", "v1/pods"},
		ReadsIf: map[featuregate.Feature][]string{features.WorkloadWithJob: {
			"scheduling.k8s.io/v1beta1/workloads", "scheduling.k8s.io/v1beta1/podgroups",
		}},
		workers: func(c *componentConfig) int { return int(c.JobController.ConcurrentJobSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			// Both stay nil without the gate: asking for an informer starts it.
			var workloads schedulinginformers.WorkloadInformer
			var podGroups schedulinginformers.PodGroupInformer
			if enabled(features.WorkloadWithJob) {
				workloads, podGroups = s.Scheduling().V1beta1().Workloads(), s.Scheduling().V1beta1().PodGroups()
			}
			c, err := job.NewController(ctx, s.client, s.Core().V1().Pods(), s.Batch().V1().Jobs(), workloads, podGroups)
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		Name:          names.TTLAfterFinishedController,
		Aliases:       []string{"ttl-after-finished"},
		Does:          "deletes finished Jobs when their time is up",
		Account:       "ttl-after-finished-controller",
		Decides:       []string{"jobs.batch"},
		NamespaceSafe: true,
		Queues:        []Queue{{Spec: tap.Strings("ttl_jobs_to_delete", "queue"), Types: []string{"jobs.batch"}}},
		Reads:         []string{"batch/v1/jobs"},
		workers:       func(c *componentConfig) int { return int(c.TTLAfterFinishedController.ConcurrentTTLSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := ttlafterfinished.New(ctx, s.Batch().V1().Jobs(), s.client)
			return s.pool(c, c.Run), nil
		},
	}}
}
