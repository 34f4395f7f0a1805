package diagnosis

import (
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

func budgetItems(l *policyv1.PodDisruptionBudgetList) []policyv1.PodDisruptionBudget { return l.Items }

// maxEventObjects bounds the objects whose Events are requested one by one.
const maxEventObjects = 20

// events reads the Events of objects that are not healthy, the target first.
func (d *reading) events() {
	asked := []*owners.Object{d.Target}
	for _, resource := range []string{"replicasets.apps", "replicationcontrollers", "statefulsets.apps", "daemonsets.apps", "jobs.batch", "cronjobs.batch", "persistentvolumeclaims", "pods"} {
		for _, o := range d.concerned[resource] {
			if o.UID != d.Target.UID && !d.well(o) {
				asked = append(asked, o)
			}
		}
	}
	for _, c := range d.Claims {
		if o := d.Graph.Object(string(c.UID)); o != nil && c.Status.Phase == corev1.ClaimPending && !slices.Contains(asked, o) {
			asked = append(asked, o)
		}
	}
	for _, o := range asked[:min(len(asked), maxEventObjects)] {
		list(d, "events", o.Namespace, &d.Events, metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("involvedObject.uid", o.UID).String()},
			d.client.CoreV1().Events(o.Namespace).List, func(l *corev1.EventList) []corev1.Event { return l.Items })
	}
}

// well reports whether an object is healthy, so that its Events are not needed.
func (d *reading) well(o *owners.Object) bool {
	switch o.Type() {
	case "pods":
		for i := range d.Pods {
			if string(d.Pods[i].UID) == o.UID {
				return podReady(&d.Pods[i]) || d.Pods[i].Status.Phase == corev1.PodSucceeded
			}
		}
	case "replicasets.apps":
		for i := range d.ReplicaSets {
			if s := &d.ReplicaSets[i]; string(s.UID) == o.UID {
				return s.Status.Replicas >= orOne(s.Spec.Replicas)
			}
		}
	}
	return false
}

// nodes are read if a pod is not scheduled or not healthy, or if a DaemonSet is
// concerned.
func (d *reading) nodes() {
	wanted := len(d.DaemonSets) > 0 || d.Target.Type() == "nodes"
	for i := range d.Pods {
		wanted = wanted || !podReady(&d.Pods[i]) && d.Pods[i].Status.Phase != corev1.PodSucceeded || d.Pods[i].DeletionTimestamp != nil
	}
	if !wanted {
		return
	}
	list(d, "nodes", "", &d.Nodes, metav1.ListOptions{}, d.client.CoreV1().Nodes().List, func(l *corev1.NodeList) []corev1.Node { return l.Items })
}

// volumes reads the claims of pods that have not started, and the storage classes of
// claims that are not bound.
func (d *reading) volumes() {
	for i := range d.Pods {
		p := &d.Pods[i]
		if p.Spec.NodeName != "" && podReady(p) {
			continue
		}
		for _, v := range p.Spec.Volumes {
			if v.PersistentVolumeClaim == nil || d.Graph.Find("", "persistentvolumeclaims", p.Namespace, v.PersistentVolumeClaim.ClaimName) == nil {
				continue
			}
			name := v.PersistentVolumeClaim.ClaimName
			if slices.ContainsFunc(d.Claims, func(c corev1.PersistentVolumeClaim) bool { return c.Name == name && c.Namespace == p.Namespace }) || len(d.Claims) >= maxEventObjects {
				continue
			}
			c, err := d.client.CoreV1().PersistentVolumeClaims(p.Namespace).Get(d.ctx, name, metav1.GetOptions{})
			if err != nil {
				d.gap("persistentvolumeclaims", p.Namespace, err)
				continue
			}
			d.Claims = append(d.Claims, *c)
		}
	}
	wanted := []string{}
	if d.targetIs("persistentvolumes") {
		wanted = append(wanted, d.Target.Name)
	}
	for i := range d.Claims {
		if c := &d.Claims[i]; c.Spec.VolumeName != "" && c.Status.Phase != corev1.ClaimBound {
			wanted = append(wanted, c.Spec.VolumeName)
		}
	}
	for _, name := range wanted[:min(len(wanted), maxEventObjects)] {
		v, err := d.client.CoreV1().PersistentVolumes().Get(d.ctx, name, metav1.GetOptions{})
		if err != nil {
			d.gap("persistentvolumes", "", err)
			continue
		}
		d.Volumes = append(d.Volumes, *v)
	}
	if slices.ContainsFunc(d.Claims, func(c corev1.PersistentVolumeClaim) bool { return c.Status.Phase == corev1.ClaimPending }) {
		list(d, "storageclasses.storage.k8s.io", "", &d.StorageClasses, metav1.ListOptions{}, d.client.StorageV1().StorageClasses().List,
			func(l *storagev1.StorageClassList) []storagev1.StorageClass { return l.Items })
	}
}

