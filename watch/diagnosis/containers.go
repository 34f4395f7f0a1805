package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A containerState is one container of a pod, with what the pod asks for it.
type containerState struct {
	path   string
	status *corev1.ContainerStatus
	spec   *corev1.Container
	init   bool
}

// containers are those of a pod that have a status, init containers first.
func containers(p *corev1.Pod) []containerState {
	var out []containerState
	add := func(path string, statuses []corev1.ContainerStatus, specs []corev1.Container, init bool) {
		for i := range statuses {
			s := &statuses[i]
			c := containerState{path: fmt.Sprintf("%s[name=%s]", path, s.Name), status: s, spec: &corev1.Container{Name: s.Name}, init: init}
			for j := range specs {
				if specs[j].Name == s.Name {
					c.spec = &specs[j]
				}
			}
			out = append(out, c)
		}
	}
	add("status.initContainerStatuses", p.Status.InitContainerStatuses, p.Spec.InitContainers, true)
	add("status.containerStatuses", p.Status.ContainerStatuses, p.Spec.Containers, false)
	return out
}

// ended is how a container ended last: it is terminated now, or was before it was
// started again.
func (c containerState) ended() (*corev1.ContainerStateTerminated, string) {
	if t := c.status.State.Terminated; t != nil {
		return t, c.path + ".state.terminated"
	}
	return c.status.LastTerminationState.Terminated, c.path + ".lastState.terminated"
}

// restarts reports that the container ended, and that the kubelet starts it
// again: it waits for that, or runs again and is not ready.
func (c containerState) restarts(p *corev1.Pod) bool {
	t, _ := c.ended()
	switch {
	case t == nil, c.status.Ready, p.Status.Phase == corev1.PodFailed, p.Status.Phase == corev1.PodSucceeded:
		return false
	case p.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return false
	case c.status.State.Waiting != nil:
		return c.status.State.Waiting.Reason == "CrashLoopBackOff"
	case c.status.State.Terminated != nil:
		// A container that ended well stays so, unless all are started again.
		return c.status.RestartCount > 0 && (p.Spec.RestartPolicy != corev1.RestartPolicyOnFailure && !c.init || t.ExitCode != 0)
	}
	return c.status.RestartCount > 0
}

func endWords(t *corev1.ContainerStateTerminated) string {
	return joinWords(fmt.Sprintf("exit code %d", t.ExitCode), t.Reason, strings.TrimSpace(t.Message))
}

// brief is the first line of a message, for a sentence; evidence has the whole.
func brief(message string) string {
	const limit = 160
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	if r := []rune(message); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return message
}

// outOfMemory: the kernel killed a container for its memory, and it has not
// recovered.
func outOfMemory(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		for _, c := range containers(p) {
			t, path := c.ended()
			failed := p.Status.Phase == corev1.PodFailed && !f.ofJob(p)
			if t == nil || t.Reason != "OOMKilled" || !failed && !c.restarts(p) {
				continue
			}
			at := "spec.containers[name=" + c.status.Name + "].resources.limits.memory"
			limit, has := c.spec.Resources.Limits[corev1.ResourceMemory]
			if !has && p.Spec.Resources != nil {
				limit, has = p.Spec.Resources.Limits[corev1.ResourceMemory]
				at = "spec.resources.limits.memory"
			}
			d := because("OOMKilled", podRef(p), "container %s was killed for using more memory than its limit of %s", c.status.Name, limit.String())
			if has {
				d.see(podRef(p), at, limit.String())
			} else {
				d.likely().Text = fmt.Sprintf("container %s was killed for its memory, and has no limit: its node ran out of memory", c.status.Name)
			}
			d.see(podRef(p), path, endWords(t)).see(podRef(p), c.path+".restartCount", c.status.RestartCount)
			return c.status.Name, d.next("raise the limit, or find what takes the memory: kubectl logs %s -c %s --previous%s", word("pod/"+p.Name), word(c.status.Name), in(p.Namespace))
		}
		return "", nil
	})
}

