package engine

import "fmt"

const (
	jobLabels = "labels: {batch.kubernetes.io/controller-uid: $UID(Job/work), controller-uid: $UID(Job/work), batch.kubernetes.io/job-name: work, job-name: work}"
	jobDone   = "status: {startTime: $AGO(2h), completionTime: $AGO(1h), succeeded: 1, uncountedTerminatedPods: {}, conditions: [{type: SuccessCriteriaMet, status: 'True', lastTransitionTime: $AGO(1h)}, {type: Complete, status: 'True', lastTransitionTime: $AGO(1h)}]}"
	jobFailed = "status: {startTime: $AGO(2h), failed: 1, uncountedTerminatedPods: {}, conditions: [{type: FailureTarget, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: $AGO(1h)}, {type: Failed, status: 'True', reason: BackoffLimitExceeded, lastTransitionTime: $AGO(1h)}]}"
)

func yamlJob(name, meta, spec, rest string) string {
	return yamlObject("batch/v1", "Job", name, meta, "spec: {template: {spec: {restartPolicy: Never, containers: ["+webContainer+"]}}, "+spec+"}, "+rest)
}

func worker(name, meta, spec, rest string) string {
	return yamlPod(name, jobLabels+", "+jobTracked+", "+owned("batch/v1", "Job", "work")+", "+meta, "restartPolicy: Never, "+spec, rest)
}

// indexed is a pod of an indexed Job.
func indexed(i int, rest string) string {
	return yamlPod(fmt.Sprintf("work-%d", i), fmt.Sprintf("labels: {batch.kubernetes.io/controller-uid: $UID(Job/work), controller-uid: $UID(Job/work), batch.kubernetes.io/job-name: work, batch.kubernetes.io/job-completion-index: '%d'}, annotations: {batch.kubernetes.io/job-completion-index: '%d', batch.kubernetes.io/job-index-failure-count: '0'}, ", i, i)+jobTracked+", "+owned("batch/v1", "Job", "work"),
		"restartPolicy: Never, nodeName: gone-$NS", rest)
}

