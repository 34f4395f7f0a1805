package metrics

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Endpoint is where a pod serves its metrics.
type Endpoint struct {
	Namespace, Pod string
	Port           int
	// Scheme is "http" or "https"; Guessed is set if nothing specifies it.
	Scheme  string
	Guessed bool
	Path    string
	// Remark is a sentence about the choice, or empty.
	Remark string
}

// URL is the URL of the metrics at the pod's own loopback address, which a port-forward
// reaches.
func (e Endpoint) URL() string {
	u := url.URL{Scheme: e.Scheme, Host: net.JoinHostPort("localhost", strconv.Itoa(e.Port)), Path: e.Path}
	return u.String()
}

// Other is the endpoint with the other scheme.
func (e Endpoint) Other() Endpoint {
	if e.Guessed = false; e.Scheme == "http" {
		e.Scheme = "https"
	} else {
		e.Scheme = "http"
	}
	return e
}

// components are the control plane processes that can be specified without a pod, with
// their default port (k8s.io/kubernetes v1.37.1 pkg/cluster/ports).
var components = map[string]int{
	"kube-controller-manager": 10257,
	"kube-scheduler":          10259,
}

// Components are the names that Locate accepts besides pods.
func Components() []string { return []string{"kube-controller-manager", "kube-scheduler"} }

// Locate finds an endpoint by name: "pod/NAME", "pod/NAME:PORT" in the namespace, or
// one of Components, whose leader it finds.
func Locate(ctx context.Context, client kubernetes.Interface, namespace, from string) (Endpoint, error) {
	if port, known := components[from]; known {
		return locateComponent(ctx, client, from, port)
	}
	name, ok := strings.CutPrefix(from, "pod/")
	if !ok {
		name, ok = strings.CutPrefix(from, "pods/")
	}
	if !ok || name == "" {
		return Endpoint{}, fmt.Errorf("invalid --metrics-from %q: use pod/NAME, pod/NAME:PORT, %s", from, strings.Join(Components(), " or "))
	}
	port := 0
	if before, text, found := strings.Cut(name, ":"); found {
		number, err := strconv.ParseUint(text, 10, 16)
		if err != nil || number == 0 {
			return Endpoint{}, fmt.Errorf("invalid --metrics-from %q: %q is not a valid port", from, text)
		}
		name, port = before, int(number)
	}
	pod, err := client.CoreV1().Pods(namespace).Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return Endpoint{}, err
	}
	return endpointOf(pod, port)
}

// locateComponent finds the pod of a component that holds its lease. kubeadm and
// similar tools run components as static pods with a label for the component.
func locateComponent(ctx context.Context, client kubernetes.Interface, name string, port int) (Endpoint, error) {
	var pods []corev1.Pod
	for _, label := range []string{"component", "k8s-app", "app"} {
		list, err := client.CoreV1().Pods(metav1.NamespaceSystem).List(ctx, metav1.ListOptions{LabelSelector: label + "=" + name})
		if err != nil {
			return Endpoint{}, err
		}
		if pods = list.Items; len(pods) > 0 {
			break
		}
	}
	if len(pods) == 0 {
		return Endpoint{}, fmt.Errorf("%s has no pods in %s, as in a managed control plane: if the provider exposes its metrics, use --metrics-url", name, metav1.NamespaceSystem)
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return strings.Compare(a.Name, b.Name) })
	leader, remark := leaderOf(ctx, client, name, pods)
	e, err := endpointOf(leader, securePort(leader, port))
	e.Scheme, e.Guessed, e.Remark = "https", false, remark
	return e, err
}

