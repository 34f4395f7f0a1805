package diagnosis

import (
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	k8stypes "k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var now = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// serves is what the API server of the tests serves: version, kind, resource.
const serves = `
v1 Pod pods
v1 Service services
v1 ConfigMap configmaps
v1 Secret secrets
v1 ServiceAccount serviceaccounts
v1 PersistentVolumeClaim persistentvolumeclaims
v1 ResourceQuota resourcequotas
v1 Event events
v1 Node nodes -
v1 Namespace namespaces -
v1 ReplicationController replicationcontrollers
apps/v1 Deployment deployments
apps/v1 ReplicaSet replicasets
apps/v1 StatefulSet statefulsets
apps/v1 DaemonSet daemonsets
batch/v1 Job jobs
batch/v1 CronJob cronjobs
storage.k8s.io/v1 StorageClass storageclasses -
policy/v1 PodDisruptionBudget poddisruptionbudgets
autoscaling/v2 HorizontalPodAutoscaler horizontalpodautoscalers
`

func kinds() *owners.Kinds {
	lists := map[string]*metav1.APIResourceList{}
	var all []*metav1.APIResourceList
	for line := range strings.SplitSeq(strings.TrimSpace(serves), "\n") {
		f := strings.Fields(line)
		if lists[f[0]] == nil {
			lists[f[0]] = &metav1.APIResourceList{GroupVersion: f[0]}
			all = append(all, lists[f[0]])
		}
		lists[f[0]].APIResources = append(lists[f[0]].APIResources, metav1.APIResource{
			Name: f[2], Kind: f[1], Namespaced: len(f) == 3, Verbs: metav1.Verbs{"get", "list", "watch", "delete"},
		})
	}
	return owners.NewKinds(nil, all, nil)
}

// facts are read from YAML documents: the first one is the target. What is not
// there is known not to be there.
func facts(t *testing.T, documents string) *Facts {
	t.Helper()
	k := kinds()
	f := &Facts{Now: now, Graph: owners.NewGraph(k), Known: map[string]bool{}}
	for line := range strings.SplitSeq(strings.TrimSpace(serves), "\n") {
		parts := strings.Fields(line)
		group, _, has := strings.Cut(parts[0], "/")
		if !has {
			group = ""
		}
		typ, _ := k.Resource(group, parts[2])
		f.Graph.MarkComplete(typ, "")
		f.Known[typ.String()] = true
	}
	for text := range strings.SplitSeq(documents, "\n---\n") {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(text), &o.Object); err != nil {
			t.Fatalf("%v in:\n%s", err, text)
		}
		if o.GetNamespace() == "" && o.GetKind() != "Node" && o.GetKind() != "Namespace" && o.GetKind() != "StorageClass" {
			o.SetNamespace("shop")
		}
		if o.GetUID() == "" {
			o.SetUID(k8stypes.UID(o.GetKind() + "-" + o.GetName())) // as tests write it down
		}
		typ, err := k.Lookup(o.GetAPIVersion(), o.GetKind())
		if err != nil {
			t.Fatal(err)
		}
		object := &owners.Object{Labels: o.GetLabels(), OwnedObject: document.OwnedObject{
			Ref:  state.Ref{Group: typ.Group, Version: typ.Version, Resource: typ.Resource, Namespace: o.GetNamespace(), Name: o.GetName(), UID: string(o.GetUID())},
			Kind: typ.Kind, Finalizers: o.GetFinalizers(),
		}}
		if at := o.GetDeletionTimestamp(); at != nil {
			object.Deleting = at.UTC()
		}
		for _, r := range o.GetOwnerReferences() {
			object.Owners = append(object.Owners, document.OwnerRef{
				APIVersion: r.APIVersion, Kind: r.Kind, Name: r.Name, UID: string(r.UID),
				Controller: r.Controller != nil && *r.Controller, BlockOwnerDeletion: r.BlockOwnerDeletion != nil && *r.BlockOwnerDeletion,
			})
		}
		f.Graph.Add(object)
		if f.Target == nil {
			f.Target = object
		}
		f.put(t, o)
	}
	return f
}

