package diagnosis

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Facts are the objects related to a target. A list has the objects that were found;
// Known reports whether it is complete.
type Facts struct {
	Now    time.Time
	Target *owners.Object
	Status *document.ObjectStatus
	// Graph has the owners of the target and the metadata of every object in its
	// namespace.
	Graph *owners.Graph
	// Known are the types, such as "resourcequotas", of which all relevant objects were
	// read.
	Known map[string]bool

	// The target, its owners and its dependents.
	Deployments  []appsv1.Deployment
	ReplicaSets  []appsv1.ReplicaSet
	Controllers  []corev1.ReplicationController
	StatefulSets []appsv1.StatefulSet
	DaemonSets   []appsv1.DaemonSet
	Jobs         []batchv1.Job
	CronJobs     []batchv1.CronJob
	Pods         []corev1.Pod
	Services     []corev1.Service
	Claims       []corev1.PersistentVolumeClaim
	Autoscalers  []autoscalingv2.HorizontalPodAutoscaler
	Budgets      []policyv1.PodDisruptionBudget
	Ingresses    []networkingv1.Ingress
	// Volumes are the target, or the volumes that the relevant claims name.
	Volumes   []corev1.PersistentVolume
	Namespace *corev1.Namespace
	// CRD is the target, if it is one.
	CRD *CRD

	// The environment of these objects.
	Events         []corev1.Event
	Quotas         []corev1.ResourceQuota
	LimitRanges    []corev1.LimitRange
	Nodes          []corev1.Node
	StorageClasses []storagev1.StorageClass
	APIServices    []APIService
	// Standing has the cluster-scoped objects that rejections name, as
	// "priorityclasses.scheduling.k8s.io/high", and webhooks, as "webhooks/NAME":
	// whether they exist now.
	Standing map[string]existence
	// ManagerLease is kube-controller-manager's lease; nil if it was not read.
	ManagerLease *coordinationv1.Lease

	// Story is what the controllers did with the target in a dry run; nil if they did
	// not run.
	Story *document.WhyStory
	Gaps  []document.ReadGap
}

// CRD is a CustomResourceDefinition, and the objects of its type.
type CRD struct {
	Group, Resource string
	Conditions      []metav1.Condition
	// Instances has all objects of the type if Complete.
	Instances []*owners.Object
	Complete  bool
}

// APIService is an API group version and the server behind it.
type APIService struct {
	Name, Group, Version string
	// Service is "namespace/name" of an aggregated API server; empty for API groups
	// that the kube-apiserver serves.
	Service string
	// Available is the status of the Available condition.
	Available, Reason, Message string
}

func (f *Facts) targetIs(resource string) bool { return f.Target.Type() == resource }

func (f *Facts) deleting() bool { return !f.Target.Deleting.IsZero() }

// has reports whether an object exists. It returns absent only if the whole type was
// read.
func (f *Facts) has(resource, namespace, name string) existence {
	switch {
	case f.Graph.Find("", resource, namespace, name) != nil:
		return present
	case f.Graph.Listed("", resource, namespace):
		return absent
	}
	return unknown
}

type existence int

const (
	unknown existence = iota
	present
	absent
)

// events are the Events about an object with one of the reasons, newest first.
func (f *Facts) events(uid string, reasons ...string) []corev1.Event {
	var found []corev1.Event
	for _, e := range f.Events {
		if string(e.InvolvedObject.UID) == uid && slices.Contains(reasons, e.Reason) {
			found = append(found, e)
		}
	}
	slices.SortStableFunc(found, func(a, b corev1.Event) int { return eventTime(b).Compare(eventTime(a)) })
	return found
}

func eventTime(e corev1.Event) time.Time {
	switch {
	case e.Series != nil:
		return e.Series.LastObservedTime.Time
	case !e.LastTimestamp.IsZero():
		return e.LastTimestamp.Time
	case !e.EventTime.IsZero():
		return e.EventTime.Time
	}
	return e.CreationTimestamp.Time
}

// A draft is a finding under construction.
type draft struct{ document.Finding }

// because starts a finding: a cause that is certain.
func because(word string, object state.Ref, format string, args ...any) *draft {
	return &draft{document.Finding{
		Cause: word, Object: object, Text: fmt.Sprintf(format, args...), Role: document.RoleCause, Certainty: document.Certain,
	}}
}

func (d *draft) likely() *draft { d.Certainty = document.Likely; return d }

func (d *draft) symptom() *draft { d.Role = document.RoleSymptom; return d }

func (d *draft) remark() *draft { d.Role = document.RoleRemark; return d }

func (d *draft) see(object state.Ref, path string, value any) *draft {
	d.Evidence = append(d.Evidence, document.Evidence{Object: object, Path: path, Value: fmt.Sprint(value)})
	return d
}

// event adds an Event's message as evidence.
func (d *draft) event(e corev1.Event) *draft {
	times := ""
	if n := max(e.Count, seriesCount(e)); n > 1 {
		times = fmt.Sprintf(" (%d times)", n)
	}
	object := state.Ref{Resource: strings.ToLower(e.InvolvedObject.Kind) + "s", Namespace: e.InvolvedObject.Namespace, Name: e.InvolvedObject.Name}
	return d.see(object, "event "+e.Reason, strings.TrimSpace(e.Message)+times)
}

func seriesCount(e corev1.Event) int32 {
	if e.Series != nil {
		return e.Series.Count
	}
	return 0
}

func (d *draft) next(format string, args ...any) *draft {
	d.Next = fmt.Sprintf(format, args...)
	return d
}

func one(d *draft) []*draft {
	if d == nil {
		return nil
	}
	return []*draft{d}
}

var plainWord = regexp.MustCompile(`^[A-Za-z0-9._:/=@,+-]+$`)

// word quotes a name for a shell: findings contain commands to be pasted.
func word(s string) string {
	if plainWord.MatchString(s) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// kubectl returns a kubectl command for an object: "kubectl describe deployment/web -n
// shop".
func kubectl(verb string, o state.Ref, rest ...string) string {
	command := "kubectl " + verb + " " + word(o.Type()+"/"+o.Name)
	if o.Namespace != "" {
		command += " -n " + word(o.Namespace)
	}
	return strings.Join(append([]string{command}, rest...), " ")
}

func in(namespace string) string {
	if namespace == "" {
		return ""
	}
	return " -n " + word(namespace)
}

func refOf(group, version, resource string, m metav1.Object) state.Ref {
	return state.Ref{Group: group, Version: version, Resource: resource, Namespace: m.GetNamespace(), Name: m.GetName(), UID: string(m.GetUID())}
}

func core(resource string, m metav1.Object) state.Ref { return refOf("", "v1", resource, m) }

func apps(resource string, m metav1.Object) state.Ref { return refOf("apps", "v1", resource, m) }

func batch(resource string, m metav1.Object) state.Ref { return refOf("batch", "v1", resource, m) }

func podRef(p *corev1.Pod) state.Ref { return core("pods", p) }

// ago is the time since t, in kubectl's format.
func (f *Facts) ago(t time.Time) string {
	return state.Short(max(0, f.Now.Sub(t)).Truncate(time.Second)) + " ago"
}

// few joins the first names and counts the rest.
func few(names []string) string {
	const limit = 3
	if len(names) <= limit {
		return strings.Join(names, ", ")
	}
	return strings.Join(names[:limit], ", ") + fmt.Sprintf(" and %d more", len(names)-limit)
}

func plural(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func orOne(n *int32) int32 {
	if n == nil {
		return 1
	}
	return *n
}
