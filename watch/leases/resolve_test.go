package leases

import (
	"context"
	"errors"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func pod(namespace, name, node string, change ...func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: corev1.PodSpec{NodeName: node}}
	for _, c := range change {
		c(p)
	}
	return p
}

func onHost(p *corev1.Pod) { p.Spec.HostNetwork = true }
func mirror(p *corev1.Pod) { p.Annotations = map[string]string{mirrorAnnotation: "1"} }
func ended(p *corev1.Pod)  { p.Status.Phase = corev1.PodFailed }

var longName = strings.Repeat("operator-", 8) + "7d8f-xyz" // 80 characters

func world() []runtime.Object {
	return []runtime.Object{
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "node-1"}},
		&corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "ip-10-0-0-2.internal", Labels: map[string]string{corev1.LabelHostname: "ip-10-0-0-2"}}},
		pod("kube-system", "kube-controller-manager-node-1", "node-1", onHost, mirror),
		pod("kube-system", "kube-scheduler-node-1", "node-1", onHost, mirror),
		pod("kube-system", "kube-apiserver-node-1", "node-1", onHost, mirror),
		pod("kube-system", "coredns-1", "node-1"),
		pod("net", "cni-agent-abc", "node-1", onHost),
		pod("edge", "gateway-abc", "node-1", onHost), pod("edge", "gateway-def", "node-1", onHost),
		pod("shop", "web-1", "node-1"),
		pod("shop", "done-1", "node-1", ended),
		pod("certs", "cert-manager-1", "node-1"),
		pod("a", "twin", "node-1"), pod("b", "twin", "node-1"),
		pod("shop", longName, "node-1"),
	}
}

func TestResolve(t *testing.T) {
	for name, c := range map[string]struct {
		lease state.LeaseStatus
		want  string
		by    string
	}{
		"a pod by its name and a UUID":     {lease("shop", "op", "web-1_0b2c"), "pods shop/web-1", "pod name"},
		"a pod by its name alone":          {lease("shop", "op", "web-1"), "pods shop/web-1", "pod name"},
		"a pod that has ended":             {lease("shop", "op", "done-1_x"), "pods shop/done-1", "pod name; completed"},
		"a pod of another namespace":       {lease("kube-system", "cert-manager-controller", "cert-manager-1_x"), "pods certs/cert-manager-1", "pod name, in another namespace"},
		"a name that several pods have":    {lease("shop", "op", "twin_x"), "pods a/twin", "pod name; 2 pods in other namespaces share it"},
		"of several, the lease's own":      {lease("b", "op", "twin_x"), "pods b/twin", "pod name"},
		"a host name that was cut":         {lease("shop", "op", strings.TrimSuffix(longName[:63], "-")+"_x"), "pods shop/" + longName, "first 63 characters of the pod name"},
		"the control plane's static pod":   {lease("kube-system", "kube-scheduler", "node-1_x"), "pods kube-system/kube-scheduler-node-1", "node name, static pod named after the lease"},
		"a node by its host's name":        {lease("kube-system", "kube-scheduler", "ip-10-0-0-2_x"), "nodes ip-10-0-0-2.internal", "node name"},
		"the only pod on a node's network": {lease("net", "leader", "node-1_x"), "pods net/cni-agent-abc", "node name, only pod on the host network in the namespace"},
		"no pod stands out":                {lease("edge", "leader", "node-1"), "nodes node-1", "node name; 2 pods use its host network in edge, holder ambiguous"},
		"nothing of that name":             {lease("shop", "op", "gone-1_x"), "", ""},
		"no name at all":                   {lease("shop", "op", "\x1b[31m evil_x"), "", ""},
		"nobody":                           {lease("shop", "op", ""), "", ""},
		"a node's own":                     {node(lease(NodeNamespace, "node-1", "node-1")), "nodes node-1", "the node's own lease"},
		"an API server's identity": {
			labelled(lease("kube-system", "apiserver-abcdef", "apiserver-abcdef_x"), "node-1"),
			"pods kube-system/kube-apiserver-node-1", `label kubernetes.io/hostname=node-1, static pod named after the lease`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			resolver := NewResolver(NewReader(fake.NewClientset(world()...)))
			list := []state.LeaseStatus{c.lease}
			resolver.Resolve(context.Background(), list)
			var got, by string
			if h := list[0].Holder; h != nil {
				got, by = h.Ref.String(), h.By
			}
			if got != c.want || by != c.by {
				t.Errorf("%q by %q\nwant %q by %q", got, by, c.want, c.by)
			}
			if gaps := resolver.Gaps(); len(gaps) > 0 {
				t.Errorf("gaps: %v", gaps)
			}
		})
	}
}

func lease(namespace, name, identity string) state.LeaseStatus {
	return state.LeaseStatus{Namespace: namespace, Name: name, Identity: identity, Class: state.LeaseOfWorkload}
}

func node(l state.LeaseStatus) state.LeaseStatus {
	l.Class = state.LeaseOfNode
	return l
}

func labelled(l state.LeaseStatus, host string) state.LeaseStatus {
	l.HostName = host
	return l
}

// A user who may read one namespace gets the holders in it, and is told what
// kept the others from being found.
func TestResolveWithFewRights(t *testing.T) {
	client := fake.NewClientset(world()...)
	client.PrependReactor("*", "*", func(action clienttesting.Action) (bool, runtime.Object, error) {
		if action.GetNamespace() == "shop" {
			return false, nil, nil
		}
		resource := schema.GroupResource{Resource: action.GetResource().Resource}
		return true, nil, apierrors.NewForbidden(resource, "", errors.New("no"))
	})
	resolver := NewResolver(NewReader(client))
	list := []state.LeaseStatus{lease("shop", "op", "web-1_x"), lease("shop", "other", "node-1_x")}
	resolver.Resolve(context.Background(), list)
	if list[0].Holder == nil || list[0].Holder.Name != "web-1" {
		t.Errorf("the pod in the user's namespace was not found: %+v", list[0].Holder)
	}
	if list[1].Holder != nil {
		t.Errorf("a node was found that may not be read: %+v", list[1].Holder)
	}
	if gaps := resolver.Gaps(); len(gaps) != 1 || !apierrors.IsForbidden(gaps["nodes"]) {
		t.Errorf("gaps: %v", gaps)
	}
}

// A holder is looked for once.
func TestResolveRemembers(t *testing.T) {
	client := fake.NewClientset(world()...)
	resolver := NewResolver(NewReader(client))
	for range 3 {
		list := []state.LeaseStatus{lease("shop", "op", "web-1_x")}
		resolver.Resolve(context.Background(), list)
		if list[0].Holder == nil {
			t.Fatal("not found")
		}
	}
	if n := len(client.Actions()); n != 1 {
		t.Errorf("%d requests: %v", n, client.Actions())
	}
}