// leaderOf picks the pod on the node that the lease names: a holder is "node_random"
// (k8s.io/kubernetes v1.37.1 cmd/kube-controller-manager/app). If there is none, it
// picks the first running pod.
func leaderOf(ctx context.Context, client kubernetes.Interface, name string, pods []corev1.Pod) (*corev1.Pod, string) {
	chosen := max(0, slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Status.Phase == corev1.PodRunning }))
	lease, err := client.CoordinationV1().Leases(metav1.NamespaceSystem).Get(ctx, name, metav1.GetOptions{})
	holder := ""
	if err == nil && lease.Spec.HolderIdentity != nil {
		holder = *lease.Spec.HolderIdentity
	}
	switch {
	case state.HolderMark(holder) != "":
		return &pods[chosen], fmt.Sprintf("kctl-ctrl %q holds the lease of %s, whose pods are on standby: reading metrics from %s", holder, name, pods[chosen].Name)
	case len(pods) == 1:
		return &pods[0], ""
	case apierrors.IsNotFound(err):
		return &pods[chosen], fmt.Sprintf("%s has no lease: reading metrics from %s, one of %d pods, which may not be the leader", name, pods[chosen].Name, len(pods))
	case err != nil:
		return &pods[chosen], fmt.Sprintf("the lease of %s cannot be read (%v): reading metrics from %s, one of %d pods, which may not be the leader", name, err, pods[chosen].Name, len(pods))
	}
	host, _, _ := strings.Cut(holder, "_")
	for i := range pods {
		if p := &pods[i]; host != "" && (p.Spec.NodeName == host || p.Name == name+"-"+host || p.Name == host) {
			return p, ""
		}
	}
	return &pods[chosen], fmt.Sprintf("the leader of %s, %q, is not one of its %d pods: reading metrics from %s", name, holder, len(pods), pods[chosen].Name)
}

// securePort reads the port from the container's flags.
func securePort(pod *corev1.Pod, byDefault int) int {
	for _, c := range pod.Spec.Containers {
		for _, word := range slices.Concat(c.Command, c.Args) {
			if text, ok := strings.CutPrefix(word, "--secure-port="); ok {
				if port, err := strconv.ParseUint(text, 10, 16); err == nil && port > 0 {
					return int(port)
				}
			}
		}
	}
	return byDefault
}

// endpointOf reads from a pod where its metrics are: the requested port, the port of
// the prometheus.io annotations, the port named metrics, or the only port.
func endpointOf(pod *corev1.Pod, port int) (Endpoint, error) {
	e := Endpoint{Namespace: pod.Namespace, Pod: pod.Name, Port: port, Path: "/metrics"}
	if pod.Status.Phase != corev1.PodRunning {
		return e, fmt.Errorf("pod %s/%s is %s: metrics can only be read from a running pod", pod.Namespace, pod.Name, strings.ToLower(string(pod.Status.Phase)))
	}
	if path := pod.Annotations["prometheus.io/path"]; strings.HasPrefix(path, "/") {
		e.Path = path
	}
	var ports []corev1.ContainerPort
	for _, c := range pod.Spec.Containers {
		ports = append(ports, c.Ports...)
	}
	if e.Port == 0 {
		annotated, _ := strconv.ParseUint(pod.Annotations["prometheus.io/port"], 10, 16)
		e.Port = int(annotated)
	}
	if e.Port == 0 {
		i := slices.IndexFunc(ports, func(p corev1.ContainerPort) bool { return strings.Contains(p.Name, "metrics") })
		if i < 0 && len(ports) == 1 {
			i = 0
		}
		if i < 0 {
			return e, portUnknown(pod, ports)
		}
		e.Port = int(ports[i].ContainerPort)
	}
	e.Scheme, e.Guessed = schemeOf(pod, ports, e.Port)
	return e, nil
}

func portUnknown(pod *corev1.Pod, ports []corev1.ContainerPort) error {
	if len(ports) == 0 {
		return errors.New("pod " + pod.Name + " declares no port: specify it with pod/" + pod.Name + ":PORT")
	}
	var names []string
	for _, p := range ports {
		names = append(names, strings.TrimPrefix(p.Name+" "+strconv.Itoa(int(p.ContainerPort)), " "))
	}
	return fmt.Errorf("no port of pod %s is named metrics (%s): specify it with pod/%s:PORT", pod.Name, strings.Join(names, ", "), pod.Name)
}

func schemeOf(pod *corev1.Pod, ports []corev1.ContainerPort, port int) (scheme string, guessed bool) {
	if s := pod.Annotations["prometheus.io/scheme"]; s == "http" || s == "https" {
		return s, false
	}
	for _, p := range ports {
		if int(p.ContainerPort) == port && strings.Contains(p.Name, "https") {
			return "https", false
		}
	}
	if slices.Contains([]int{443, 8443, 10250, 10257, 10258, 10259}, port) {
		return "https", true
	}
	return "http", true
}
