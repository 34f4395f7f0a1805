package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
)

var ruleText = regexp.MustCompile(`matching \S+ rule at index (\d+)`)

// failedJobs finds Jobs that have failed, and how their pods terminated.
func failedJobs(f *Facts) []*draft {
	var out []*draft
	for i := range f.Jobs {
		j := &f.Jobs[i]
		r := batch("jobs", j)
		c := failure(j)
		if c == nil {
			continue
		}
		path := "status.conditions[type=" + string(c.Type) + "]"
		d := because("JobFailed", r, "Job %s has failed: %s", j.Name, joinWords(c.Reason, "", c.Message)).
			see(r, path, joinWords(c.Reason, "", c.Message)).see(r, "status.failed", j.Status.Failed)
		switch c.Reason {
		case batchv1.JobReasonBackoffLimitExceeded:
			d.Cause = "BackoffLimit"
			d.Text = fmt.Sprintf("Job %s has failed: its pods failed %s, and its backoffLimit is %d", j.Name, plural(int(j.Status.Failed), "time", "times"), backoff(j))
			d.see(r, "spec.backoffLimit", backoff(j))
		case batchv1.JobReasonDeadlineExceeded:
			d.Cause = "DeadlineExceeded"
			if j.Spec.ActiveDeadlineSeconds != nil {
				d.Text = fmt.Sprintf("Job %s did not finish within %d seconds and was stopped", j.Name, *j.Spec.ActiveDeadlineSeconds)
				d.see(r, "spec.activeDeadlineSeconds", *j.Spec.ActiveDeadlineSeconds)
			}
		case batchv1.JobReasonPodFailurePolicy:
			d.Cause = "PodFailurePolicy"
			d.Text = fmt.Sprintf("Job %s was failed by its podFailurePolicy: %s", j.Name, c.Message)
			if m := ruleText.FindStringSubmatch(c.Message); m != nil {
				d.see(r, "spec.podFailurePolicy.rules["+m[1]+"]", rule(j, m[1]))
			}
		case batchv1.JobReasonFailedIndexes, batchv1.JobReasonMaxFailedIndexesExceeded:
			d.Cause = "FailedIndexes"
			indexes := "some"
			if j.Status.FailedIndexes != nil {
				indexes = *j.Status.FailedIndexes
				d.see(r, "status.failedIndexes", indexes)
			}
			d.Text = fmt.Sprintf("Job %s has failed: failed indexes: %s", j.Name, indexes)
			if n := j.Spec.MaxFailedIndexes; n != nil {
				d.see(r, "spec.maxFailedIndexes", *n)
			}
		}
		if end := f.seePodEnds(d, j); end != "" && d.Cause != "PodFailurePolicy" {
			d.Text += "; last failure: " + brief(end)
		}
		if f.targetIs("pods") {
			d.symptom() // this pod caused it
		}
		out = append(out, d.next("kubectl logs %s%s; a failed Job cannot be resumed, recreate it", word("job/"+j.Name), in(j.Namespace)))
	}
	return out
}

// failure is the condition by which a Job has failed or is about to fail.
func failure(j *batchv1.Job) *batchv1.JobCondition {
	var target *batchv1.JobCondition
	for i := range j.Status.Conditions {
		c := &j.Status.Conditions[i]
		switch {
		case c.Status != corev1.ConditionTrue:
		case c.Type == batchv1.JobFailed:
			return c
		case c.Type == batchv1.JobFailureTarget:
			target = c // its pods are being terminated
		}
	}
	return target
}

func rule(j *batchv1.Job, index string) string {
	if j.Spec.PodFailurePolicy == nil {
		return "none"
	}
	for i, r := range j.Spec.PodFailurePolicy.Rules {
		if fmt.Sprint(i) != index {
			continue
		}
		text := string(r.Action)
		if on := r.OnExitCodes; on != nil {
			text += fmt.Sprintf(" on exit codes %s %v", on.Operator, on.Values)
			if on.ContainerName != nil {
				text += " of container " + *on.ContainerName
			}
		}
		for _, on := range r.OnPodConditions {
			text += fmt.Sprintf(" on condition %s=%s", on.Type, on.Status)
		}
		return text
	}
	return "none"
}

