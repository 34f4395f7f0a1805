package leases

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// parallel bounds the requests in flight while holders are resolved.
	parallel = 8
	// mirrorAnnotation marks the mirror pod of a static pod.
	mirrorAnnotation = "kubernetes.io/config.mirror"
	// maxHostName is the length at which the kubelet truncates a pod's host name
	// (k8s.io/kubernetes v1.37.1 pkg/kubelet/kubelet_pods.go,
	// GeneratePodHostNameAndDomain).
	maxHostName = 63
	// nearlyCut is the shortest host name that is considered truncated: trailing dashes
	// and dots are removed as well, of which names have few in a row.
	nearlyCut = maxHostName - 4
)

// Resolver finds the Pods and Nodes behind the holders of leases. It caches the result
// for each identity, so that following leases sends requests only for new holders. It
// is safe for concurrent use.
type Resolver struct {
	reader *Reader

	mu    sync.Mutex
	known map[string]*state.LeaseHolder
	gaps  map[string]error
}

// NewResolver returns a Resolver for the reader's cluster.
func NewResolver(reader *Reader) *Resolver {
	return &Resolver{reader: reader, known: map[string]*state.LeaseHolder{}, gaps: map[string]error{}}
}

// Resolve sets the Holder of each lease. It stays nil if none is found.
func (r *Resolver) Resolve(ctx context.Context, list []state.LeaseStatus) {
	var wg sync.WaitGroup
	slots := make(chan struct{}, parallel)
	for i := range list {
		l := &list[i]
		id := l.Namespace + "/" + l.Name + "/" + l.Identity
		r.mu.Lock()
		holder, known := r.known[id]
		r.mu.Unlock()
		switch {
		case l.Identity == "":
			l.Holder = nil
		case l.Class == state.LeaseOfNode:
			l.Holder = &state.LeaseHolder{Ref: nodeRef(l.Identity), By: "the node's own lease"}
		case known:
			l.Holder = holder
		default:
			wg.Go(func() {
				slots <- struct{}{}
				defer func() { <-slots }()
				l.Holder = r.resolve(ctx, *l)
				if ctx.Err() == nil {
					r.mu.Lock()
					r.known[id] = l.Holder
					r.mu.Unlock()
				}
			})
		}
	}
	wg.Wait()
}

// Gaps are the errors because of which holders were not found, one per type, by the
// plural of the type.
func (r *Resolver) Gaps() map[string]error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := make(map[string]error, len(r.gaps))
	for what, err := range r.gaps {
		out[what] = err
	}
	return out
}

// gap records an error. An object that does not exist is not a gap.
func (r *Resolver) gap(what string, err error) {
	if err == nil || apierrors.IsNotFound(err) {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gaps[what] == nil {
		r.gaps[what] = err
	}
}

func (r *Resolver) resolve(ctx context.Context, l state.LeaseStatus) *state.LeaseHolder {
	host := Host(l.Identity)
	if l.HostName != "" {
		// An API server's identity is a hash; its lease is labelled with the host.
		if node := r.node(ctx, l.HostName); node != nil {
			return r.onNode(ctx, l, node, fmt.Sprintf("label kubernetes.io/hostname=%s", l.HostName))
		}
	}
	if holder := r.pod(ctx, l, host); holder != nil {
		return holder
	}
	if node := r.node(ctx, host); node != nil {
		return r.onNode(ctx, l, node, "node name")
	}
	return nil
}

// pod looks up the pod with a host name.
func (r *Resolver) pod(ctx context.Context, l state.LeaseStatus, host string) *state.LeaseHolder {
	if len(validation.IsDNS1123Subdomain(host)) > 0 {
		return nil // no pod can have this name
	}
	pods, err := r.podsNamed(ctx, host, l.Namespace)
	r.gap("pods", err)
	here := slices.IndexFunc(pods, func(p corev1.Pod) bool { return p.Namespace == l.Namespace })
	switch {
	case here >= 0:
		return podHolder(pods[here], "pod name")
	case len(pods) == 1:
		return podHolder(pods[0], "pod name, in another namespace")
	case len(pods) > 1:
		return podHolder(pods[0], fmt.Sprintf("pod name; %d pods in other namespaces share it", len(pods)))
	case len(host) < nearlyCut:
		return nil
	}
	// A pod's name may be longer than its host name.
	list, err := r.reader.client.CoreV1().Pods(l.Namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	r.gap("pods", err)
	if err != nil {
		return nil
	}
	pods = slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return len(p.Name) <= maxHostName || cutName(p.Name) != host })
	switch len(pods) {
	case 0:
		return nil
	case 1:
		return podHolder(pods[0], "first 63 characters of the pod name")
	}
	return podHolder(pods[0], fmt.Sprintf("first 63 characters of the pod name, shared by %d pods", len(pods)))
}

