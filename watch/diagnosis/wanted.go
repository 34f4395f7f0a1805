package diagnosis

import (
	"fmt"
	"slices"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// paused reports paused Deployments: they are scaled, but not rolled out. It is a cause
// only if the template differs from that of the newest ReplicaSet.
func paused(f *Facts) []*draft {
	var out []*draft
	for i := range f.Deployments {
		d := &f.Deployments[i]
		if !d.Spec.Paused {
			continue
		}
		r := apps("deployments", d)
		found := because("Paused", r, "Deployment %s is paused: changes to its template are not rolled out", d.Name).see(r, "spec.paused", true)
		switch newest := f.replicaSetOf(d); {
		case !f.Known["replicasets.apps"]:
			found.likely()
		case newest == nil && f.owned(d) == 0:
			found.Text = fmt.Sprintf("Deployment %s is paused and has no ReplicaSet yet: none is created until it is resumed", d.Name)
		case newest == nil:
			found.Text = fmt.Sprintf("Deployment %s is paused: its latest template has no ReplicaSet", d.Name)
			found.see(r, "metadata.generation", d.Generation)
		default:
			found.remark()
			found.Text = fmt.Sprintf("Deployment %s is paused: its current template is rolled out, later changes are not", d.Name)
		}
		out = append(out, found.next("kubectl rollout resume %s%s", word("deployment/"+d.Name), in(d.Namespace)))
	}
	return out
}

// replicaSetOf is the ReplicaSet with the Deployment's current template, or nil.
func (f *Facts) replicaSetOf(d *appsv1.Deployment) *appsv1.ReplicaSet {
	for i := range f.ReplicaSets {
		rs := &f.ReplicaSets[i]
		template := rs.Spec.Template.DeepCopy()
		delete(template.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		want := d.Spec.Template.DeepCopy()
		delete(want.Labels, appsv1.DefaultDeploymentUniqueLabelKey)
		if ownedBy(rs.OwnerReferences, d.UID) && equality.Semantic.DeepEqual(template, want) {
			return rs
		}
	}
	return nil
}

func (f *Facts) owned(d *appsv1.Deployment) int {
	n := 0
	for i := range f.ReplicaSets {
		if ownedBy(f.ReplicaSets[i].OwnerReferences, d.UID) {
			n++
		}
	}
	return n
}

// workload has the fields that kinds with replicas share.
type workload struct {
	ref      state.Ref
	kind     string
	uid      string
	replicas *int32
	current  int32
	// owned: an owner sets its replicas.
	owned bool
}

func (f *Facts) workloads() []workload {
	var out []workload
	for i := range f.Deployments {
		d := &f.Deployments[i]
		out = append(out, workload{apps("deployments", d), "Deployment", string(d.UID), d.Spec.Replicas, d.Status.Replicas, len(d.OwnerReferences) > 0})
	}
	for i := range f.StatefulSets {
		s := &f.StatefulSets[i]
		out = append(out, workload{apps("statefulsets", s), "StatefulSet", string(s.UID), s.Spec.Replicas, s.Status.Replicas, len(s.OwnerReferences) > 0})
	}
	for i := range f.ReplicaSets {
		s := &f.ReplicaSets[i]
		out = append(out, workload{apps("replicasets", s), "ReplicaSet", string(s.UID), s.Spec.Replicas, s.Status.Replicas, len(s.OwnerReferences) > 0})
	}
	for i := range f.Controllers {
		s := &f.Controllers[i]
		out = append(out, workload{core("replicationcontrollers", s), "ReplicationController", string(s.UID), s.Spec.Replicas, s.Status.Replicas, len(s.OwnerReferences) > 0})
	}
	return out
}

func scaledToZero(f *Facts) []*draft {
	var out []*draft
	for _, w := range f.workloads() {
		if orOne(w.replicas) != 0 || w.owned && w.uid != f.Target.UID {
			continue
		}
		d := because("ScaledToZero", w.ref, "%s %s is scaled to 0 replicas", w.kind, w.ref.Name).see(w.ref, "spec.replicas", 0)
		if w.owned {
			d.remark()
			d.Text = fmt.Sprintf("%s %s is scaled to 0 by its owner: it is an old revision, or the owner is scaled to 0", w.kind, w.ref.Name)
		}
		for i := range f.Autoscalers {
			if h := &f.Autoscalers[i]; h.Spec.ScaleTargetRef.Kind == w.kind && h.Spec.ScaleTargetRef.Name == w.ref.Name {
				hpa := refOf("autoscaling", "v2", "horizontalpodautoscalers", h)
				d.see(hpa, "spec.scaleTargetRef", w.kind+" "+w.ref.Name+": autoscaling is disabled at 0 replicas")
			}
		}
		if !w.owned {
			d.next("%s", kubectl("scale", w.ref, "--replicas=1"))
		}
		out = append(out, d)
	}
	return out
}

func suspended(f *Facts) []*draft {
	var out []*draft
	for i := range f.CronJobs {
		c := &f.CronJobs[i]
		if c.Spec.Suspend != nil && *c.Spec.Suspend {
			r := batch("cronjobs", c)
			out = append(out, because("Suspended", r, "CronJob %s is suspended: it creates no Jobs", c.Name).see(r, "spec.suspend", true).
				next("%s", kubectl("patch", r, `-p '{"spec":{"suspend":false}}'`)))
		}
	}
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if j.Spec.Suspend == nil || !*j.Spec.Suspend || finished(j) {
			continue
		}
		r := batch("jobs", j)
		d := because("Suspended", r, "Job %s is suspended: no pods are created until it is resumed", j.Name).see(r, "spec.suspend", true)
		if by := j.Labels["kueue.x-k8s.io/queue-name"]; by != "" {
			d.see(r, "metadata.labels[kueue.x-k8s.io/queue-name]", by).next("Kueue admits it when its queue has capacity: kubectl get workloads.kueue.x-k8s.io%s", in(j.Namespace))
		} else {
			d.next("%s", kubectl("patch", r, `-p '{"spec":{"suspend":false}}'`))
		}
		out = append(out, d)
	}
	return out
}

func finished(j *batchv1.Job) bool {
	return slices.ContainsFunc(j.Status.Conditions, func(c batchv1.JobCondition) bool {
		return (c.Type == batchv1.JobComplete || c.Type == batchv1.JobFailed) && c.Status == corev1.ConditionTrue
	})
}

func podReady(p *corev1.Pod) bool {
	c := condition(p, corev1.PodReady)
	return c != nil && c.Status == corev1.ConditionTrue
}

func condition(p *corev1.Pod, t corev1.PodConditionType) *corev1.PodCondition {
	for i := range p.Status.Conditions {
		if p.Status.Conditions[i].Type == t {
			return &p.Status.Conditions[i]
		}
	}
	return nil
}

func conditionWords(p *corev1.Pod, t corev1.PodConditionType) string {
	c := condition(p, t)
	if c == nil {
		return "none"
	}
	return joinWords(string(c.Status), c.Reason, c.Message)
}

// joinWords formats "False Reason: message" without the empty parts.
func joinWords(status, reason, message string) string {
	text := status
	if reason != "" {
		text += " " + reason
	}
	if message != "" {
		text += ": " + message
	}
	return text
}
