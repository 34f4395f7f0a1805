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

// A containerState is the status of a container with its spec.
type containerState struct {
	path   string
	status *corev1.ContainerStatus
	spec   *corev1.Container
	init   bool
}

// containers are the containers of a pod that have a status, init containers first.
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

// ended returns the most recent termination of a container: the current state, or the
// last state before its restart.
func (c containerState) ended() (*corev1.ContainerStateTerminated, string) {
	if t := c.status.State.Terminated; t != nil {
		return t, c.path + ".state.terminated"
	}
	return c.status.LastTerminationState.Terminated, c.path + ".lastState.terminated"
}

// settledAfter is how long a container must run before its last termination is
// considered resolved.
const settledAfter = 10 * time.Minute

// restarts reports whether the container is crash looping: it terminated and waits for
// a restart, or it was restarted recently and is not ready.
func (c containerState) restarts(p *corev1.Pod, now time.Time) bool {
	t, _ := c.ended()
	switch {
	case t == nil, c.status.Ready, p.Status.Phase == corev1.PodFailed, p.Status.Phase == corev1.PodSucceeded:
		return false
	case p.Spec.RestartPolicy == corev1.RestartPolicyNever:
		return false
	case c.status.State.Waiting != nil:
		return c.status.State.Waiting.Reason == "CrashLoopBackOff"
	case c.status.State.Terminated != nil:
		// A container that completed is restarted only by restartPolicy Always.
		return c.status.RestartCount > 0 && (p.Spec.RestartPolicy != corev1.RestartPolicyOnFailure && !c.init || t.ExitCode != 0)
	case c.status.State.Running != nil && now.Sub(c.status.State.Running.StartedAt.Time) > settledAfter:
		return false
	}
	return c.status.RestartCount > 0
}

func endWords(t *corev1.ContainerStateTerminated) string {
	return joinWords(fmt.Sprintf("exit code %d", t.ExitCode), t.Reason, strings.TrimSpace(t.Message))
}

// brief is the first line of a message, shortened for a finding's text; the evidence
// has all of it.
func brief(message string) string {
	const limit = 160
	message, _, _ = strings.Cut(strings.TrimSpace(message), "\n")
	if r := []rune(message); len(r) > limit {
		return string(r[:limit]) + "…"
	}
	return message
}

// outOfMemory finds containers that were OOM killed and have not recovered.
func outOfMemory(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		for _, c := range containers(p) {
			t, path := c.ended()
			failed := p.Status.Phase == corev1.PodFailed && !f.ofJob(p)
			if t == nil || t.Reason != "OOMKilled" || !failed && !c.restarts(p, f.Now) {
				continue
			}
			at := "spec.containers[name=" + c.status.Name + "].resources.limits.memory"
			limit, has := c.spec.Resources.Limits[corev1.ResourceMemory]
			if !has && p.Spec.Resources != nil {
				limit, has = p.Spec.Resources.Limits[corev1.ResourceMemory]
				at = "spec.resources.limits.memory"
			}
			d := because("OOMKilled", podRef(p), "container %s was OOM killed: it exceeded its memory limit of %s", c.status.Name, limit.String())
			if has {
				d.see(podRef(p), at, limit.String())
			} else {
				d.likely().Text = fmt.Sprintf("container %s was OOM killed and has no memory limit: its node ran out of memory", c.status.Name)
			}
			d.see(podRef(p), path, endWords(t)).see(podRef(p), c.path+".restartCount", c.status.RestartCount)
			return c.status.Name, d.next("raise the limit, or find what uses the memory: kubectl logs %s -c %s --previous%s", word("pod/"+p.Name), word(c.status.Name), in(p.Namespace))
		}
		return "", nil
	})
}

// startErrors finds containers that the container runtime cannot start.
func startErrors(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		for _, c := range containers(p) {
			path, message := c.path+".state.waiting", ""
			if w := c.status.State.Waiting; w != nil && w.Reason == "RunContainerError" {
				message = w.Message
			}
			if t, at := c.ended(); message == "" && t != nil && (t.Reason == "StartError" || t.Reason == "ContainerCannotRun") && !c.status.Ready && c.status.State.Running == nil {
				path, message = at, t.Message
			}
			if message == "" {
				continue
			}
			d := because("StartError", podRef(p), "container %s cannot be started: %s", c.status.Name, brief(lastClause(message))).see(podRef(p), path, message)
			if len(c.spec.Command) > 0 {
				d.see(podRef(p), "spec.containers[name="+c.status.Name+"].command", strings.Join(c.spec.Command, " "))
			}
			return c.status.Name, d.next("correct the command, or add it to the image: %s", kubectl("describe", podRef(p)))
		}
		return "", nil
	})
}

// lastClause is the last part of a runtime's message, which is closest to the reason.
func lastClause(message string) string {
	const start = "unable to start container process: "
	if i := strings.LastIndex(message, start); i >= 0 {
		return message[i+len(start):]
	}
	return message
}

var missingKeyText = regexp.MustCompile(`couldn't find key (\S+) in (ConfigMap|Secret) [^/]+/(\S+)`)

// missingKeys finds keys that a pod references and its ConfigMap or Secret lacks. The
// keys themselves are not read; the kubelet's message is the evidence.
func missingKeys(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		if podReady(p) {
			return "", nil
		}
		if path, s := waiting(p, "CreateContainerConfigError"); s != nil {
			if m := missingKeyText.FindStringSubmatch(s.State.Waiting.Message); m != nil {
				d := because("MissingKey", podRef(p), "container %s references key %s of %s %s, which has no such key", s.Name, m[1], m[2], m[3]).see(podRef(p), path+".waiting", s.State.Waiting.Message)
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
			d := because("MissingKey", podRef(p), "pod %s references key %s of %s %s, which has no such key", p.Name, key, kind, name).likely().event(e)
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

// mountFailures are the kubelet's Events about volumes of a pod that has not started,
// newest first.
func (f *Facts) mountFailures(p *corev1.Pod) []corev1.Event {
	if p.Status.Phase != corev1.PodPending || p.Spec.NodeName == "" {
		return nil
	}
	return f.events(string(p.UID), "FailedMount", "FailedAttachVolume", "FailedMapVolume")
}

// multiAttach finds a volume that is attached to another node and supports only one.
func multiAttach(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		for _, e := range f.mountFailures(p) {
			if !strings.Contains(e.Message, "Multi-Attach error") {
				continue
			}
			if done := f.events(string(p.UID), "SuccessfulAttachVolume"); len(done) > 0 && eventTime(done[0]).After(eventTime(e)) {
				return "", nil
			}
			d := because("MultiAttach", podRef(p), "a volume of pod %s is attached to another node, and supports only one node at a time", p.Name).event(e)
			for _, name := range claimsOf(p) {
				d.see(podRef(p), "spec.volumes[].persistentVolumeClaim.claimName", name)
			}
			return e.Message, d.next("delete the pod that uses the volume, use one claim per pod, or a volume that supports ReadWriteMany")
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

// ofJob reports whether a Job owns the pod.
func (f *Facts) ofJob(p *corev1.Pod) bool {
	return slices.ContainsFunc(p.OwnerReferences, func(r metav1.OwnerReference) bool { return r.Kind == "Job" })
}

// onLostNode reports whether the pod's status is stale because its node is lost.
func (f *Facts) onLostNode(p *corev1.Pod) bool {
	if p.Spec.NodeName == "" {
		return false
	}
	node, known := f.node(p.Spec.NodeName)
	return known == absent || node != nil && !nodeReady(node)
}