// autoscalers reads the concerned autoscalers, and those that scale a concerned
// workload.
func (d *reading) autoscalers() {
	ns := d.Target.Namespace
	all := d.client.AutoscalingV2().HorizontalPodAutoscalers(ns)
	if len(d.concerned["horizontalpodautoscalers.autoscaling"]) > 0 {
		each(d, "horizontalpodautoscalers.autoscaling", &d.Autoscalers, all.Get)
		return
	}
	var scaled []*owners.Object
	for _, t := range []string{"deployments.apps", "statefulsets.apps", "replicasets.apps", "replicationcontrollers"} {
		scaled = append(scaled, d.concerned[t]...)
	}
	if len(scaled) == 0 {
		return
	}
	list(d, "horizontalpodautoscalers.autoscaling", ns, &d.Autoscalers, metav1.ListOptions{}, all.List,
		func(l *autoscalingv2.HorizontalPodAutoscalerList) []autoscalingv2.HorizontalPodAutoscaler {
			return slices.DeleteFunc(l.Items, func(h autoscalingv2.HorizontalPodAutoscaler) bool {
				return !slices.ContainsFunc(scaled, func(o *owners.Object) bool {
					return o.Kind == h.Spec.ScaleTargetRef.Kind && o.Name == h.Spec.ScaleTargetRef.Name
				})
			})
		})
}

// makersOf reads the workloads whose pods a Service would select, if it selects none.
func (d *reading) makersOf() {
	if !d.targetIs("services") || len(d.Pods) > 0 || len(d.Services) == 0 || len(d.Services[0].Spec.Selector) == 0 {
		return
	}
	ns := d.Target.Namespace
	d.together(
		func() {
			list(d, "deployments.apps", ns, &d.Deployments, metav1.ListOptions{}, d.client.AppsV1().Deployments(ns).List, func(l *appsv1.DeploymentList) []appsv1.Deployment { return l.Items })
		},
		func() {
			list(d, "statefulsets.apps", ns, &d.StatefulSets, metav1.ListOptions{}, d.client.AppsV1().StatefulSets(ns).List, func(l *appsv1.StatefulSetList) []appsv1.StatefulSet { return l.Items })
		},
		func() {
			list(d, "daemonsets.apps", ns, &d.DaemonSets, metav1.ListOptions{}, d.client.AppsV1().DaemonSets(ns).List, func(l *appsv1.DaemonSetList) []appsv1.DaemonSet { return l.Items })
		},
		func() {
			list(d, "replicasets.apps", ns, &d.ReplicaSets, metav1.ListOptions{}, d.client.AppsV1().ReplicaSets(ns).List, func(l *appsv1.ReplicaSetList) []appsv1.ReplicaSet { return l.Items })
		},
		func() {
			list(d, "replicationcontrollers", ns, &d.Controllers, metav1.ListOptions{}, d.client.CoreV1().ReplicationControllers(ns).List, func(l *corev1.ReplicationControllerList) []corev1.ReplicationController { return l.Items })
		},
	)
	d.onlyMakers()
	// Their Events contain why they cannot create pods.
	made, _ := d.makers(ns, labels.SelectorFromSet(d.Services[0].Spec.Selector))
	for _, m := range made {
		if o := d.Graph.Object(m.UID); o != nil && !slices.Contains(d.concerned[m.Type()], o) {
			d.concerned[m.Type()] = append(d.concerned[m.Type()], o)
		}
	}
}

var crdsResource = schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}