var killedByProbe = regexp.MustCompile(`Container (\S+) failed (liveness|startup) probe`)

// probes: a liveness or startup probe has its container killed. The kubelet says
// so in an Event; without it, a failing probe is only likely to be the reason.
func probes(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if podReady(p) || p.DeletionTimestamp != nil {
			return "", nil
		}
		unhealthy := f.events(string(p.UID), "Unhealthy")
		for _, kind := range []struct{ cause, name string }{{"StartupProbe", "Startup"}, {"LivenessProbe", "Liveness"}} {
			i := slices.IndexFunc(unhealthy, func(e corev1.Event) bool { return strings.HasPrefix(e.Message, kind.name+" probe ") })
			if i < 0 {
				continue
			}
			for _, c := range containers(p) {
				probe := c.spec.LivenessProbe
				if kind.name == "Startup" {
					probe = c.spec.StartupProbe
				}
				if probe == nil || !c.restarts(p) && (kind.name == "Liveness" || c.status.State.Running == nil) {
					continue
				}
				d := because(kind.cause, podRef(p), "the %s probe of container %s fails: the kubelet kills the container and starts it again", strings.ToLower(kind.name), c.status.Name)
				killed := slices.DeleteFunc(f.events(string(p.UID), "Killing"), func(e corev1.Event) bool {
					m := killedByProbe.FindStringSubmatch(e.Message)
					return m == nil || m[1] != c.status.Name || !strings.EqualFold(m[2], kind.name)
				})
				if t, _ := c.ended(); t == nil || len(killed) == 0 || !t.StartedAt.IsZero() && eventTime(killed[0]).Before(t.StartedAt.Time) {
					d.likely()
				}
				d.event(unhealthy[i])
				if len(killed) > 0 {
					d.event(killed[0])
				}
				d.see(podRef(p), "spec.containers[name="+c.status.Name+"]."+strings.ToLower(kind.name)+"Probe", probeWords(probe))
				d.see(podRef(p), c.path+".restartCount", c.status.RestartCount)
				return kind.cause + c.status.Name, d.next("compare the probe's port, path and timeouts with what the container serves: kubectl logs %s -c %s%s", word("pod/"+p.Name), word(c.status.Name), in(p.Namespace))
			}
		}
		return "", nil
	})
}

// killedByProbe reports that a liveness or startup probe is the certain reason why
// a container ends.
func (f *Facts) killedByProbe(p *corev1.Pod, container string) bool {
	for _, e := range f.events(string(p.UID), "Killing") {
		m := killedByProbe.FindStringSubmatch(e.Message)
		if m == nil || m[1] != container {
			continue
		}
		for _, c := range containers(p) {
			probed := c.spec.LivenessProbe != nil || c.spec.StartupProbe != nil
			if t, _ := c.ended(); c.status.Name == container && probed && t != nil && !eventTime(e).Before(t.StartedAt.Time) {
				return true
			}
		}
	}
	return false
}

func probeWords(p *corev1.Probe) string {
	text := "timeout " + orDefault(p.TimeoutSeconds, 1) + "s, period " + orDefault(p.PeriodSeconds, 10) + "s, failureThreshold " + orDefault(p.FailureThreshold, 3)
	switch {
	case p.HTTPGet != nil:
		return "HTTP port " + p.HTTPGet.Port.String() + " path " + p.HTTPGet.Path + ", " + text
	case p.TCPSocket != nil:
		return "TCP port " + p.TCPSocket.Port.String() + ", " + text
	case p.GRPC != nil:
		return fmt.Sprintf("gRPC port %d, %s", p.GRPC.Port, text)
	case p.Exec != nil:
		return "command " + strings.Join(p.Exec.Command, " ") + ", " + text
	}
	return text
}

// orDefault is a probe's number, or what the API server sets where it is 0.
func orDefault(n, otherwise int32) string {
	if n == 0 {
		n = otherwise
	}
	return fmt.Sprint(n)
}

