package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

func areOrIs(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// served ranks finalizers: those that no Kubernetes controller removes come first.
func served(finalizer string) int {
	switch {
	case finalizer == metav1.FinalizerDeleteDependents, finalizer == metav1.FinalizerOrphanDependents:
		return 2
	case owners.ServedBy(finalizer) != "":
		return 1
	}
	return 0
}

func whoServes(finalizer, setBy string) string {
	who := owners.ServedBy(finalizer)
	switch {
	case served(finalizer) == 2:
		return "the garbage collector removes it"
	case who != "":
		return "removed by " + who
	case byHand(setBy):
		return "no Kubernetes controller removes it; it was set with kubectl"
	case setBy != "":
		return "no Kubernetes controller removes it; " + setBy + " set it"
	}
	return "no Kubernetes controller removes it: whoever set it must remove it"
}

// byHand reports whether the field manager is kubectl, used by a person or a pipeline.
// The object then does not show which controller handles the finalizer.
func byHand(manager string) bool { return strings.HasPrefix(manager, "kubectl") }

func adviceOnFinalizer(name string, o *owners.Object) string {
	if who := owners.ServedBy(name); who != "" {
		return "check what it waits for: " + kubectl("describe", o.Ref)
	}
	look := "find the operator that handles it and check why it does not act"
	if setBy := o.SetBy(name); setBy != "" && !byHand(setBy) {
		look = "check why " + o.SetBy(name) + ", which set it, does not act"
	}
	return look + "; if it has been removed for good, clean up manually, then remove the finalizer: " + kubectl("edit", o.Ref)
}

// finalizers reports the target's own finalizers, without the garbage collector's.
func finalizers(f *Facts) []*draft {
	if !f.deleting() {
		return nil
	}
	var out []*draft
	names := slices.Clone(f.Target.Finalizers)
	slices.SortStableFunc(names, func(a, b string) int { return served(a) - served(b) })
	for _, name := range names {
		if served(name) == 2 {
			continue
		}
		d := because("FinalizerUnserved", f.Target.Ref, "it is being deleted and held by finalizer %s: %s", name, whoServes(name, f.Target.SetBy(name)))
		if owners.ServedBy(name) != "" {
			d.Cause = "FinalizerWaiting"
		}
		if name == crdFinalizer {
			if len(f.instancesHeld()) > 0 {
				continue // crdItself reports what it waits for
			}
			d.likely() // what it waits for is unknown
		}
		d.see(f.Target.Ref, "metadata.finalizers", strings.Join(f.Target.Finalizers, ", "))
		d.see(f.Target.Ref, "metadata.deletionTimestamp", f.Target.Deleting.Format(time.RFC3339)+", "+f.ago(f.Target.Deleting))
		if manager := f.Target.SetBy(name); manager != "" {
			d.see(f.Target.Ref, "metadata.managedFields[].manager", manager)
		}
		d.next("%s", adviceOnFinalizer(name, f.Target))
		f.whoUses(name, d)
		out = append(out, d)
	}
	if ns := f.Namespace; ns != nil && f.targetIs("namespaces") {
		for _, name := range ns.Spec.Finalizers {
			if name != corev1.FinalizerKubernetes {
				out = append(out, because("FinalizerUnserved", f.Target.Ref, "it is held by finalizer %s in its spec: no Kubernetes controller removes it", name).
					see(f.Target.Ref, "spec.finalizers", name).next("whoever set it must remove it through the finalize subresource"))
			}
		}
	}
	return out
}

// whoUses names the objects that a protection finalizer waits for.
func (f *Facts) whoUses(finalizer string, d *draft) {
	if finalizer != "kubernetes.io/pvc-protection" {
		return
	}
	var users []string
	for i := range f.Pods {
		p := &f.Pods[i]
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == f.Target.Name && p.Namespace == f.Target.Namespace {
				users = append(users, p.Name)
				if len(users) <= maxNamed {
					d.see(podRef(p), fmt.Sprintf("spec.volumes[name=%s].persistentVolumeClaim.claimName", v.Name), f.Target.Name)
				}
			}
		}
	}
	if len(users) > 0 {
		d.Text = fmt.Sprintf("it is being deleted, and %s still uses it: %s; the PVC protection controller removes its finalizer once no pod does", plural(len(users), "pod", "pods"), few(users))
		if len(users) > 1 {
			d.Text = strings.Replace(d.Text, "still uses", "still use", 1)
		}
		d.next("delete the workload of the pods that use it; pods deleted alone are recreated")
	}
}

// dependents reports what blocks a foreground deletion.
func dependents(f *Facts) []*draft {
	if !f.deleting() || !slices.Contains(f.Target.Finalizers, metav1.FinalizerDeleteDependents) {
		return nil
	}
	var blocking []*owners.Object
	for _, o := range f.Graph.Dependents(f.Target.UID) {
		if slices.ContainsFunc(o.Owners, func(r document.OwnerRef) bool { return r.UID == f.Target.UID && r.BlockOwnerDeletion }) {
			blocking = append(blocking, o)
		}
	}
	if len(blocking) == 0 {
		return one(because("WaitsForDependents", f.Target.Ref, "it is being deleted in the foreground, and no known dependent blocks it: the garbage collector must remove its finalizer").likely().
			see(f.Target.Ref, "metadata.finalizers", strings.Join(f.Target.Finalizers, ", ")).
			next("%s", "check that kube-controller-manager is running: kctl-ctrl get leases"+in("kube-system")))
	}
	// A dependent's finalizer is closer to the root cause than the dependent.
	slices.SortStableFunc(blocking, func(a, b *owners.Object) int { return len(foreign(b)) - len(foreign(a)) })
	first := blocking[0]
	d := because("WaitsForDependents", f.Target.Ref, "it is being deleted in the foreground and waits for %s", plural(len(blocking), "dependent", "dependents"))
	if held := foreign(first); len(held) > 0 {
		d.Text += fmt.Sprintf(", of which %s is held by finalizer %s: %s", first.Ref, held[0], whoServes(held[0], first.SetBy(held[0])))
		d.next("%s", adviceOnFinalizer(held[0], first))
	} else {
		d.Text += ": " + first.String()
		d.next("kctl-ctrl why %s%s", word(first.Type()+"/"+first.Name), in(first.Namespace))
	}
	for _, o := range blocking[:min(len(blocking), maxNamed)] {
		value := "not deleted yet"
		if !o.Deleting.IsZero() {
			value = "deleted " + f.ago(o.Deleting)
		}
		if len(o.Finalizers) > 0 {
			value += ", finalizers " + strings.Join(o.Finalizers, ", ")
		}
		d.see(o.Ref, "metadata.deletionTimestamp", value)
	}
	return one(d)
}