// crd reads a CustomResourceDefinition and, if it is being deleted, the metadata of the
// objects of its type, which the API server deletes first.
func (d *reading) crd() {
	if !d.targetIs("customresourcedefinitions.apiextensions.k8s.io") {
		return
	}
	o, err := d.objects.Resource(crdsResource).Get(d.ctx, d.Target.Name, metav1.GetOptions{})
	if err != nil {
		d.gap("customresourcedefinitions.apiextensions.k8s.io", "", err)
		return
	}
	c := &CRD{}
	c.Group, _, _ = unstructured.NestedString(o.Object, "spec", "group")
	c.Resource, _, _ = unstructured.NestedString(o.Object, "spec", "names", "plural")
	conditions, _, _ := unstructured.NestedSlice(o.Object, "status", "conditions")
	for _, item := range conditions {
		m, _ := item.(map[string]any)
		text := func(key string) string { s, _ := m[key].(string); return s }
		c.Conditions = append(c.Conditions, metav1.Condition{Type: text("type"), Status: metav1.ConditionStatus(text("status")), Reason: text("reason"), Message: text("message")})
	}
	d.mu.Lock()
	d.CRD = c
	d.mu.Unlock()
	kinds, err := d.owners.Kinds(d.ctx)
	if err != nil || !d.deleting() {
		return
	}
	t, served := kinds.Resource(c.Group, c.Resource)
	if !served {
		return
	}
	c.Instances, err = d.owners.Select(d.ctx, t, "", "")
	d.gap(t.String(), "", err)
	c.Complete = err == nil
}

// standing reads the cluster-scoped objects that rejections name. Few users may read
// them, so failing to is not a gap: the rejection then remains the API server's latest
// answer.
func (d *reading) standing() {
	d.Standing = map[string]existence{}
	admission := schema.GroupVersion{Group: "admissionregistration.k8s.io", Version: "v1"}
	webhooks := false
	for _, r := range d.refusals() {
		key, _ := named(r.message)
		typ, name, _ := strings.Cut(key, "/")
		gvr := schema.GroupVersionResource{Group: "scheduling.k8s.io", Version: "v1", Resource: "priorityclasses"}
		switch typ {
		case classesType:
		case policiesType:
			gvr = admission.WithResource("validatingadmissionpolicies")
		case "webhooks":
			webhooks = true
			continue
		default:
			continue
		}
		_, err := d.objects.Resource(gvr).Get(d.ctx, name, metav1.GetOptions{})
		switch {
		case err == nil:
			d.Standing[key] = present
		case apierrors.IsNotFound(err):
			d.Standing[key] = absent
		}
	}
	if !webhooks {
		return
	}
	var names []string
	for _, resource := range []string{"validatingwebhookconfigurations", "mutatingwebhookconfigurations"} {
		list, err := d.objects.Resource(admission.WithResource(resource)).List(d.ctx, metav1.ListOptions{})
		if err != nil {
			return
		}
		for _, o := range list.Items {
			hooks, _, _ := unstructured.NestedSlice(o.Object, "webhooks")
			for _, hook := range hooks {
				if m, is := hook.(map[string]any); is {
					name, _ := m["name"].(string)
					names = append(names, name)
				}
			}
		}
	}
	for _, r := range d.refusals() {
		if key, _ := named(r.message); strings.HasPrefix(key, "webhooks/") {
			d.Standing[key] = absent
			if slices.Contains(names, strings.TrimPrefix(key, "webhooks/")) {
				d.Standing[key] = present
			}
		}
	}
}

var apiServicesResource = schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}

// apiServices are read if unavailable APIs may be the cause.
func (d *reading) apiServices() {
	if !(d.targetIs("namespaces") && d.deleting()) && len(d.Autoscalers) == 0 && !d.targetIs("apiservices.apiregistration.k8s.io") {
		return
	}
	list(d, "apiservices.apiregistration.k8s.io", "", &d.APIServices, metav1.ListOptions{}, d.objects.Resource(apiServicesResource).List,
		func(l *unstructured.UnstructuredList) []APIService {
			var out []APIService
			for i := range l.Items {
				out = append(out, apiServiceOf(l.Items[i].Object))
			}
			return out
		})
}

func apiServiceOf(o map[string]any) APIService {
	text := func(path ...string) string {
		s, _, _ := unstructured.NestedString(o, path...)
		return s
	}
	s := APIService{Name: text("metadata", "name"), Group: text("spec", "group"), Version: text("spec", "version")}
	if name := text("spec", "service", "name"); name != "" {
		s.Service = text("spec", "service", "namespace") + "/" + name
	}
	conditions, _, _ := unstructured.NestedSlice(o, "status", "conditions")
	for _, c := range conditions {
		if m, is := c.(map[string]any); is && m["type"] == "Available" {
			s.Available, _ = m["status"].(string)
			s.Reason, _ = m["reason"].(string)
			s.Message, _ = m["message"].(string)
		}
	}
	return s
}

// manager reads kube-controller-manager's lease. Few users may, so failing to is not a
// gap.
func (d *reading) manager() {
	l, err := d.client.CoordinationV1().Leases("kube-system").Get(d.ctx, managerLease, metav1.GetOptions{})
	if err == nil {
		d.ManagerLease = l
	}
}