// notServing: containers that run, and a readiness probe or gate that says no.
func notServing(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if p.Status.Phase != corev1.PodRunning || podReady(p) || p.DeletionTimestamp != nil || f.onLostNode(p) {
			return "", nil
		}
		r := podRef(p)
		ready := condition(p, corev1.ContainersReady)
		for _, gate := range p.Spec.ReadinessGates {
			if c := condition(p, gate.ConditionType); c == nil || c.Status != corev1.ConditionTrue {
				d := because("ReadinessGate", r, "pod %s waits for its readiness gate %s: its controller has not set the condition", p.Name, gate.ConditionType).
					see(r, "status.conditions[type="+string(gate.ConditionType)+"]", conditionWords(p, gate.ConditionType)).
					see(r, "status.conditions[type=ContainersReady]", conditionWords(p, corev1.ContainersReady))
				if ready == nil || ready.Status != corev1.ConditionTrue {
					d.symptom() // its containers are not ready either
				}
				return string(gate.ConditionType), d.next("find the controller that sets this condition and see why it does not")
			}
		}
		events := slices.DeleteFunc(f.events(string(p.UID), "Unhealthy"), func(e corev1.Event) bool { return !strings.HasPrefix(e.Message, "Readiness probe ") })
		for _, c := range containers(p) {
			if c.spec.ReadinessProbe == nil || c.status.Ready || c.status.State.Running == nil || len(events) == 0 || c.restarts(p) {
				continue
			}
			d := because("ReadinessProbe", r, "container %s of pod %s runs, and its readiness probe fails", c.status.Name, p.Name).
				event(events[0]).see(r, "spec.containers[name="+c.status.Name+"].readinessProbe", probeWords(c.spec.ReadinessProbe)).
				see(r, "status.conditions[type=Ready]", conditionWords(p, corev1.PodReady))
			return c.status.Name, d.next("compare the probe's port and path with what the container serves: kubectl logs %s -c %s%s", word("pod/"+p.Name), word(c.status.Name), in(p.Namespace))
		}
		return "", nil
	})
}

// startErrors: the container runtime cannot start the command.
func startErrors(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		for _, c := range containers(p) {
			path, message := c.path+".state.waiting", ""
			if w := c.status.State.Waiting; w != nil && w.Reason == "RunContainerError" {
				message = w.Message
			}
			if t, at := c.ended(); message == "" && t != nil && (t.Reason == "StartError" || t.Reason == "ContainerCannotRun") && !c.status.Ready {
				path, message = at, t.Message
			}
			if message == "" {
				continue
			}
			d := because("StartError", podRef(p), "the command of container %s cannot be started: %s", c.status.Name, brief(lastClause(message))).see(podRef(p), path, message)
			if len(c.spec.Command) > 0 {
				d.see(podRef(p), "spec.containers[name="+c.status.Name+"].command", strings.Join(c.spec.Command, " "))
			}
			return c.status.Name, d.next("correct the command, or build the image with it: %s", kubectl("describe", podRef(p)))
		}
		return "", nil
	})
}

// lastClause is the end of a runtime's message, which is nearest to the reason.
func lastClause(message string) string {
	const start = "unable to start container process: "
	if i := strings.LastIndex(message, start); i >= 0 {
		return message[i+len(start):]
	}
	return message
}

var missingKeyText = regexp.MustCompile(`couldn't find key (\S+) in (ConfigMap|Secret) [^/]+/(\S+)`)