// failed are the pods of a Job that have failed, newest first.
func (f *Facts) failed(j *batchv1.Job) []*corev1.Pod {
	var out []*corev1.Pod
	for i := range f.Pods {
		if p := &f.Pods[i]; ownedBy(p.OwnerReferences, j.UID) && p.Status.Phase == corev1.PodFailed {
			out = append(out, p)
		}
	}
	slices.SortStableFunc(out, func(a, b *corev1.Pod) int { return b.CreationTimestamp.Compare(a.CreationTimestamp.Time) })
	return out
}

// seePodEnds adds how the failed pods of a Job terminated and returns the newest one's
// termination.
func (f *Facts) seePodEnds(d *draft, j *batchv1.Job) string {
	failed := f.failed(j)
	for _, p := range failed[:min(len(failed), maxNamed)] {
		d.see(podRef(p), "status", podEnd(p))
	}
	if len(failed) == 0 {
		return ""
	}
	return podEnd(failed[0])
}

// failingJobs finds Jobs that have failing pods and have not failed yet.
func failingJobs(f *Facts) []*draft {
	var out []*draft
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if finished(j) || failure(j) != nil || j.Status.Failed == 0 || f.targetIs("pods") {
			continue
		}
		r := batch("jobs", j)
		d := because("PodsFail", r, "%s of Job %s failed so far; the Job fails after %d failures", plural(int(j.Status.Failed), "pod", "pods"), j.Name, backoff(j)+1).
			see(r, "status.failed", j.Status.Failed).see(r, "spec.backoffLimit", backoff(j))
		if n := j.Spec.BackoffLimitPerIndex; n != nil {
			d.Text = fmt.Sprintf("%s of Job %s failed so far; an index fails after %d failures", plural(int(j.Status.Failed), "pod", "pods"), j.Name, *n+1)
			d.see(r, "spec.backoffLimitPerIndex", *n)
		}
		if end := f.seePodEnds(d, j); end != "" {
			d.Text += "; last failure: " + brief(end)
		}
		if j.Status.Ready != nil && *j.Status.Ready > 0 && *j.Status.Ready >= j.Status.Active {
			d.remark() // its current pods are ready
		}
		name := "job/" + j.Name
		if failed := f.failed(j); len(failed) > 0 {
			name = "pod/" + failed[0].Name
		}
		out = append(out, d.next("kubectl logs %s%s", word(name), in(j.Namespace)))
	}
	return out
}

func backoff(j *batchv1.Job) int32 {
	if j.Spec.BackoffLimit == nil {
		return 6
	}
	return *j.Spec.BackoffLimit
}

func podEnd(p *corev1.Pod) string {
	for _, c := range containers(p) {
		if t := c.status.State.Terminated; t != nil && t.ExitCode != 0 {
			return strings.TrimSpace(joinWords(fmt.Sprintf("container %s, exit code %d", c.status.Name, t.ExitCode), t.Reason, strings.TrimSpace(t.Message)))
		}
	}
	return podPhase(p)
}

// lastRuns finds CronJobs whose last Job failed. failedJobs reports why that Job
// failed.
func lastRuns(f *Facts) []*draft {
	var out []*draft
	for i := range f.CronJobs {
		c := &f.CronJobs[i]
		if string(c.UID) != f.Target.UID {
			continue
		}
		var last *batchv1.Job
		for k := range f.Jobs {
			if j := &f.Jobs[k]; ownedBy(j.OwnerReferences, c.UID) && (last == nil || last.CreationTimestamp.Before(&j.CreationTimestamp)) {
				last = j
			}
		}
		if last == nil || failure(last) == nil {
			continue
		}
		r := batch("cronjobs", c)
		out = append(out, because("LastRunFailed", r, "the last Job of CronJob %s, %s, failed", c.Name, last.Name).symptom().
			see(batch("jobs", last), "status.conditions", joinWords(string(failure(last).Type), failure(last).Reason, failure(last).Message)).
			next("kctl-ctrl why %s%s", word("job/"+last.Name), in(c.Namespace)))
	}
	return out
}
