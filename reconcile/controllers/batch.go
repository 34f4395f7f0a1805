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
)

func batchRows() []row {
	return []row{{
		name:          names.CronJobController,
		aliases:       []string{"cronjob"},
		does:          "creates Jobs on the schedules of CronJobs",
		namespaceSafe: true,
		queues:        []string{"cronjob"},
		reads:         []string{"batch/v1/cronjobs", "batch/v1/jobs"},
		workers:       func(c *componentConfig) int { return int(c.CronJobController.ConcurrentCronJobSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c, err := cronjob.NewControllerV2(ctx, s.Batch().V1().Jobs(), s.Batch().V1().CronJobs(), s.client)
			if err != nil {
				return nil, err
			}
			return s.pool(c, c.Run), nil
		},
	}, {
		name:          names.JobController,
		aliases:       []string{"job"},
		does:          "runs the pods of Jobs to completion",
		namespaceSafe: true,
		queues:        []string{"job", "job_orphan_pod"},
		reads:         []string{"batch/v1/jobs", "v1/pods"},
		readsIf: map[featuregate.Feature][]string{features.WorkloadWithJob: {
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
		name:          names.TTLAfterFinishedController,
		aliases:       []string{"ttl-after-finished"},
		does:          "deletes finished Jobs when their time is up",
		namespaceSafe: true,
		queues:        []string{"ttl_jobs_to_delete"},
		reads:         []string{"batch/v1/jobs"},
		workers:       func(c *componentConfig) int { return int(c.TTLAfterFinishedController.ConcurrentTTLSyncs) },
		build: func(ctx context.Context, s *scope) ([]loop, error) {
			c := ttlafterfinished.New(ctx, s.Batch().V1().Jobs(), s.client)
			return s.pool(c, c.Run), nil
		},
	}}
}
