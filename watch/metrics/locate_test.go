package metrics

import (
	"strings"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/fake"
)

func staticPod(component, node, flag string) *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: component + "-" + node, Labels: map[string]string{"component": component}},
		Spec:       corev1.PodSpec{NodeName: node, Containers: []corev1.Container{{Command: []string{component, "--bind-address=127.0.0.1", flag}}}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
}

func lease(name, holder string) *coordinationv1.Lease {
	return &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: name},
		Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder},
	}
}

func operatorPod(change func(*corev1.Pod)) *corev1.Pod {
	p := &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "op", Annotations: map[string]string{}},
		Status:     corev1.PodStatus{Phase: corev1.PodRunning},
	}
	change(p)
	return p
}

func ports(named ...corev1.ContainerPort) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Containers = []corev1.Container{{Ports: named}} }
}

func TestLocate(t *testing.T) {
	const kcm = "kube-controller-manager"
	for _, test := range []struct {
		name    string
		objects []runtime.Object
		from    string
		// url is that of the endpoint, behind the pod's name; or the error's words.
		want   string
		remark string
		err    string
	}{
		{name: "the leader of three", objects: []runtime.Object{
			staticPod(kcm, "a", ""), staticPod(kcm, "b", ""), staticPod(kcm, "c", ""), lease(kcm, "b_123-456"),
		}, from: kcm, want: "kube-controller-manager-b https://localhost:10257/metrics"},
		{name: "on another port", objects: []runtime.Object{staticPod("kube-scheduler", "a", "--secure-port=11259")},
			from: "kube-scheduler", want: "kube-scheduler-a https://localhost:11259/metrics"},
		{name: "without a lease", objects: []runtime.Object{staticPod(kcm, "a", ""), staticPod(kcm, "b", "")},
			from: kcm, want: "kube-controller-manager-a https://localhost:10257/metrics", remark: "has no lease"},
		{name: "held by somebody else", objects: []runtime.Object{staticPod(kcm, "a", ""), staticPod(kcm, "b", ""), lease(kcm, "x\x1b_1")},
			from: kcm, want: "kube-controller-manager-a https://localhost:10257/metrics", remark: `"x\x1b_1", is not one of its 2 pods`},
		{name: "held by a kctl-ctrl on its node", objects: []runtime.Object{staticPod(kcm, "a", ""), lease(kcm, "a_kctl-ctrl-123")},
			from: kcm, want: "kube-controller-manager-a https://localhost:10257/metrics", remark: "kctl-ctrl \"a_kctl-ctrl-123\" holds the lease of kube-controller-manager"},
		{name: "a managed control plane", from: kcm, err: "managed control plane"},
		{name: "the port called metrics", objects: []runtime.Object{operatorPod(ports(
			corev1.ContainerPort{Name: "webhook", ContainerPort: 9443}, corev1.ContainerPort{Name: "metrics", ContainerPort: 8080}))},
			from: "pod/op", want: "op http://localhost:8080/metrics"},
		{name: "the only port", objects: []runtime.Object{operatorPod(ports(corev1.ContainerPort{Name: "https", ContainerPort: 8443}))},
			from: "pod/op", want: "op https://localhost:8443/metrics"},
		{name: "the one asked for", objects: []runtime.Object{operatorPod(ports(corev1.ContainerPort{Name: "metrics", ContainerPort: 8080}))},
			from: "pods/op:9090", want: "op http://localhost:9090/metrics"},
		{name: "annotated", objects: []runtime.Object{operatorPod(func(p *corev1.Pod) {
			p.Annotations = map[string]string{"prometheus.io/port": "8888", "prometheus.io/scheme": "https", "prometheus.io/path": "/stats"}
		})}, from: "pod/op", want: "op https://localhost:8888/stats"},
		{name: "annotated with nonsense", objects: []runtime.Object{operatorPod(func(p *corev1.Pod) {
			p.Annotations = map[string]string{"prometheus.io/port": "x", "prometheus.io/scheme": "file", "prometheus.io/path": "http://elsewhere/"}
			ports(corev1.ContainerPort{ContainerPort: 80})(p)
		})}, from: "pod/op", want: "op http://localhost:80/metrics"},
		{name: "several ports", objects: []runtime.Object{operatorPod(ports(corev1.ContainerPort{Name: "a", ContainerPort: 1}, corev1.ContainerPort{ContainerPort: 2}))},
			from: "pod/op", err: "no port of pod op is named metrics (a 1, 2)"},
		{name: "no ports", objects: []runtime.Object{operatorPod(func(*corev1.Pod) {})}, from: "pod/op", err: "pod/op:PORT"},
		{name: "not running", objects: []runtime.Object{operatorPod(func(p *corev1.Pod) { p.Status.Phase = corev1.PodPending })},
			from: "pod/op", err: "is pending"},
		{name: "no such pod", from: "pod/op", err: `"op" not found`},
		{name: "no port", from: "pod/op:0", err: `"0" is not a valid port`},
		{name: "too high a port", from: "pod/op:70000", err: `"70000" is not a valid port`},
		{name: "no name", from: "pod/", err: "use pod/NAME"},
		{name: "another type", from: "deployment/op", err: "use pod/NAME"},
	} {
		e, err := Locate(t.Context(), fake.NewClientset(test.objects...), "shop", test.from)
		switch {
		case test.err != "":
			if err == nil || !strings.Contains(err.Error(), test.err) {
				t.Errorf("%s: %v, want %q", test.name, err, test.err)
			}
		case err != nil:
			t.Errorf("%s: %v", test.name, err)
		case e.Pod+" "+e.URL() != test.want || (test.remark == "") != (e.Remark == "") || !strings.Contains(e.Remark, test.remark):
			t.Errorf("%s: %s %s (%s)", test.name, e.Pod, e.URL(), e.Remark)
		}
	}
	e, err := Locate(t.Context(), fake.NewClientset(operatorPod(func(*corev1.Pod) {})), "shop", "pod/op:8080")
	if err != nil || !e.Guessed || e.Other().URL() != "https://localhost:8080/metrics" || e.Other().Other().URL() != e.URL() {
		t.Errorf("a guess: %+v, %v", e, err)
	}
}
