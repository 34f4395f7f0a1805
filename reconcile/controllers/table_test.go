package controllers

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"k8s.io/component-base/featuregate"
	"k8s.io/kubernetes/cmd/kube-controller-manager/app"
)

// The table says of each controller what upstream's descriptors say.
func TestTableIsUpstreams(t *testing.T) {
	type facts struct {
		Aliases []string
		Gates   []featuregate.Feature
		Off     bool
	}
	want := map[string]facts{}
	for name, d := range app.NewControllerDescriptors() {
		want[name] = facts{d.GetAliases(), d.GetRequiredFeatureGates(), d.IsDisabledByDefault()}
	}
	got := map[string]facts{}
	for _, r := range Descriptors() {
		if _, twice := got[r.Name]; twice {
			t.Errorf("%s is in the table twice", r.Name)
		}
		got[r.Name] = facts{r.Aliases, r.Gates, r.OffByDefault}
	}
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		t.Errorf("the table differs from upstream's descriptors (- upstream, + table):\n%s", diff)
	}
	if len(got) != 49 {
		t.Errorf("%d controllers, not 49: the documentation says 49", len(got))
	}
}

func TestNamespaceSafe(t *testing.T) {
	want := []string{
		"cronjob-controller", "daemonset-controller", "deployment-controller", "disruption-controller",
		"endpoints-controller", "endpointslice-controller", "endpointslice-mirroring-controller",
		"ephemeral-volume-controller", "horizontal-pod-autoscaler-controller", "job-controller",
		"persistentvolumeclaim-protection-controller", "replicaset-controller", "replicationcontroller-controller",
		"resourceclaim-controller", "resourcequota-controller", "statefulset-controller", "ttl-after-finished-controller",
	}
	var got []string
	for _, r := range Descriptors() {
		if r.NamespaceSafe {
			got = append(got, r.Name)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("another loop is called namespace-safe: has its source been read for what it does with a partial view?\n%s", diff)
	}
}

func TestList(t *testing.T) {
	infos, err := List()
	if err != nil {
		t.Fatal(err)
	}
	off := map[string]string{}
	for _, i := range infos {
		if !i.OnByDefault {
			off[i.Name] = i.Why
		}
		if i.Does == "" || i.Workers == 0 || !slices.IsSorted(i.Queues) || !slices.IsSorted(i.Informers) {
			t.Errorf("%s is not fully described: %+v", i.Name, i)
		}
	}
	byDefault := "off by default in kube-controller-manager"
	want := map[string]string{
		"bootstrap-signer-controller":                  byDefault,
		"token-cleaner-controller":                     byDefault,
		"selinux-warning-controller":                   byDefault,
		"storageversion-garbage-collector-controller":  "feature gate StorageVersionAPI is off",
		"podgroup-protection-controller":               "feature gate GenericWorkload is off",
		"resourcepoolstatusrequest-controller":         "feature gate DRAResourcePoolStatus is off",
		"certificatesigningrequest-signing-controller": "no CA to sign with: set --cluster-signing-cert-file and --cluster-signing-key-file",
		"serviceaccount-token-controller":              "no key to sign tokens with: set --service-account-private-key-file",
		"node-ipam-controller":                         "--allocate-node-cidrs is not set",
	}
	if diff := cmp.Diff(want, off); diff != "" {
		t.Errorf("off by default (- want, + got):\n%s", diff)
	}
	if !slices.IsSortedFunc(infos, func(a, b Info) int { return cmpString(a.Name, b.Name) }) {
		t.Error("the list is not sorted by name")
	}
}

func cmpString(a, b string) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}
