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
	lease := func(name, holder string, age time.Duration) runtime.Object {
		return &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: name},
			Spec:       coordinationv1.LeaseSpec{HolderIdentity: &holder, RenewTime: ptr.To(metav1.NewMicroTime(time.Now().Add(-age)))},
		}
	}
	published := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: DefaultNamespace, Name: "kube-root-ca.crt"}}
	for name, c := range map[string]struct {
		lease   string
		objects []runtime.Object
		forbid  string
		want    string
	}{
		"held":                       {DefaultName, []runtime.Object{lease(DefaultName, "kcm", 0), published}, "", ""},
		"a new cluster":              {DefaultName, nil, "", ""},
		"hidden":                     {DefaultName, []runtime.Object{published}, "", "hides its lease"},
		"not for us":                 {DefaultName, nil, "leases", "you may not read the lease"},
		"nothing to tell":            {DefaultName, nil, "configmaps", "you may not read the ConfigMap"},
		"past the real one":          {"mine", []runtime.Object{lease(DefaultName, "kcm", 0), lease("mine", "", 0)}, "", "kcm holds the lease"},
		"another, the usual is free": {"mine", []runtime.Object{lease(DefaultName, "", 0), lease("mine", "", 0)}, "", ""},
		"another, the usual is old":  {"mine", []runtime.Object{lease(DefaultName, "kcm", 2*time.Hour), lease("mine", "", 0)}, "", ""},
		"another, none is usual":     {"mine", []runtime.Object{lease("mine", "", 0)}, "", ""},
		"another that is not there":  {"mine", []runtime.Object{published}, "", "hides its lease"},
	} {
		client := fake.NewClientset(c.objects...)
		client.PrependReactor("get", "*", func(a clienttesting.Action) (bool, runtime.Object, error) {
			if r := a.GetResource().Resource; r == c.forbid {
				return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: r}, "", nil)
			}
			return false, nil, nil
		})
		_, err := CheckLease(t.Context(), client, DefaultNamespace, c.lease)
		if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
