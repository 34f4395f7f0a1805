package diagnosis

import (
	"fmt"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// waitsForOrdinal reports an OrderedReady StatefulSet that waits for a pod with a lower
// ordinal.
func waitsForOrdinal(f *Facts) []*draft {
	var out []*draft
	for i := range f.StatefulSets {
		s := &f.StatefulSets[i]
		want := orOne(s.Spec.Replicas)
		if s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement || s.Status.ReadyReplicas >= want || !f.Known["pods"] {
			continue
		}
		start := int32(0)
		if s.Spec.Ordinals != nil {
			start = s.Spec.Ordinals.Start
		}
		r := refOf("apps", "v1", "statefulsets", s)
		for n := start; n < start+want-1; n++ {
			name := fmt.Sprintf("%s-%d", s.Name, n)
			p := f.pod(s.Namespace, name)
			if p != nil && podReady(p) && p.DeletionTimestamp == nil {
				continue
			}
			if p == nil {
				break // it does not exist: another check reports why
			}
			out = append(out, because("WaitsForOrdinal", r, "StatefulSet %s creates its pods in order, and pod %s is not ready: the pods after it are not created", s.Name, name).symptom().
				see(r, "spec.podManagementPolicy", appsv1.OrderedReadyPodManagement).
				see(podRef(p), "status.conditions[type=Ready]", conditionWords(p, corev1.PodReady)).
				next("kctl-ctrl why %s%s", word("pod/"+name), in(s.Namespace)))
			break
		}
	}
	return out
}

func (f *Facts) pod(namespace, name string) *corev1.Pod {
	i := slices.IndexFunc(f.Pods, func(p corev1.Pod) bool { return p.Namespace == namespace && p.Name == name })
	if i < 0 {
		return nil
	}
	return &f.Pods[i]
}

// rollbackBlocked reports a StatefulSet that is blocked by a broken pod of another
// revision: with OrderedReady, it waits until every pod is ready before it replaces any
// (k8s.io/kubernetes v1.37.1 pkg/controller/statefulset/stateful_set_control.go
// processReplica).
func rollbackBlocked(f *Facts) []*draft {
	var out []*draft
	for i := range f.StatefulSets {
		s := &f.StatefulSets[i]
		rolling := s.Spec.UpdateStrategy.RollingUpdate
		if s.Spec.PodManagementPolicy == appsv1.ParallelPodManagement || s.Spec.UpdateStrategy.Type == appsv1.OnDeleteStatefulSetStrategyType || s.Status.UpdateRevision == "" || s.Status.ObservedGeneration < s.Generation {
			continue
		}
		for k := range f.Pods {
			p := &f.Pods[k]
			revision := p.Labels[appsv1.ControllerRevisionHashLabelKey]
			if !ownedBy(p.OwnerReferences, s.UID) || revision == "" || revision == s.Status.UpdateRevision || podReady(p) || p.DeletionTimestamp != nil {
				continue
			}
			if rolling != nil && rolling.Partition != nil && *rolling.Partition > 0 && revision == s.Status.CurrentRevision {
				continue // the partition may keep it at this revision
			}
			r := refOf("apps", "v1", "statefulsets", s)
			d := because("RollbackBlocked", r, "StatefulSet %s rolls out revision %s, but pod %s of revision %s is not ready: the StatefulSet waits for it instead of replacing it", s.Name, s.Status.UpdateRevision, p.Name, revision).
				see(r, "status.updateRevision", s.Status.UpdateRevision).
				see(podRef(p), "metadata.labels[controller-revision-hash]", revision).
				see(podRef(p), "status.conditions[type=Ready]", conditionWords(p, corev1.PodReady))
			out = append(out, d.next("delete the pod so that it is recreated with the new revision: %s", kubectl("delete", podRef(p))))
			break
		}
	}
	return out
}

// heldBackUpdates reports pods that the update strategy keeps at an old revision.
func heldBackUpdates(f *Facts) []*draft {
	var out []*draft
	for i := range f.StatefulSets {
		s := &f.StatefulSets[i]
		r := refOf("apps", "v1", "statefulsets", s)
		if s.Status.UpdateRevision == "" || s.Status.CurrentRevision == s.Status.UpdateRevision {
			continue
		}
		revisions := fmt.Sprintf("%s; pods held back: %s", s.Status.UpdateRevision, s.Status.CurrentRevision)
		strategy := s.Spec.UpdateStrategy
		switch {
		case strategy.Type == appsv1.OnDeleteStatefulSetStrategyType:
			out = append(out, because("OnDelete", r, "StatefulSet %s updates a pod only after the pod is deleted (OnDelete)", s.Name).
				see(r, "spec.updateStrategy.type", strategy.Type).see(r, "status.updateRevision", revisions).
				next("delete the pods one at a time: %s", "kubectl get pods -L controller-revision-hash"+in(s.Namespace)))
		case strategy.RollingUpdate != nil && strategy.RollingUpdate.Partition != nil && *strategy.RollingUpdate.Partition > 0:
			partition := *strategy.RollingUpdate.Partition
			out = append(out, because("Partition", r, "StatefulSet %s keeps pods with an ordinal below %d at the old revision (partition)", s.Name, partition).
				see(r, "spec.updateStrategy.rollingUpdate.partition", partition).see(r, "status.updateRevision", revisions).
				next("%s", kubectl("patch", r, `-p '{"spec":{"updateStrategy":{"rollingUpdate":{"partition":0}}}}'`)))
		}
	}
	for i := range f.DaemonSets {
		s := &f.DaemonSets[i]
		if s.Spec.UpdateStrategy.Type != appsv1.OnDeleteDaemonSetStrategyType || s.Status.UpdatedNumberScheduled >= s.Status.DesiredNumberScheduled {
			continue
		}
		r := refOf("apps", "v1", "daemonsets", s)
		out = append(out, because("OnDelete", r, "DaemonSet %s updates a pod only after the pod is deleted (OnDelete)", s.Name).
			see(r, "spec.updateStrategy.type", s.Spec.UpdateStrategy.Type).
			see(r, "status.updatedNumberScheduled", fmt.Sprintf("%d of %d", s.Status.UpdatedNumberScheduled, s.Status.DesiredNumberScheduled)).
			next("delete the old pods one node at a time: kubectl get pods -L controller-revision-hash%s", in(s.Namespace)))
	}
	return out
}

// rollouts reports what the rollout of a Deployment waits for.
func rollouts(f *Facts) []*draft {
	var out []*draft
	for i := range f.Deployments {
		d := &f.Deployments[i]
		r := apps("deployments", d)
		want := orOne(d.Spec.Replicas)
		for _, c := range d.Status.Conditions {
			if c.Type == appsv1.DeploymentProgressing && c.Status == corev1.ConditionFalse && c.Reason == "ProgressDeadlineExceeded" {
				found := because("ProgressDeadline", r, "the rollout of Deployment %s exceeded its progress deadline", d.Name).symptom().
					see(r, "status.conditions[type=Progressing]", c.Reason+": "+c.Message).
					next("this is a consequence, not the cause: kubectl rollout status %s%s", word("deployment/"+d.Name), in(d.Namespace))
				if f.hasHistory(d) {
					found.next("this is a consequence, not the cause; to roll back: kubectl rollout undo %s%s", word("deployment/"+d.Name), in(d.Namespace))
				}
				out = append(out, found)
			}
		}
		if d.Spec.Paused || want == 0 || d.Status.UpdatedReplicas >= want && d.Status.Replicas <= want && d.Status.AvailableReplicas >= want {
			continue
		}
		waiting, soon := 0, 0
		newest := f.replicaSetOf(d)
		for j := range f.Pods {
			p := &f.Pods[j]
			if newest == nil || !ownedBy(p.OwnerReferences, newest.UID) {
				continue
			}
			switch {
			case !podReady(p):
				waiting++
			case d.Spec.MinReadySeconds > 0 && f.Now.Sub(condition(p, corev1.PodReady).LastTransitionTime.Time) < time.Duration(d.Spec.MinReadySeconds)*time.Second:
				soon++
			}
		}
		if soon > 0 && waiting == 0 {
			out = append(out, because("MinReadySeconds", r, "%s ready and counted as available only after %d seconds", plural(soon, "pod is", "pods are"), d.Spec.MinReadySeconds).
				see(r, "spec.minReadySeconds", d.Spec.MinReadySeconds).see(r, "status.availableReplicas", fmt.Sprintf("%d of %d", d.Status.AvailableReplicas, want)).next("wait"))
		}
		if waiting > 0 {
			unavailable, surge := strategy(d)
			out = append(out, because("RolloutWaits", r, "the rollout of Deployment %s waits for %s of the new revision to become ready", d.Name, plural(waiting, "pod", "pods")).symptom().
				see(r, "spec.strategy.rollingUpdate", "maxUnavailable "+unavailable+", maxSurge "+surge).
				see(r, "status", fmt.Sprintf("%d updated, %d available, %d total, %d desired", d.Status.UpdatedReplicas, d.Status.AvailableReplicas, d.Status.Replicas, want)).
				next("kctl-ctrl tree %s%s", word("deployment/"+d.Name), in(d.Namespace)))
		}
	}
	return out
}

// hasHistory reports whether there is a revision to roll back to.
func (f *Facts) hasHistory(d *appsv1.Deployment) bool {
	newest := f.replicaSetOf(d)
	return slices.ContainsFunc(f.ReplicaSets, func(rs appsv1.ReplicaSet) bool {
		return ownedBy(rs.OwnerReferences, d.UID) && newest != nil && rs.UID != newest.UID
	})
}

func strategy(d *appsv1.Deployment) (unavailable, surge string) {
	unavailable, surge = "0", "0"
	if u := d.Spec.Strategy.RollingUpdate; u != nil {
		for _, v := range []struct {
			from *intstr.IntOrString
			to   *string
		}{{u.MaxUnavailable, &unavailable}, {u.MaxSurge, &surge}} {
			if v.from != nil {
				*v.to = v.from.String()
			}
		}
	}
	return unavailable, surge
}

// managerLease is the name of kube-controller-manager's lease.
const managerLease = "kube-controller-manager"

// actingGrace is how long a controller may take to act before it is considered not
// running.
const actingGrace = 5 * time.Second

// notActing reports writes that the controllers of this program would make now and the
// cluster's own have not made: those are not running, or wait for their expectations.
func notActing(f *Facts) []*draft {
	type lag struct {
		ref                state.Ref
		kind               string
		seen, is           int64
		lacks              int32
		created, lastWrite time.Time
	}
	var lags []lag
	for i := range f.Deployments {
		d := &f.Deployments[i]
		lacks := int32(0)
		if f.owned(d) == 0 && f.Known["replicasets.apps"] && !d.Spec.Paused {
			lacks = orOne(d.Spec.Replicas)
		}
		lags = append(lags, lag{apps("deployments", d), "Deployment", d.Status.ObservedGeneration, d.Generation, lacks, d.CreationTimestamp.Time, time.Time{}})
	}
	for i := range f.ReplicaSets {
		s := &f.ReplicaSets[i]
		lags = append(lags, lag{apps("replicasets", s), "ReplicaSet", s.Status.ObservedGeneration, s.Generation, orOne(s.Spec.Replicas) - s.Status.Replicas, s.CreationTimestamp.Time, time.Time{}})
	}
	for i := range f.StatefulSets {
		s := &f.StatefulSets[i]
		lacks := int32(0)
		if s.Status.Replicas == 0 {
			lacks = orOne(s.Spec.Replicas)
		}
		lags = append(lags, lag{apps("statefulsets", s), "StatefulSet", s.Status.ObservedGeneration, s.Generation, lacks, s.CreationTimestamp.Time, time.Time{}})
	}
	for i := range f.DaemonSets {
		s := &f.DaemonSets[i]
		lags = append(lags, lag{apps("daemonsets", s), "DaemonSet", s.Status.ObservedGeneration, s.Generation, s.Status.DesiredNumberScheduled - s.Status.CurrentNumberScheduled, s.CreationTimestamp.Time, time.Time{}})
	}
	for i := range f.Jobs {
		j := &f.Jobs[i]
		if j.Status.StartTime == nil && (j.Spec.Suspend == nil || !*j.Spec.Suspend) && j.Spec.ManagedBy == nil {
			lags = append(lags, lag{batch("jobs", j), "Job", 0, 1, 0, j.CreationTimestamp.Time, time.Time{}})
		}
	}
	refused := len(f.refusals()) > 0
	var out []*draft
	for _, l := range lags {
		if l.seen >= l.is && l.lacks <= 0 || f.Now.Sub(l.created) < actingGrace {
			continue
		}
		d := because("ControllerNotActing", l.ref, "the controller of %s %s has not observed its current spec: kube-controller-manager, or this controller, is not running", l.kind, l.ref.Name).
			see(l.ref, "status.observedGeneration", fmt.Sprintf("%d, and metadata.generation is %d", l.seen, l.is)).likely()
		if l.seen >= l.is {
			if refused || !f.wouldWrite(l.ref) {
				continue // it has observed the spec, and is rejected or has nothing to do
			}
			d.Cause = "Expectations"
			d.Text = fmt.Sprintf("%s %s lacks %s that its controller would create now: the cluster's controller is not running, or waits up to 5m for its earlier creations to appear (expectations)", l.kind, l.ref.Name, plural(int(l.lacks), "pod", "pods"))
		}
		f.lease(d)
		out = append(out, d.next("check the leader: kctl-ctrl get leases%s; check that --controllers does not disable the controller", in("kube-system")))
	}
	return out
}

// wouldWrite reports whether the controllers would create something for the object.
func (f *Facts) wouldWrite(o state.Ref) bool {
	if f.Story == nil {
		return false
	}
	for _, sync := range f.Story.Syncs {
		if sync.Key == o.Key() && slices.ContainsFunc(sync.Writes, func(w document.StoryWrite) bool { return w.Verb == "create" && w.FirstHop }) {
			return true
		}
	}
	return false
}

func (f *Facts) lease(d *draft) {
	l := f.ManagerLease
	if l == nil || l.Spec.RenewTime == nil || l.Spec.LeaseDurationSeconds == nil {
		return
	}
	r := refOf("coordination.k8s.io", "v1", "leases", l)
	d.see(r, "spec.renewTime", f.ago(l.Spec.RenewTime.Time))
	if f.Now.Sub(l.Spec.RenewTime.Time) > time.Duration(*l.Spec.LeaseDurationSeconds)*time.Second {
		d.Certainty = document.Certain
		d.Text = "kube-controller-manager is not running: its lease has expired, and no controller reconciles this object"
	}
}