// missingKeys: a ConfigMap or Secret lacks a key that the pod is made from. Keys
// are not read here: the kubelet says it.
func missingKeys(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if podReady(p) {
			return "", nil
		}
		if path, s := waiting(p, "CreateContainerConfigError"); s != nil {
			if m := missingKeyText.FindStringSubmatch(s.State.Waiting.Message); m != nil {
				d := because("MissingKey", podRef(p), "container %s needs key %s of %s %s, which has no such key", s.Name, m[1], m[2], m[3]).see(podRef(p), path+".waiting", s.State.Waiting.Message)
				return m[2] + m[3] + m[1], d.next("add the key, or correct its name in the template: %s", "kubectl describe "+word(strings.ToLower(m[2])+"/"+m[3])+in(p.Namespace))
			}
		}
		for _, e := range f.mountFailures(p) {
			_, key, is := strings.Cut(e.Message, "references non-existent secret key: ")
			if !is {
				_, key, is = strings.Cut(e.Message, "references non-existent config key: ")
			}
			if !is {
				continue
			}
			kind, name := volumeSource(p, e.Message)
			d := because("MissingKey", podRef(p), "pod %s needs key %s of %s %s, which has no such key", p.Name, key, kind, name).likely().event(e)
			return kind + name + key, d.next("add the key, or correct its name in the template: %s", "kubectl describe "+word(strings.ToLower(kind)+"/"+name)+in(p.Namespace))
		}
		return "", nil
	})
}

// volumeSource is the ConfigMap or Secret of the volume that a message names.
func volumeSource(p *corev1.Pod, message string) (kind, name string) {
	for _, v := range p.Spec.Volumes {
		if !strings.Contains(message, `"`+v.Name+`"`) {
			continue
		}
		switch {
		case v.Secret != nil:
			return "Secret", v.Secret.SecretName
		case v.ConfigMap != nil:
			return "ConfigMap", v.ConfigMap.Name
		}
	}
	return "Secret or ConfigMap", "of a volume"
}

// mountFailures are the kubelet's Events about volumes of a pod that has not
// started, the newest first.
func (f *Facts) mountFailures(p *corev1.Pod) []corev1.Event {
	if p.Status.Phase != corev1.PodPending || p.Spec.NodeName == "" {
		return nil
	}
	return f.events(string(p.UID), "FailedMount", "FailedAttachVolume", "FailedMapVolume")
}

// multiAttach: a volume is attached to another node and can only be on one.
func multiAttach(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		for _, e := range f.mountFailures(p) {
			if !strings.Contains(e.Message, "Multi-Attach error") {
				continue
			}
			if done := f.events(string(p.UID), "SuccessfulAttachVolume"); len(done) > 0 && eventTime(done[0]).After(eventTime(e)) {
				return "", nil
			}
			d := because("MultiAttach", podRef(p), "a volume of pod %s is still in use on another node, and can be attached to one node only", p.Name).event(e)
			for _, name := range claimsOf(p) {
				d.see(podRef(p), "spec.volumes[].persistentVolumeClaim.claimName", name)
			}
			return e.Message, d.next("end the pod that has the volume, use one claim per pod, or a volume that allows ReadWriteMany")
		}
		return "", nil
	})
}

func claimsOf(p *corev1.Pod) []string {
	var names []string
	for _, v := range p.Spec.Volumes {
		if v.PersistentVolumeClaim != nil {
			names = append(names, v.PersistentVolumeClaim.ClaimName)
		}
	}
	return names
}

// sandboxes: the runtime cannot make the pod's network.
func sandboxes(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if p.Status.Phase != corev1.PodPending || p.Spec.NodeName == "" {
			return "", nil
		}
		events := f.events(string(p.UID), "FailedCreatePodSandBox")
		started := condition(p, corev1.PodReadyToStartContainers)
		if len(events) == 0 || started != nil && started.Status == corev1.ConditionTrue {
			return "", nil
		}
		d := because("PodSandbox", podRef(p), "node %s cannot create the sandbox of pod %s: %s", p.Spec.NodeName, p.Name, brief(lastOf(events[0].Message, "desc = "))).
			event(events[0]).see(podRef(p), "status.conditions[type=PodReadyToStartContainers]", conditionWords(p, corev1.PodReadyToStartContainers))
		if started == nil {
			d.likely()
		}
		return p.Spec.NodeName, d.next("look at the network plugin on the node: kubectl get pods -n kube-system -o wide --field-selector spec.nodeName=%s", word(p.Spec.NodeName))
	})
}