func jobScenarios() []scenario {
	const (
		loop                          = "job-controller"
		create, remove, patch, status = loop + " create pods", loop + " delete pods", loop + " patch pods", loop + " update jobs/status"
		failed                        = "status: {phase: Failed, startTime: $AGO(1h), containerStatuses: [{name: c, image: c, imageID: c, state: {terminated: {exitCode: 42, finishedAt: $AGO(1h)}}, restartCount: 0, ready: false}]}"
		done                          = "status: {phase: Succeeded, startTime: $AGO(1h), containerStatuses: [{name: c, image: c, imageID: c, state: {terminated: {exitCode: 0, finishedAt: $AGO(1h)}}, restartCount: 0, ready: false}]}"
		started                       = "status: {startTime: $AGO(1h), active: 1, uncountedTerminatedPods: {}}"
	)
	policy := func(action string) string {
		return "podFailurePolicy: {rules: [{action: " + action + ", onExitCodes: {operator: In, values: [42]}}]}"
	}
	return []scenario{
		{name: "job-new", quick: true, objects: yamlJob("work", "", "", ""), wants: []string{status}},
		{name: "job-started", quick: true, objects: yamlJob("work", "", "", started), wants: []string{create}},
		{name: "job-parallel", objects: yamlJob("work", "", "parallelism: 5, completions: 20", started), wants: []string{create}},
		{name: "job-work-queue", objects: yamlJob("work", "", "parallelism: 3", started), wants: []string{create}},
		{name: "job-indexed", objects: yamlJob("work", "", "parallelism: 3, completions: 3, completionMode: Indexed", started), wants: []string{create}},
		{name: "job-indexed-with-gap", objects: documents(yamlJob("work", "", "parallelism: 3, completions: 3, completionMode: Indexed", started), indexed(0, podRunning), indexed(2, podRunning)), wants: []string{create}},
		{name: "job-indexed-elastic-down", objects: documents(yamlJob("work", "", "parallelism: 1, completions: 1, completionMode: Indexed", started), indexed(0, podRunning), indexed(1, podRunning)), wants: []string{remove}},
		{name: "job-index-failed", objects: documents(yamlJob("work", "", "parallelism: 2, completions: 2, completionMode: Indexed, backoffLimitPerIndex: 0", started), indexed(0, failed), indexed(1, podRunning)), wants: []string{status}},
		{name: "job-too-many-indexes-failed", objects: documents(yamlJob("work", "", "parallelism: 2, completions: 2, completionMode: Indexed, backoffLimitPerIndex: 0, maxFailedIndexes: 0", started), indexed(0, failed), indexed(1, podRunning)), wants: []string{remove}},
		{name: "job-success-policy", objects: documents(yamlJob("work", "", "parallelism: 2, completions: 2, completionMode: Indexed, successPolicy: {rules: [{succeededIndexes: '0'}]}", started), indexed(0, done), indexed(1, podRunning)), wants: []string{remove}},
		{name: "job-suspended", objects: yamlJob("work", "", "suspend: true", ""), wants: []string{status}},
		{name: "job-suspended-while-running", objects: documents(yamlJob("work", "", "suspend: true", started), worker("p", "", "nodeName: gone-$NS", podRunning)), wants: []string{remove}},
		{name: "job-resumed", objects: yamlJob("work", "", "suspend: false", "status: {conditions: [{type: Suspended, status: 'True', reason: JobSuspended, lastTransitionTime: $AGO(1h)}]}"), wants: []string{status}},
		{name: "job-pod-done", quick: true, objects: documents(yamlJob("work", "", "", started), worker("p", "", "nodeName: gone-$NS", done)), wants: []string{status}},
		{name: "job-pod-counted", objects: documents(yamlJob("work", "", "completions: 2", started), worker("p", "", "nodeName: gone-$NS", done)), wants: []string{status}},
		{name: "job-pod-failed", objects: documents(yamlJob("work", "", "", started), worker("p", "", "nodeName: gone-$NS", failed)), wants: []string{status}},
		{name: "job-backoff-exceeded", objects: documents(yamlJob("work", "", "backoffLimit: 0, parallelism: 2, completions: 2", started), worker("p", "", "nodeName: gone-$NS", failed), worker("q", "", "nodeName: gone-$NS", podRunning)), wants: []string{remove}},
		{name: "job-deadline-exceeded", objects: documents(yamlJob("work", "", "activeDeadlineSeconds: 10", started), worker("p", "", "nodeName: gone-$NS", podRunning)), wants: []string{remove}},
		{name: "job-failure-policy-fails", objects: documents(yamlJob("work", "", "parallelism: 2, completions: 2, "+policy("FailJob"), started), worker("p", "", "nodeName: gone-$NS", failed), worker("q", "", "nodeName: gone-$NS", podRunning)), wants: []string{remove}},
		{name: "job-failure-policy-ignores", objects: documents(yamlJob("work", "", policy("Ignore"), started), worker("p", "", "nodeName: gone-$NS", failed)), wants: []string{status}},
		{name: "job-failure-policy-counts", objects: documents(yamlJob("work", "", policy("Count"), started), worker("p", "", "nodeName: gone-$NS", failed)), wants: []string{status}},
		{name: "job-parallelism-lowered", objects: documents(yamlJob("work", "", "parallelism: 1, completions: 9", started), worker("p", "", "nodeName: gone-$NS", podRunning), worker("q", "", "nodeName: gone-$NS", podRunning)), wants: []string{remove}},
		{name: "job-replaces-the-failed-only", objects: documents(yamlJob("work", "", "podReplacementPolicy: Failed", started), worker("p", "", "nodeName: gone-$NS", failed)), wants: []string{status}},
		{name: "job-adopts", objects: documents(yamlJob("work", "", "", started), yamlPod("stray", jobLabels+", "+jobTracked, "restartPolicy: Never", "")), wants: []string{patch}},
		{name: "job-orphaned-pod", objects: yamlPod("p", "labels: {batch.kubernetes.io/job-name: work}, "+jobTracked+"", "restartPolicy: Never", done), wants: []string{patch}},
		{name: "job-done-pod-tracked", objects: documents(yamlJob("work", "", "", jobDone), yamlPod("p", jobLabels+", "+jobTracked, "restartPolicy: Never", done)), wants: []string{patch}},
		{name: "job-ttl-of-complete", quick: true, objects: yamlJob("work", "", "ttlSecondsAfterFinished: 0", jobDone), wants: []string{"ttl-after-finished-controller delete jobs"}},
		{name: "job-ttl-of-failed", objects: yamlJob("work", "", "ttlSecondsAfterFinished: 60", jobFailed), wants: []string{"ttl-after-finished-controller delete jobs"}},
		{name: "job-ttl-of-several", objects: documents(yamlJob("work", "", "ttlSecondsAfterFinished: 0", jobDone), yamlJob("later", "", "ttlSecondsAfterFinished: 86400", jobDone), yamlJob("kept", "", "", jobDone)), wants: []string{"ttl-after-finished-controller delete jobs"}},
	}
}

