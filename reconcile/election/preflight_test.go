package election

import (
	"errors"
	"strings"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/version"
	"k8s.io/client-go/kubernetes/fake"
	clienttesting "k8s.io/client-go/testing"
	"k8s.io/utils/ptr"
)

func TestCheckServer(t *testing.T) {
	for v, want := range map[version.Info]bool{
		{Major: "1", Minor: "37"}: true, {Major: "1", Minor: "38"}: true, {Major: "1", Minor: "37+"}: true,
		{Major: "1", Minor: "36"}: false, {Major: "1", Minor: "39"}: false, {Major: "2", Minor: "37"}: false, {}: false,
		{Major: "1", Minor: "3"}: false, {Major: "1", Minor: "370"}: false,
	} {
		err := CheckServer(&v)
		var refused *Refusal
		if (err == nil) != want || err != nil && !errors.As(err, &refused) {
			t.Errorf("%s.%s: %v", v.Major, v.Minor, err)
		}
	}
}

func TestCheckLease(t *testing.T) {
	manager, scheduler := ControllerManager(), Scheduler()
	lease := func(name, holder string, age time.Duration, change ...func(*coordinationv1.Lease)) runtime.Object {
		l := &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: ptr.To(metav1.NewMicroTime(time.Now().Add(-age)))},
		}
		for _, f := range change {
			f(l)
		}
		return l
	}
	labelled := func(l *coordinationv1.Lease) { l.Labels = map[string]string{identityLabel: "kube-apiserver"} }
	owned := func(l *coordinationv1.Lease) { l.OwnerReferences = []metav1.OwnerReference{{Kind: "Node", Name: "n1"}} }
	written := func(by string) func(*coordinationv1.Lease) {
		return func(l *coordinationv1.Lease) {
			l.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "kubectl"}, {Manager: by}}
		}
	}
	never := func(l *coordinationv1.Lease) { l.Spec.RenewTime = nil }
	published := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "kube-root-ca.crt"}}
	bound := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "web"}, Spec: corev1.PodSpec{NodeName: "node-1"}}
	mirrored := bound.DeepCopy()
	mirrored.Name, mirrored.Annotations = "static", map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	for name, c := range map[string]struct {
		of      Component
		lease   string
		objects []runtime.Object
		forbid  string
		want    string
	}{
		"held":                       {manager, manager.Name, []runtime.Object{lease(manager.Name, "kcm", 0), published}, "", ""},
		"a new cluster":              {manager, manager.Name, []runtime.Object{bound}, "", ""},
		"hidden":                     {manager, manager.Name, []runtime.Object{published}, "", "hides its lease"},
		"not for us":                 {manager, manager.Name, nil, "leases", "no permission to get the lease"},
		"nothing to tell":            {manager, manager.Name, nil, "configmaps", "no permission to read the ConfigMap"},
		"past the real one":          {manager, "mine", []runtime.Object{lease(manager.Name, "kcm", 0), lease("mine", "", 0)}, "", "kcm holds the lease"},
		"another, the usual is free": {manager, "mine", []runtime.Object{lease(manager.Name, "", 0), lease("mine", "", 0)}, "", "was in use"},
		"another, free for long":     {manager, "mine", []runtime.Object{lease(manager.Name, "", 2*time.Hour), lease("mine", "", 0)}, "", ""},
		"another, never taken":       {manager, "mine", []runtime.Object{lease(manager.Name, "", 0, never), lease("mine", "", 0)}, "", ""},
		"another, held, no time":     {manager, "mine", []runtime.Object{lease(manager.Name, "kcm", 0, never), lease("mine", "", 0)}, "", "kcm holds the lease"},
		"the scheduler's":            {manager, "kube-scheduler", []runtime.Object{lease("kube-scheduler", "s", 0)}, "", "kube-scheduler's"},
		"the controller manager's":   {scheduler, manager.Name, []runtime.Object{lease(manager.Name, "kcm", 0)}, "", "kube-controller-manager's"},
		"the scheduler's, not there": {manager, "kube-scheduler", nil, "", "kube-scheduler's"},
		"the manager's, not there":   {scheduler, manager.Name, nil, "", "kube-controller-manager's"},
		"an API server's":            {manager, "apiserver-x", []runtime.Object{lease("apiserver-x", "s", 0, labelled)}, "", "kube-apiserver's"},
		"a node's":                   {manager, "n1", []runtime.Object{lease("n1", "s", 0, owned)}, "", "owned by Node n1"},
		"a second scheduler's":       {manager, "batch", []runtime.Object{lease("batch", "s", 0, written("kube-scheduler"))}, "", "kube-scheduler's"},
		"another of our kind":        {manager, "mine", []runtime.Object{lease("mine", "s", 0, written("kube-controller-manager"))}, "", ""},
		"another, the usual is old":  {manager, "mine", []runtime.Object{lease(manager.Name, "kcm", 2*time.Hour), lease("mine", "", 0)}, "", ""},
		"another, none is usual":     {manager, "mine", []runtime.Object{lease("mine", "", 0)}, "", ""},
		"another that is not there":  {manager, "mine", []runtime.Object{published}, "", "hides its lease"},

		"a scheduler's":                 {scheduler, scheduler.Name, []runtime.Object{lease(scheduler.Name, "ks", 0), bound}, "", ""},
		"the other component's":         {scheduler, scheduler.Name, []runtime.Object{lease(manager.Name, "kcm", 0), published, mirrored}, "", ""},
		"a scheduler's, hidden":         {scheduler, scheduler.Name, []runtime.Object{published, bound, mirrored}, "", "a scheduler is or was active (pod shop/web is scheduled)"},
		"a scheduler's, nothing tells":  {scheduler, scheduler.Name, nil, "pods", "no permission to list pods"},
		"a scheduler's, past the usual": {scheduler, "mine", []runtime.Object{lease(scheduler.Name, "ks", 0), lease("mine", "", 0)}, "", "of kube-scheduler"},
	} {
		client := fake.NewClientset(c.objects...)
		client.PrependReactor("*", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if r := a.GetResource().Resource; r == c.forbid {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: r}, "", nil)
			}
			return false, nil, nil
		})
		_, err := c.of.CheckLease(t.Context(), client, metav1.NamespaceSystem, c.lease)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