func lastOf(message, after string) string {
	if i := strings.LastIndex(message, after); i >= 0 {
		return message[i+len(after):]
	}
	return message
}

// initGrace is how long an init container may run before it counts as what the
// pod waits for.
const initGrace = time.Minute

// initRunning: the pod waits for an init container that does not end.
func initRunning(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if p.Status.Phase != corev1.PodPending {
			return "", nil
		}
		for _, c := range containers(p) {
			running := c.status.State.Running
			sidecar := c.spec.RestartPolicy != nil && *c.spec.RestartPolicy == corev1.ContainerRestartPolicyAlways
			if !c.init || running == nil || sidecar || f.Now.Sub(running.StartedAt.Time) < initGrace {
				continue
			}
			d := because("InitContainerRunning", podRef(p), "pod %s waits for its init container %s, which has been running since %s", p.Name, c.status.Name, f.ago(running.StartedAt.Time)).
				see(podRef(p), c.path+".state.running.startedAt", running.StartedAt.UTC().Format(time.RFC3339)).
				see(podRef(p), "status.conditions[type=Initialized]", conditionWords(p, corev1.PodInitialized))
			d.Text = strings.Replace(d.Text, "since ", "for ", 1)
			d.Text = strings.TrimSuffix(d.Text, " ago")
			return c.status.Name, d.next("see what it waits for: kubectl logs %s -c %s%s", word("pod/"+p.Name), word(c.status.Name), in(p.Namespace))
		}
		return "", nil
	})
}

// sidecars: a Job's pod whose work is done and whose other containers run on.
func sidecars(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if p.Status.Phase != corev1.PodRunning || !f.ofJob(p) || p.DeletionTimestamp != nil {
			return "", nil
		}
		var done, left []string
		var at time.Time
		for _, c := range containers(p) {
			switch t := c.status.State.Terminated; {
			case c.init:
			case t != nil && t.ExitCode == 0:
				done = append(done, c.status.Name)
				if t.FinishedAt.After(at) {
					at = t.FinishedAt.Time
				}
			case c.status.State.Running != nil:
				left = append(left, c.status.Name)
			default:
				return "", nil
			}
		}
		if len(done) == 0 || len(left) == 0 || f.Now.Sub(at) < initGrace {
			return "", nil
		}
		d := because("SidecarRunning", podRef(p), "container %s has ended well, and the pod does not end while %s runs", few(done), few(left)).likely()
		for _, c := range containers(p) {
			if t := c.status.State.Terminated; t != nil {
				d.see(podRef(p), c.path+".state.terminated", endWords(t)+", "+f.ago(t.FinishedAt.Time))
			} else if slices.Contains(left, c.status.Name) {
				d.see(podRef(p), c.path+".state", "running")
			}
		}
		return strings.Join(left, ","), d.next("make %s an init container with restartPolicy: Always, which ends with the others", word(left[0]))
	})
}

// ofJob reports whether a pod is a Job's.
func (f *Facts) ofJob(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == "Job" })
}

// onLostNode reports that what is known of a pod is old.
func (f *Facts) onLostNode(p *corev1.Pod) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	node, known := f.node(p.Spec.NodeName)
	return known == absent || node != nil && !nodeReady(node)
}

// disruptions are the reasons of a DisruptionTarget condition that end a pod from
// outside (k8s.io/api core/v1 types.go).
var disruptions = map[string]struct{ cause, text, next string }{
	corev1.PodReasonPreemptionByScheduler: {"Preempted", "the scheduler ends pod %s to make room for a pod of higher priority", "give the pod a higher priority, or the cluster more room: kubectl get priorityclasses"},
	"EvictionByEvictionAPI":               {"Evicted", "pod %s was evicted through the API, as kubectl drain does", "see who drains its node: kubectl get nodes"},
	"DeletionByTaintManager":              {"TaintEviction", "pod %s does not tolerate a NoExecute taint of its node and is deleted", "kubectl describe nodes"},
	"DeletionByPodGC":                     {"NodeGone", "the node of pod %s is gone, and the pod garbage collector deletes the pod", "kubectl get nodes"},
}

