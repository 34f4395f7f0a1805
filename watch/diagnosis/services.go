package diagnosis

import (
	"fmt"
	"slices"
	"strings"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/intstr"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// serviceSelector finds why a Service has no endpoints.
func serviceSelector(f *Facts) []*draft {
	var out []*draft
	for i := range f.Services {
		s := &f.Services[i]
		if len(s.Spec.Selector) == 0 || s.Spec.Type == corev1.ServiceTypeExternalName {
			continue
		}
		r := core("services", s)
		selector := labels.SelectorFromSet(s.Spec.Selector)
		if !f.Graph.Listed("", "pods", s.Namespace) {
			continue // its pods cannot be counted
		}
		var matching []string
		var nearly []*owners.Object
		for _, o := range f.Graph.Objects() {
			if o.Type() != "pods" || o.Namespace != s.Namespace {
				continue
			}
			switch {
			case selector.Matches(labels.Set(o.Labels)):
				matching = append(matching, o.Name)
			case nearlyMatches(s.Spec.Selector, o.Labels):
				nearly = append(nearly, o)
			}
		}
		if len(matching) == 0 {
			d := because("SelectorMismatch", r, "the selector of Service %s matches no pod in its namespace, and no workload there creates one", s.Name).
				see(r, "spec.selector", labels.Set(s.Spec.Selector))
			made, all := f.makers(s.Namespace, selector)
			switch {
			case len(made) > 0:
				d.Cause = "NoPods"
				d.symptom().Text = fmt.Sprintf("Service %s selects the pods of %s, which has none", s.Name, made[0].Ref)
				for _, o := range made[:min(len(made), maxNamed)] {
					d.see(o.Ref, "spec.template.metadata.labels", o.labels)
				}
				out = append(out, d.next("kctl-ctrl why %s%s", word(made[0].Type()+"/"+made[0].Name), in(s.Namespace)))
				continue
			case !all:
				d.likely().Text = fmt.Sprintf("the selector of Service %s matches no pod in its namespace; the workloads there could not be read", s.Name)
			case len(nearly) == 0:
				d.likely() // an operator may create some
			}
			for _, o := range nearly[:min(len(nearly), 3)] {
				d.see(o.Ref, "metadata.labels", differing(s.Spec.Selector, o.Labels))
			}
			out = append(out, d.next("compare the selector with the labels of the pods: kubectl get pods --show-labels%s", in(s.Namespace)))
			continue
		}
		out = append(out, f.servicePods(s, r, matching)...)
	}
	return out
}

// nearlyMatches reports whether all labels of the selector but one match. If the
// selector has only one label, the values must look like a typo.
func nearlyMatches(selector, have map[string]string) bool {
	wrong, slip := 0, false
	for key, want := range selector {
		if value, has := have[key]; !has || value != want {
			wrong++
			slip = has && alike(value, want)
		}
	}
	return wrong == 1 && (slip || len(selector) > 1)
}

// alike reports whether two values look like a typo of each other: one is a prefix of
// the other, or at most two characters differ.
func alike(a, b string) bool {
	if strings.HasPrefix(a, b) || strings.HasPrefix(b, a) {
		return true
	}
	if len(a) != len(b) {
		return false
	}
	differ := 0
	for i := range len(a) {
		if a[i] != b[i] {
			differ++
		}
	}
	return differ <= 2
}

// differing are the labels of a pod because of which a selector does not match.
func differing(selector, have map[string]string) string {
	out := labels.Set{}
	for key, value := range selector {
		if have[key] != value {
			out[key] = have[key]
		}
	}
	return out.String()
}

func (f *Facts) servicePods(s *corev1.Service, r state.Ref, matching []string) []*draft {
	ready := 0
	var notReady []*corev1.Pod
	var unnamed []string
	for i := range f.Pods {
		p := &f.Pods[i]
		if !slices.Contains(matching, p.Name) || p.Namespace != s.Namespace {
			continue
		}
		if podReady(p) {
			ready++
		} else {
			notReady = append(notReady, p)
		}
		for _, port := range s.Spec.Ports {
			if port.TargetPort.Type == intstr.String && !hasPort(p, port.TargetPort.StrVal) && !slices.Contains(unnamed, port.TargetPort.StrVal) {
				unnamed = append(unnamed, port.TargetPort.StrVal)
			}
		}
	}
	var out []*draft
	out = append(out, f.numberedPorts(s, r, matching)...)
	for _, name := range unnamed {
		out = append(out, because("PortMismatch", r, "Service %s targets a port named %s, and a pod that it selects has no such port", s.Name, name).
			see(r, "spec.ports[].targetPort", name).next("kubectl get pods %s -o jsonpath='{.items[*].spec.containers[*].ports}'", "-l "+word(labels.Set(s.Spec.Selector).String())+in(s.Namespace)))
	}
	if ready == 0 && len(notReady) > 0 && !s.Spec.PublishNotReadyAddresses {
		d := because("NoReadyPod", r, "Service %s selects %s, none of them ready: it has no endpoints", s.Name, plural(len(notReady), "pod", "pods")).symptom().
			see(r, "spec.selector", labels.Set(s.Spec.Selector))
		for _, p := range notReady[:min(len(notReady), 3)] {
			d.see(podRef(p), "status.conditions[type=Ready]", conditionWords(p, corev1.PodReady))
		}
		out = append(out, d.next("kctl-ctrl why %s%s", word("pod/"+notReady[0].Name), in(s.Namespace)))
	}
	return out
}

func hasPort(p *corev1.Pod, name string) bool {
	containers := slices.Concat(p.Spec.Containers, p.Spec.InitContainers)
	return slices.ContainsFunc(containers, func(c corev1.Container) bool {
		return slices.ContainsFunc(c.Ports, func(port corev1.ContainerPort) bool { return port.Name == name })
	})
}

// A maker is a workload whose pods a Service selects.
type maker struct {
	state.Ref
	labels labels.Set
}

// makers are the workloads of a namespace that create pods with these labels, those
// without an owner first; all reports whether every workload was read.
func (f *Facts) makers(namespace string, selector labels.Selector) (list []maker, all bool) {
	add := func(ref state.Ref, template map[string]string) {
		if ref.Namespace == namespace && selector.Matches(labels.Set(template)) {
			list = append(list, maker{ref, template})
		}
	}
	for i := range f.Deployments {
		add(apps("deployments", &f.Deployments[i]), f.Deployments[i].Spec.Template.Labels)
	}
	for i := range f.StatefulSets {
		add(apps("statefulsets", &f.StatefulSets[i]), f.StatefulSets[i].Spec.Template.Labels)
	}
	for i := range f.DaemonSets {
		add(apps("daemonsets", &f.DaemonSets[i]), f.DaemonSets[i].Spec.Template.Labels)
	}
	for i := range f.Controllers {
		if t := f.Controllers[i].Spec.Template; t != nil {
			add(core("replicationcontrollers", &f.Controllers[i]), t.Labels)
		}
	}
	for i := range f.ReplicaSets {
		add(apps("replicasets", &f.ReplicaSets[i]), f.ReplicaSets[i].Spec.Template.Labels)
	}
	all = true
	for _, t := range makerTypes {
		all = all && f.Known[t]
	}
	return list, all
}

// makerTypes are the workload types whose pods a Service may select.
var makerTypes = []string{"deployments.apps", "statefulsets.apps", "daemonsets.apps", "replicationcontrollers", "replicasets.apps"}

// onlyMakers drops the workloads whose pods no relevant Service selects.
func (f *Facts) onlyMakers() {
	wanted := func(template map[string]string) bool {
		return slices.ContainsFunc(f.Services, func(s corev1.Service) bool {
			return len(s.Spec.Selector) > 0 && labels.SelectorFromSet(s.Spec.Selector).Matches(labels.Set(template))
		})
	}
	f.Deployments = slices.DeleteFunc(f.Deployments, func(o appsv1.Deployment) bool { return !wanted(o.Spec.Template.Labels) })
	f.StatefulSets = slices.DeleteFunc(f.StatefulSets, func(o appsv1.StatefulSet) bool { return !wanted(o.Spec.Template.Labels) })
	f.DaemonSets = slices.DeleteFunc(f.DaemonSets, func(o appsv1.DaemonSet) bool { return !wanted(o.Spec.Template.Labels) })
	f.ReplicaSets = slices.DeleteFunc(f.ReplicaSets, func(o appsv1.ReplicaSet) bool { return !wanted(o.Spec.Template.Labels) })
	f.Controllers = slices.DeleteFunc(f.Controllers, func(o corev1.ReplicationController) bool {
		return o.Spec.Template == nil || !wanted(o.Spec.Template.Labels)
	})
}

// numberedPorts reports a Service port that its pods do not declare. Pods need not
// declare ports, so the finding is never certain.
func (f *Facts) numberedPorts(s *corev1.Service, r state.Ref, matching []string) []*draft {
	var out []*draft
	for _, port := range s.Spec.Ports {
		target := port.TargetPort.IntVal
		if port.TargetPort.Type == intstr.String || target == 0 {
			continue
		}
		var declared []string
		pods, lacking := 0, 0
		for i := range f.Pods {
			p := &f.Pods[i]
			if p.Namespace != s.Namespace || !slices.Contains(matching, p.Name) {
				continue
			}
			pods++
			ports := portsOf(p)
			if len(ports) > 0 && !slices.Contains(ports, target) {
				lacking++
			}
			for _, n := range ports {
				if text := fmt.Sprint(n); !slices.Contains(declared, text) {
					declared = append(declared, text)
				}
			}
		}
		if pods == 0 || lacking < pods {
			continue
		}
		out = append(out, because("PortMismatch", r, "Service %s targets port %d, and the pods that it selects declare other ports: %s", s.Name, target, few(declared)).likely().
			see(r, "spec.ports[].targetPort", target).see(core("pods", &f.Pods[0]), "spec.containers[].ports[].containerPort", few(declared)).
			next("kubectl get pods %s -o jsonpath='{.items[*].spec.containers[*].ports}'", "-l "+word(labels.Set(s.Spec.Selector).String())+in(s.Namespace)))
	}
	return out
}

func portsOf(p *corev1.Pod) []int32 {
	var ports []int32
	for _, c := range slices.Concat(p.Spec.InitContainers, p.Spec.Containers) {
		for _, port := range c.Ports {
			ports = append(ports, port.ContainerPort)
		}
	}
	return ports
}

// balancerGrace is how long provisioning a load balancer may take.
const balancerGrace = 2 * time.Minute

// loadBalancers reports a Service that waits for its load balancer.
func loadBalancers(f *Facts) []*draft {
	var out []*draft
	for i := range f.Services {
		s := &f.Services[i]
		if s.Spec.Type != corev1.ServiceTypeLoadBalancer || len(s.Status.LoadBalancer.Ingress) > 0 || s.DeletionTimestamp != nil || f.Now.Sub(s.CreationTimestamp.Time) < balancerGrace {
			continue
		}
		r := core("services", s)
		d := because("LoadBalancerPending", r, "Service %s has no load balancer: no controller has provisioned one", s.Name).likely().
			see(r, "spec.type", s.Spec.Type).see(r, "status.loadBalancer.ingress", "none").see(r, "metadata.creationTimestamp", f.ago(s.CreationTimestamp.Time))
		if failed := f.events(string(s.UID), "SyncLoadBalancerFailed", "CreatingLoadBalancerFailed"); len(failed) > 0 {
			d.Text = fmt.Sprintf("the load balancer of Service %s cannot be provisioned", s.Name)
			d.event(failed[0])
		}
		if class := s.Spec.LoadBalancerClass; class != nil {
			d.see(r, "spec.loadBalancerClass", *class)
		}
		out = append(out, d.next("check that a cloud controller manager or another load balancer controller is running: %s", kubectl("describe", r)))
	}
	return out
}

// ingresses reports an Ingress whose backend Service does not exist.
func ingresses(f *Facts) []*draft {
	var out []*draft
	for i := range f.Ingresses {
		o := &f.Ingresses[i]
		r := refOf("networking.k8s.io", "v1", "ingresses", o)
		missing := func(path, service string) {
			if f.has("services", o.Namespace, service) == absent {
				out = append(out, because("BackendMissing", r, "Ingress %s routes to Service %s, which does not exist", o.Name, service).
					see(r, path, service).see(state.Ref{Resource: "services", Namespace: o.Namespace, Name: service}, "", "not found").
					next("create it, or correct the name: kubectl get services%s", in(o.Namespace)))
			}
		}
		if b := o.Spec.DefaultBackend; b != nil && b.Service != nil {
			missing("spec.defaultBackend.service.name", b.Service.Name)
		}
		for _, rule := range o.Spec.Rules {
			if rule.HTTP == nil {
				continue
			}
			for _, p := range rule.HTTP.Paths {
				if p.Backend.Service != nil {
					missing(fmt.Sprintf("spec.rules[host=%s].http.paths[path=%s].backend.service.name", rule.Host, p.Path), p.Backend.Service.Name)
				}
			}
		}
	}
	return out
}
