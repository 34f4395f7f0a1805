package diagnosis

import (
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
)

// sandboxes reports pods whose sandbox the container runtime cannot create.
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
		return p.Spec.NodeName, d.next("check the network plugin on the node: kubectl get pods -n kube-system -o wide --field-selector spec.nodeName=%s", word(p.Spec.NodeName))
	})
}

func lastOf(message, after string) string {
	if i := strings.LastIndex(message, after); i >= 0 {
		return message[i+len(after):]
	}
	return message
}

// initGrace is how long an init container may run before the finding reports it.
const initGrace = time.Minute

// initRunning reports a pod that waits for an init container.
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
			d := because("InitContainerRunning", podRef(p), "pod %s waits for its init container %s, which has been running for %s", p.Name, c.status.Name, strings.TrimSuffix(f.ago(running.StartedAt.Time), " ago")).
				see(podRef(p), c.path+".state.running.startedAt", running.StartedAt.UTC().Format(time.RFC3339)).
				see(podRef(p), "status.conditions[type=Initialized]", conditionWords(p, corev1.PodInitialized))
			return c.status.Name, d.next("check what it waits for: kubectl logs %s -c %s%s", word("pod/"+p.Name), word(c.status.Name), in(p.Namespace))
		}
		return "", nil
	})
}

// sidecars reports a Job's pod whose work is complete while other containers keep
// running.
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
		d := because("SidecarRunning", podRef(p), "container %s has completed, but the pod does not complete while %s is running", few(done), few(left)).likely()
		for _, c := range containers(p) {
			if t := c.status.State.Terminated; t != nil {
				d.see(podRef(p), c.path+".state.terminated", endWords(t)+", "+f.ago(t.FinishedAt.Time))
			} else if slices.Contains(left, c.status.Name) {
				d.see(podRef(p), c.path+".state", "running")
			}
		}
		return strings.Join(left, ","), d.next("make %s a sidecar (an init container with restartPolicy: Always): it stops with the other containers", word(left[0]))
	})
}