func cronJobScenarios() []scenario {
	const (
		loop                   = "cronjob-controller"
		create, remove, status = loop + " create jobs", loop + " delete jobs", loop + " update cronjobs/status"
		last                   = "status: {lastScheduleTime: $AGO(3h)}"
	)
	cron := func(spec, rest string) string {
		return yamlObject("batch/v1", "CronJob", "tick", "", "spec: {schedule: '0 * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: ["+webContainer+"]}}}}, "+spec+"}, "+rest)
	}
	mine := owned("batch/v1", "CronJob", "tick")
	return []scenario{
		{name: "cronjob-due", quick: true, objects: cron("", last), wants: []string{create}},
		{name: "cronjob-time-zone", objects: cron("timeZone: Europe/Berlin", last), wants: []string{create}},
		{name: "cronjob-starting-deadline", objects: cron("startingDeadlineSeconds: 7200", last), wants: []string{create}},
		{name: "cronjob-missed-many", objects: yamlObject("batch/v1", "CronJob", "tick", "", "spec: {schedule: '*/10 * * * *', jobTemplate: {spec: {template: {spec: {restartPolicy: Never, containers: ["+webContainer+"]}}}}}, status: {lastScheduleTime: $AGO(20h)}"), wants: []string{create}},
		{name: "cronjob-replaces", quick: true, objects: documents(cron("concurrencyPolicy: Replace", ""), yamlJob("running", mine, "", ""),
			"{patch: CronJob/tick, status: {lastScheduleTime: $AGO(3h), active: [{apiVersion: batch/v1, kind: Job, name: running, namespace: $NS, uid: $UID(Job/running)}]}}"), wants: []string{remove, create}},
		{name: "cronjob-forbids", objects: documents(cron("concurrencyPolicy: Forbid", last), yamlJob("running", mine, "", "")), wants: []string{status}},
		{name: "cronjob-active-vanished", objects: cron("suspend: true", "status: {active: [{apiVersion: batch/v1, kind: Job, name: gone, namespace: $NS, uid: 11111111-0000-0000-0000-000000000002}]}"), wants: []string{status}},
		{name: "cronjob-active-done", objects: documents(cron("", ""), yamlJob("done", mine, "", jobDone)), wants: []string{status}},
		{name: "cronjob-history-of-successes", objects: documents(cron("successfulJobsHistoryLimit: 0, suspend: true", ""), yamlJob("done", mine, "", jobDone)), wants: []string{remove}},
		{name: "cronjob-history-of-failures", objects: documents(cron("failedJobsHistoryLimit: 1, suspend: true", ""), yamlJob("failed-1", mine, "", jobFailed), yamlJob("failed-2", mine, "", jobFailed)), wants: []string{remove}},
		{name: "cronjob-suspended", objects: documents(cron("suspend: true, successfulJobsHistoryLimit: 0", last), yamlJob("done", mine, "", jobDone)), wants: []string{remove}},
	}
}
