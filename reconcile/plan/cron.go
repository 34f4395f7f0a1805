package plan

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

var jobs = schema.GroupVersionResource{Group: "batch", Version: "v1", Resource: "jobs"}

// scheduledAnnotation is batchv1.CronJobScheduledTimestampAnnotation.
const scheduledAnnotation = "batch.kubernetes.io/cronjob-scheduled-timestamp"

// fireCronJobs creates the Jobs that the CronJob controller would create in the minute
// of Options.At. The controller itself cannot be used: it reads the clock, and the
// CronJobs are suspended so that it does not act on it.
func (a *applying) fireCronJobs(ctx context.Context) error {
	if a.options.At.IsZero() {
		return nil
	}
	for _, r := range a.applied.Results {
		if r.Mapping.GroupVersionKind.GroupKind() != (schema.GroupKind{Group: "batch", Kind: "CronJob"}) {
			continue
		}
		job, err := jobDue(r, a.options.At)
		if err != nil {
			a.problems = append(a.problems, &Problem{At: r.Source, Object: describe(r.Manifest), Err: err})
			continue
		}
		if job == nil {
			continue
		}
		created, err := a.cluster.objects.Resource(jobs).Namespace(job.GetNamespace()).Create(ctx, job, metav1.CreateOptions{FieldManager: FieldManager})
		switch {
		case apierrors.IsAlreadyExists(err):
			continue // it was created already, as it would be for the controller
		case ctx.Err() != nil:
			return fmt.Errorf("create %s: %w", describe(job.Object), context.Cause(ctx))
		case err != nil:
			a.problems = append(a.problems, &Problem{At: r.Source, Object: describe(r.Manifest),
				Err: fmt.Errorf("create its Job %s: %w", job.GetName(), message(err))})
			continue
		}
		a.applied.Fired = append(a.applied.Fired, Result{Action: Created, Source: r.Source, After: created.Object,
			Note: "created here for its schedule at " + minuteOf(a.options.At).Format(time.RFC3339)})
	}
	return nil
}

func minuteOf(at time.Time) time.Time { return at.UTC().Truncate(time.Minute) }

// jobDue is the Job of a CronJob due in the minute of at, or nil. It follows
// pkg/controller/cronjob of k8s.io/kubernetes v1.37.1 (formatSchedule,
// getJobFromTemplate2). A schedule without a time zone is interpreted in UTC.
func jobDue(r Result, at time.Time) (*unstructured.Unstructured, error) {
	if suspended, _, _ := unstructured.NestedBool(r.Manifest, "spec", "suspend"); suspended {
		return nil, nil
	}
	cronJob := unstructured.Unstructured{Object: r.After}
	text, _, _ := unstructured.NestedString(r.After, "spec", "schedule")
	zone, _, _ := unstructured.NestedString(r.After, "spec", "timeZone")
	location, err := time.LoadLocation(zone)
	if err != nil {
		return nil, fmt.Errorf("read spec.timeZone: %w", err)
	}
	if zone != "" && !strings.Contains(text, "TZ") {
		text = "TZ=" + zone + " " + text
	}
	schedule, err := cron.ParseStandard(text)
	if err != nil {
		return nil, fmt.Errorf("read spec.schedule: %w", err)
	}
	minute := minuteOf(at)
	if !schedule.Next(minute.Add(-time.Second)).Equal(minute) {
		return nil, nil
	}
	policy, _, _ := unstructured.NestedString(r.After, "spec", "concurrencyPolicy")
	active, _, _ := unstructured.NestedSlice(r.After, "status", "active")
	if policy == "Forbid" && len(active) > 0 {
		return nil, nil
	}

	template, _, _ := unstructured.NestedMap(r.After, "spec", "jobTemplate")
	job := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "batch/v1", "kind": "Job", "spec": template["spec"]}}
	job.SetNamespace(cronJob.GetNamespace())
	job.SetName(fmt.Sprintf("%s-%d", cronJob.GetName(), minute.Unix()/60))
	labels, _, _ := unstructured.NestedStringMap(template, "metadata", "labels")
	job.SetLabels(labels)
	annotations, _, _ := unstructured.NestedStringMap(template, "metadata", "annotations")
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[scheduledAnnotation] = minute.In(location).Format(time.RFC3339)
	job.SetAnnotations(annotations)
	job.SetOwnerReferences([]metav1.OwnerReference{*metav1.NewControllerRef(&cronJob, schema.GroupVersionKind{Group: "batch", Version: "v1", Kind: "CronJob"})})
	return job, nil
}
