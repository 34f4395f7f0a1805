package diagnosis

import (
	"fmt"
	"strings"
	"time"

	"github.com/robfig/cron/v3"
	batchv1 "k8s.io/api/batch/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// tooManyMissed is the number of missed runs from which the CronJob controller warns
// (k8s.io/kubernetes v1.37.1 pkg/controller/cronjob/utils.go).
const tooManyMissed = 100

// cronJobs finds why a CronJob creates no Job.
func cronJobs(f *Facts) []*draft {
	var out []*draft
	for i := range f.CronJobs {
		c := &f.CronJobs[i]
		r := batch("cronjobs", c)
		if c.Spec.Suspend != nil && *c.Spec.Suspend {
			continue
		}
		schedule, zone, err := scheduleOf(c)
		if err != nil {
			out = append(out, because("BadSchedule", r, "CronJob %s never runs: its schedule is invalid: %v", c.Name, err).
				see(r, "spec.schedule", c.Spec.Schedule).see(r, "spec.timeZone", zone).next("%s", kubectl("edit", r)))
			continue
		}
		since := c.CreationTimestamp.Time
		if c.Status.LastScheduleTime != nil {
			since = c.Status.LastScheduleTime.Time
		}
		due, missed := time.Time{}, 0
		for t := schedule.Next(since); !t.IsZero() && !t.After(f.Now) && missed <= tooManyMissed; t = schedule.Next(t) {
			due = t
			missed++
		}
		next := schedule.Next(f.Now)
		if next.IsZero() {
			out = append(out, because("BadSchedule", r, "CronJob %s never runs: its schedule matches no existing date", c.Name).
				see(r, "spec.schedule", c.Spec.Schedule).next("%s", kubectl("edit", r)))
			continue
		}
		switch {
		case c.Spec.ConcurrencyPolicy == batchv1.ForbidConcurrent && len(c.Status.Active) > 0 && missed > 0:
			d := because("ConcurrencyForbidden", r, "CronJob %s forbids concurrent runs, and its last Job has not finished: the run of %s was due %s", c.Name, due.UTC().Format(time.RFC3339), f.ago(due)).
				see(r, "spec.concurrencyPolicy", c.Spec.ConcurrencyPolicy)
			for _, a := range c.Status.Active {
				d.see(state.Ref{Group: "batch", Version: "v1", Resource: "jobs", Namespace: c.Namespace, Name: a.Name}, "status.active", "since "+f.ago(since))
			}
			out = append(out, d.next("kctl-ctrl why %s%s", word("job/"+c.Status.Active[0].Name), in(c.Namespace)))
		case missed > 0 && c.Spec.StartingDeadlineSeconds != nil && f.Now.Sub(due) > time.Duration(*c.Spec.StartingDeadlineSeconds)*time.Second:
			out = append(out, because("MissedDeadline", r, "CronJob %s missed the run of %s: it does not start a run more than %d seconds late", c.Name, due.UTC().Format(time.RFC3339), *c.Spec.StartingDeadlineSeconds).
				see(r, "spec.startingDeadlineSeconds", *c.Spec.StartingDeadlineSeconds).see(r, "status.lastScheduleTime", lastSchedule(c)).
				next("the next run is at %s; to run it now: kubectl create job %s --from=%s%s", next.UTC().Format(time.RFC3339), word(c.Name+"-manual"), word("cronjob/"+c.Name), in(c.Namespace)))
		case missed > tooManyMissed:
			out = append(out, because("TooManyMissed", r, "CronJob %s has missed more than %d runs: the CronJob controller was not running, or cannot keep up", c.Name, tooManyMissed).likely().
				see(r, "status.lastScheduleTime", lastSchedule(c)).see(r, "spec.schedule", c.Spec.Schedule).next("set spec.startingDeadlineSeconds, and check that kube-controller-manager is running"))
		case missed > 0 && f.Now.Sub(due) > time.Minute:
			d := because("ControllerNotActing", r, "CronJob %s was due %s and created no Job: the CronJob controller is not running, or its requests are rejected", c.Name, f.ago(due)).likely().
				see(r, "status.lastScheduleTime", lastSchedule(c)).see(r, "spec.schedule", c.Spec.Schedule)
			f.lease(d)
			out = append(out, d.next("kubectl get events%s --field-selector involvedObject.name=%s", in(c.Namespace), word(c.Name)))
		case c.Status.LastScheduleTime == nil && len(c.Status.Active) == 0:
			out = append(out, because("NotDueYet", r, "CronJob %s is not due before %s", c.Name, next.UTC().Format(time.RFC3339)).remark().
				see(r, "spec.schedule", c.Spec.Schedule+zoneWords(zone)).
				next("to run it now: kubectl create job %s --from=%s%s", word(c.Name+"-manual"), word("cronjob/"+c.Name), in(c.Namespace)))
		}
	}
	return out
}

func zoneWords(zone string) string {
	if zone == "" {
		return ", in the time zone of kube-controller-manager"
	}
	return ", " + zone
}

func lastSchedule(c *batchv1.CronJob) string {
	if c.Status.LastScheduleTime == nil {
		return "none"
	}
	return c.Status.LastScheduleTime.UTC().Format(time.RFC3339)
}

// scheduleOf parses a schedule as the CronJob controller does. Without spec.timeZone
// the controller uses its own time zone, which is unknown here: UTC is assumed.
func scheduleOf(c *batchv1.CronJob) (schedule cron.Schedule, zone string, err error) {
	text := c.Spec.Schedule
	if c.Spec.TimeZone != nil {
		zone = *c.Spec.TimeZone
		if _, err := time.LoadLocation(zone); err != nil {
			return nil, zone, fmt.Errorf("unknown time zone %s", zone)
		}
		if !strings.Contains(text, "TZ") {
			text = "TZ=" + zone + " " + text
		}
	} else if !strings.Contains(text, "TZ") {
		text = "TZ=UTC " + text
	}
	schedule, err = cron.ParseStandard(text)
	return schedule, zone, err
}