// disrupted: a pod that something else than its owner ends.
func disrupted(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		c := condition(p, corev1.DisruptionTarget)
		if c == nil || c.Status != corev1.ConditionTrue {
			return "", nil
		}
		why, known := disruptions[c.Reason]
		if !known || p.DeletionTimestamp == nil && p.Status.Phase != corev1.PodFailed {
			return "", nil
		}
		d := because(why.cause, podRef(p), why.text, p.Name).see(podRef(p), "status.conditions[type=DisruptionTarget]", joinWords(string(c.Status), c.Reason, c.Message))
		if string(p.UID) != f.Target.UID {
			d.remark() // its owner makes another
		}
		return c.Reason, d.next("%s", why.next)
	})
}

func podPhase(p *corev1.Pod) string {
	return joinWords(string(p.Status.Phase), p.Status.Reason, strings.TrimSpace(p.Status.Message))
}

// failedPods: pods that have failed and are not started again.
func failedPods(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		target := string(p.UID) == f.Target.UID
		if p.Status.Phase != corev1.PodFailed || f.ofJob(p) && !target {
			return "", nil // failedJobs names the pods of a Job
		}
		r := podRef(p)
		d := because("ContainerFailed", r, "pod %s has failed and is not started again", p.Name)
		key := p.Status.Reason
		switch {
		case p.Status.Reason == "Evicted":
			d.Cause, d.Text = "Evicted", fmt.Sprintf("the kubelet of node %s evicted pod %s: %s", p.Spec.NodeName, p.Name, brief(p.Status.Message))
			d.next("set requests and limits that fit its use, or free the node: kubectl describe node %s", word(p.Spec.NodeName))
		case p.Status.Reason == "DeadlineExceeded":
			d.Cause, d.Text = "DeadlineExceeded", fmt.Sprintf("pod %s ran longer than its activeDeadlineSeconds and was stopped", p.Name)
			if s := p.Spec.ActiveDeadlineSeconds; s != nil {
				d.see(r, "spec.activeDeadlineSeconds", *s)
			}
		case rejectedByNode(p):
			d.Cause, d.Text = "RejectedByNode", fmt.Sprintf("the kubelet of node %s refused pod %s: %s", p.Spec.NodeName, p.Name, brief(joinWords(p.Status.Reason, "", strings.TrimPrefix(p.Status.Message, "Pod was rejected: "))))
			d.next("kubectl describe node %s", word(p.Spec.NodeName))
		}
		d.see(r, "status.phase", podPhase(p))
		for _, c := range containers(p) {
			if t := c.status.State.Terminated; t != nil && t.ExitCode != 0 {
				d.see(r, c.path+".state.terminated", endWords(t))
				key += c.status.Name
				if d.Cause == "ContainerFailed" {
					d.Text = fmt.Sprintf("container %s of pod %s ended with %s, and is not started again", c.status.Name, p.Name, brief(endWords(t)))
				}
			}
		}
		if !target && d.Cause != "ContainerFailed" {
			d.remark() // its owner has made another
		}
		if d.Next == "" {
			d.next("kubectl logs %s%s", word("pod/"+p.Name), in(p.Namespace))
		}
		return d.Cause + key, d
	})
}

// rejectedByNode reports that the kubelet did not admit the pod
// (k8s.io/kubernetes v1.37.1 pkg/kubelet/kubelet.go rejectPod).
func rejectedByNode(p *corev1.Pod) bool {
	return strings.HasPrefix(p.Status.Message, "Pod was rejected: ") || len(p.Status.ContainerStatuses) == 0 && strings.HasPrefix(p.Status.Reason, "OutOf")
}