// put files an object under its kind.
func (f *Facts) put(t *testing.T, o *unstructured.Unstructured) {
	t.Helper()
	switch o.GetKind() {
	case "Deployment":
		add(t, o, &f.Deployments)
	case "ReplicaSet":
		add(t, o, &f.ReplicaSets)
	case "StatefulSet":
		add(t, o, &f.StatefulSets)
	case "DaemonSet":
		add(t, o, &f.DaemonSets)
	case "Job":
		add(t, o, &f.Jobs)
	case "CronJob":
		add(t, o, &f.CronJobs)
	case "Pod":
		add(t, o, &f.Pods)
	case "Service":
		add(t, o, &f.Services)
	case "PersistentVolumeClaim":
		add(t, o, &f.Claims)
	case "HorizontalPodAutoscaler":
		add(t, o, &f.Autoscalers)
	case "PodDisruptionBudget":
		add(t, o, &f.Budgets)
	case "ResourceQuota":
		add(t, o, &f.Quotas)
	case "Node":
		add(t, o, &f.Nodes)
	case "StorageClass":
		add(t, o, &f.StorageClasses)
	case "Event":
		add(t, o, &f.Events)
	case "Namespace":
		var one []corev1.Namespace
		add(t, o, &one)
		f.Namespace = &one[0]
	}
}

func add[T any](t *testing.T, o *unstructured.Unstructured, into *[]T) {
	t.Helper()
	var typed T
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, &typed); err != nil {
		t.Fatalf("%s %s: %v", o.GetKind(), o.GetName(), err)
	}
	*into = append(*into, typed)
}

const (
	deployment = `
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, generation: 1}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web}}, spec: {containers: [{name: web, image: "web:2"}]}}
status: {observedGeneration: 1}
`
	replicaSet = `
apiVersion: apps/v1
kind: ReplicaSet
metadata: {name: web-1, generation: 1, ownerReferences: [{apiVersion: apps/v1, kind: Deployment, name: web, uid: Deployment-web, controller: true}]}
spec:
  replicas: 3
  selector: {matchLabels: {app: web}}
  template: {metadata: {labels: {app: web, pod-template-hash: "1"}}, spec: {containers: [{name: web, image: "web:1"}]}}
status: {observedGeneration: 1, replicas: 3}
`
	pod = `
apiVersion: v1
kind: Pod
metadata: {name: web-1-a, labels: {app: web}, ownerReferences: [{apiVersion: apps/v1, kind: ReplicaSet, name: web-1, uid: ReplicaSet-web-1, controller: true}]}
spec: {schedulerName: default-scheduler, containers: [{name: web, image: "web:1", resources: {requests: {cpu: "2"}}}]}
`
	bare = `
apiVersion: v1
kind: Pod
metadata: {name: web-1-a, labels: {app: web}}
spec: {schedulerName: default-scheduler, containers: [{name: web, image: "web:1", resources: {requests: {cpu: "2"}}}]}
`
	unscheduled = `status: {phase: Pending, conditions: [{type: PodScheduled, status: "False", reason: Unschedulable, message: "0/1 nodes are available: REASON"}]}
`
	node = `
apiVersion: v1
kind: Node
metadata: {name: node-1, labels: {zone: a}}
status: {allocatable: {cpu: "4", memory: 8Gi}, conditions: [{type: Ready, status: "True"}]}
`
	claim = `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: data}
spec: {storageClassName: gold, accessModes: [ReadWriteOnce]}
status: {phase: Pending}
`
	class = `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: gold}
provisioner: disks.example
`
	cronJob = `
apiVersion: batch/v1
kind: CronJob
metadata: {name: report, creationTimestamp: "2026-03-01T00:00:00Z"}
`
	job = `
apiVersion: batch/v1
kind: Job
metadata: {name: migrate}
`
	autoscaler = `
apiVersion: autoscaling/v2
kind: HorizontalPodAutoscaler
metadata: {name: web}
spec: {maxReplicas: 3, scaleTargetRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
`
	budget = `
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: web}
spec: {minAvailable: 100%, selector: {matchLabels: {app: web}}}
`
	terminating = `
apiVersion: v1
kind: Namespace
metadata: {name: shop, deletionTimestamp: "2026-03-01T11:00:00Z"}
spec: {finalizers: [kubernetes]}
`
)

func docs(documents ...string) string { return strings.Join(documents, "\n---\n") }

func replaced(text string, pairs ...string) string {
	return strings.NewReplacer(pairs...).Replace(text)
}

// refusedWith is a ReplicaSet whose controller was refused.
func refusedWith(message string) string {
	return replaced(replicaSet, "replicas: 3}", `replicas: 1, conditions: [{type: ReplicaFailure, status: "True", reason: FailedCreate, message: '`+message+`'}]}`)
}

func container(state string) string {
	return "status: {phase: Running, containerStatuses: [{name: web, restartCount: 7, image: 'web:1', " + state + "}], conditions: [{type: Ready, status: \"False\"}, {type: PodScheduled, status: \"True\"}]}\n"
}