func foreign(o *owners.Object) []string {
	return slices.DeleteFunc(slices.Clone(o.Finalizers), func(name string) bool { return served(name) == 2 })
}

// podEnding finds why a pod that is being deleted still exists: its kubelet has not
// confirmed that it stopped.
func podEnding(f *Facts) []*draft {
	var out []*draft
	for i := range f.Pods {
		p := &f.Pods[i]
		if p.DeletionTimestamp == nil || len(p.Finalizers) > 0 || p.Spec.NodeName == "" {
			continue
		}
		r := podRef(p)
		overdue := f.Now.Sub(p.DeletionTimestamp.Time)
		node, known := f.node(p.Spec.NodeName)
		switch {
		case known == absent:
			out = append(out, because("NodeGone", r, "it is being deleted, and its node %s no longer exists: no kubelet can stop it", p.Spec.NodeName).
				see(r, "spec.nodeName", p.Spec.NodeName).
				next("the pod garbage collector removes it; to remove it now: %s", kubectl("delete", r, "--grace-period=0 --force")))
		case node != nil && !nodeReady(node):
			out = append(out, because("NodeNotReady", r, "it is being deleted, and the kubelet of its node %s is unreachable", p.Spec.NodeName).
				see(r, "spec.nodeName", p.Spec.NodeName).see(core("nodes", node), "status.conditions[type=Ready]", readyWords(node)).
				next("recover the node, or remove it: kubectl delete node %s", word(p.Spec.NodeName)))
		case overdue < 0 && f.Target.UID == string(p.UID):
			out = append(out, because("GracePeriod", r, "its containers have until %s to stop", p.DeletionTimestamp.UTC().Format(time.TimeOnly)+" UTC").
				see(r, "metadata.deletionGracePeriodSeconds", *p.DeletionGracePeriodSeconds).next("wait"))
		}
	}
	return out[:min(len(out), maxNamed)]
}

func (f *Facts) node(name string) (*corev1.Node, existence) {
	for i := range f.Nodes {
		if f.Nodes[i].Name == name {
			return &f.Nodes[i], present
		}
	}
	if f.Known["nodes"] {
		return nil, absent
	}
	return nil, unknown
}

func nodeReady(n *corev1.Node) bool {
	return slices.ContainsFunc(n.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

func readyWords(n *corev1.Node) string {
	for _, c := range n.Status.Conditions {
		if c.Type == corev1.NodeReady {
			return fmt.Sprintf("%s %s: %s", c.Status, c.Reason, c.Message)
		}
	}
	return "none"
}

// ownerReferences finds objects that are deleted because their owners no longer exist.
func ownerReferences(f *Facts) []*draft {
	if f.deleting() || len(f.Target.Owners) == 0 {
		return nil
	}
	var absentOwners []*draft
	var out []*draft
	alive := false
	for i, ref := range f.Target.Owners {
		path := fmt.Sprintf("metadata.ownerReferences[%d]", i)
		value := fmt.Sprintf("%s %s, uid %s", ref.Kind, ref.Name, ref.UID)
		verdict, why := f.Graph.Verdict(f.Target, ref)
		switch verdict {
		case document.OwnerAbsent:
			absentOwners = append(absentOwners, because("OwnerAbsent", f.Target.Ref, "its owner %s %s does not exist (%s)", ref.Kind, ref.Name, why).see(f.Target.Ref, path, value))
		case document.OwnerUnresolvable:
			alive = true
			out = append(out, because("OwnerUnresolvable", f.Target.Ref, "the garbage collector cannot look up its owner %s %s and retries indefinitely: %s", ref.Kind, ref.Name, why).
				see(f.Target.Ref, path, ref.APIVersion+" "+value).next("kubectl get apiservices; kubectl api-resources --api-group=%s", word(groupOf(ref.APIVersion))))
		case document.OwnerInvalid:
			alive = true
			out = append(out, because("OwnerInvalid", f.Target.Ref, "its owner reference to %s %s is invalid: %s", ref.Kind, ref.Name, why).see(f.Target.Ref, path, value).next("remove the reference: %s", kubectl("edit", f.Target.Ref)))
		default:
			alive = true
		}
	}
	for _, d := range absentOwners {
		if alive {
			d.Text += "; another owner keeps it, and the garbage collector removes this reference"
			d.remark()
		} else {
			d.Text += ": the garbage collector deletes it"
			d.next("to keep it, remove the reference first: %s", kubectl("edit", f.Target.Ref))
		}
		out = append(out, d)
	}
	return out
}

func groupOf(apiVersion string) string {
	if group, _, has := strings.Cut(apiVersion, "/"); has {
		return group
	}
	return ""
}
