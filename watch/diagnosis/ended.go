package diagnosis

import (
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// disruptions are the reasons of a DisruptionTarget condition for which something other
// than its owner terminates a pod (k8s.io/api core/v1 types.go).
var disruptions = map[string]struct{ cause, text, next string }{
	corev1.PodReasonPreemptionByScheduler: {"Preempted", "the scheduler preempts pod %s in favor of a pod with higher priority", "raise the pod's priority, or add capacity: kubectl get priorityclasses"},
	"EvictionByEvictionAPI":               {"Evicted", "pod %s was evicted through the Eviction API, for example by kubectl drain", "check who drains its node: kubectl get nodes"},
	"DeletionByTaintManager":              {"TaintEviction", "pod %s does not tolerate a NoExecute taint of its node and is evicted", "kubectl describe nodes"},
	"DeletionByPodGC":                     {"NodeGone", "the node of pod %s no longer exists: the pod garbage collector deletes the pod", "kubectl get nodes"},
}

// disrupted finds pods that something other than their owner terminates.
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
			d.remark() // its owner creates another
		}
		return c.Reason, d.next("%s", why.next)
	})
}

func podPhase(p *corev1.Pod) string {
	return joinWords(string(p.Status.Phase), p.Status.Reason, strings.TrimSpace(p.Status.Message))
}

// failedPods finds pods that have failed and are not restarted.
func failedPods(f *Facts) []*draft {
	return f.grouped(func(p *corev1.Pod) (string, *draft) {
		target := string(p.UID) == f.Target.UID
		if p.Status.Phase != corev1.PodFailed || f.ofJob(p) && !target {
			return "", nil // failedJobs reports the pods of a Job
		}
		r := podRef(p)
		d := because("ContainerFailed", r, "pod %s has failed and is not restarted", p.Name)
		key := p.Status.Reason
		switch {
		case p.Status.Reason == "Evicted":
			d.Cause, d.Text = "Evicted", fmt.Sprintf("the kubelet of node %s evicted pod %s: %s", p.Spec.NodeName, p.Name, brief(p.Status.Message))
			d.next("set requests and limits that match its usage, or free resources on the node: kubectl describe node %s", word(p.Spec.NodeName))
		case p.Status.Reason == "DeadlineExceeded":
			d.Cause, d.Text = "DeadlineExceeded", fmt.Sprintf("pod %s exceeded its activeDeadlineSeconds and was stopped", p.Name)
			if s := p.Spec.ActiveDeadlineSeconds; s != nil {
				d.see(r, "spec.activeDeadlineSeconds", *s)
			}
		case rejectedByNode(p):
			d.Cause, d.Text = "RejectedByNode", fmt.Sprintf("the kubelet of node %s rejected pod %s: %s", p.Spec.NodeName, p.Name, brief(joinWords(p.Status.Reason, "", strings.TrimPrefix(p.Status.Message, "Pod was rejected: "))))
			d.next("kubectl describe node %s", word(p.Spec.NodeName))
		}
		d.see(r, "status.phase", podPhase(p))
		for _, c := range containers(p) {
			if t := c.status.State.Terminated; t != nil && t.ExitCode != 0 {
				d.see(r, c.path+".state.terminated", endWords(t))
				key += c.status.Name
				if d.Cause == "ContainerFailed" {
					d.Text = fmt.Sprintf("container %s of pod %s terminated with %s and is not restarted", c.status.Name, p.Name, brief(endWords(t)))
				}
			}
		}
		if !target && d.Cause != "ContainerFailed" {
			d.remark() // its owner has created another
		}
		if d.Next == "" {
			d.next("kubectl logs %s%s", word("pod/"+p.Name), in(p.Namespace))
		}
		return d.Cause + key, d
	})
}

// rejectedByNode reports whether the kubelet did not admit the pod (k8s.io/kubernetes
// v1.37.1 pkg/kubelet/kubelet.go rejectPod).
func rejectedByNode(p *corev1.Pod) bool {
	return strings.HasPrefix(p.Status.Message, "Pod was rejected: ") || len(p.Status.ContainerStatuses) == 0 && strings.HasPrefix(p.Status.Reason, "OutOf")
}