// cutName is the host name of a pod whose name is too long.
func cutName(name string) string { return strings.TrimRight(name[:maxHostName], "-.") }

// podsNamed looks up pods by name in all namespaces or, if that is forbidden, in one.
func (r *Resolver) podsNamed(ctx context.Context, name, namespace string) ([]corev1.Pod, error) {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("metadata.name", name).String(), ResourceVersion: "0"}
	list, err := r.reader.client.CoreV1().Pods(metav1.NamespaceAll).List(ctx, options)
	if apierrors.IsForbidden(err) {
		list, err = r.reader.client.CoreV1().Pods(namespace).List(ctx, options)
	}
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(list.Items, func(p corev1.Pod) bool { return p.Name != name }), nil
}

// node looks up the node with a host name: by its name, or by its host name label if
// they differ.
func (r *Resolver) node(ctx context.Context, host string) *corev1.Node {
	if len(validation.IsDNS1123Subdomain(host)) > 0 {
		return nil
	}
	node, err := r.reader.client.CoreV1().Nodes().Get(ctx, host, metav1.GetOptions{ResourceVersion: "0"})
	if err == nil {
		return node
	}
	r.gap("nodes", err)
	if !apierrors.IsNotFound(err) || len(validation.IsValidLabelValue(host)) > 0 {
		return nil
	}
	selector := labels.Set{corev1.LabelHostname: host}.String()
	list, err := r.reader.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{LabelSelector: selector, ResourceVersion: "0"})
	r.gap("nodes", err)
	if err != nil || len(list.Items) != 1 {
		return nil
	}
	return &list.Items[0]
}

// onNode chooses, among the pods with host networking on a node, the one that wrote the
// lease, if it is unambiguous.
func (r *Resolver) onNode(ctx context.Context, l state.LeaseStatus, node *corev1.Node, by string) *state.LeaseHolder {
	options := metav1.ListOptions{FieldSelector: fields.OneTermEqualSelector("spec.nodeName", node.Name).String(), ResourceVersion: "0"}
	list, err := r.reader.client.CoreV1().Pods(l.Namespace).List(ctx, options)
	r.gap("pods", err)
	holder := &state.LeaseHolder{Ref: nodeRef(node.Name), Node: node.Name, By: by}
	holder.UID = string(node.UID)
	if err != nil {
		return holder
	}
	pods := slices.DeleteFunc(list.Items, func(p corev1.Pod) bool {
		return !p.Spec.HostNetwork || p.Spec.NodeName != node.Name
	})
	pod, why := likeliest(l, pods, node.Name)
	if pod == nil {
		if len(pods) > 0 {
			holder.By += fmt.Sprintf("; %d pods use its host network in %s, holder ambiguous", len(pods), l.Namespace)
		}
		return holder
	}
	return podHolder(*pod, by+", "+why)
}

// likeliest chooses the pod with host networking that most likely wrote a lease: the
// static pod named after the lease and the node, as kubeadm and similar tools name
// control plane pods; else the only pod named after the lease; else the only pod.
func likeliest(l state.LeaseStatus, pods []corev1.Pod, node string) (*corev1.Pod, string) {
	component := l.Name
	if l.HostName != "" {
		component, _, _ = strings.Cut(l.Name, "-") // apiserver-HASH
		component = "kube-" + component
	}
	slices.SortFunc(pods, func(a, b corev1.Pod) int { return cmp.Compare(a.Name, b.Name) })
	var named []*corev1.Pod
	for i := range pods {
		p := &pods[i]
		if p.Name == component+"-"+node {
			if p.Annotations[mirrorAnnotation] != "" {
				return p, "static pod named after the lease"
			}
			return p, "pod named after the lease"
		}
		if strings.HasPrefix(p.Name, component) {
			named = append(named, p)
		}
	}
	switch {
	case len(named) == 1:
		return named[0], "only pod whose name starts with the lease name"
	case len(named) == 0 && len(pods) == 1:
		return &pods[0], "only pod on the host network in the namespace"
	}
	return nil, ""
}

func podHolder(p corev1.Pod, by string) *state.LeaseHolder {
	if p.DeletionTimestamp != nil {
		by += "; terminating"
	} else if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
		by += "; completed"
	}
	return &state.LeaseHolder{
		Ref:  state.Ref{Version: "v1", Resource: "pods", Namespace: p.Namespace, Name: p.Name, UID: string(p.UID)},
		Node: p.Spec.NodeName, By: by,
	}
}

func nodeRef(name string) state.Ref {
	return state.Ref{Version: "v1", Resource: "nodes", Name: name}
}
