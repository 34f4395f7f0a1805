package controllers

import (
	"context"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
)

// missingFacts lists what a descriptor leaves out: the work of who adds a
// controller.
func missingFacts(d Descriptor) []string {
	var missing []string
	lacks := func(lacking bool, fact string) {
		if lacking {
			missing = append(missing, fact)
		}
	}
	lacks(d.Name == "", "Name")
	lacks(d.Does == "", "Does: a clause for listings")
	lacks(d.Account == "" && d.Name != names.ServiceAccountTokenController, "Account: the name that upstream asks its client builder for")
	lacks(len(d.Reads) == 0 && !d.ReadsAll && !readsNothing(d.Name), "Reads: the types of its informers")
	lacks(d.workers == nil, "workers")
	lacks(d.build == nil, "build")
	lacks(len(d.Queues) == 0 && !worksInTickers(d.Name), "Queues")
	for _, q := range d.Queues {
		of := "queue " + q.Name()
		lacks(q.Spec.Name() == "", of+": Spec: its name, its field and the type of its keys")
		lacks(len(q.Types) == 0 && !q.Any && !q.Feeds, of+": Types, Any or Feeds: what its keys stand for")
		lacks(d.Parts != nil && !slices.Contains(d.Parts, q.Loop), of+": Loop: which of the controller's loops has it")
		for _, t := range q.Types {
			lacks(len(q.Types) > 1 && q.Prefixes[t] == "", of+": Prefixes: what stands before the name of one of "+t)
		}
	}
	for _, part := range d.Parts {
		lacks(!slices.ContainsFunc(d.Queues, func(q Queue) bool { return q.Loop == part }), "Queues: one of loop "+part)
	}
	for _, t := range d.Decides {
		lacks(!slices.ContainsFunc(d.Queues, func(q Queue) bool { return slices.Contains(q.Types, t) }),
			"Queues: one with keys of "+t+", about which it decides, so that one object can be let through")
	}
	return missing
}

// worksInTickers has the controllers without a queue.
func worksInTickers(name string) bool {
	return slices.Contains([]string{
		names.CertificateSigningRequestCleanerController, names.PodCertificateRequestCleanerController,
		names.LegacyServiceAccountTokenCleanerController,
	}, name)
}

// readsNothing has the controllers without a shared informer.
func readsNothing(name string) bool {
	return name == names.KubeAPIServerClusterTrustBundlePublisherController // it makes its own
}

// Every fact of every controller is there.
func TestDescriptorsAreWhole(t *testing.T) {
	queues := map[string]string{}
	for _, d := range Descriptors() {
		for _, fact := range missingFacts(d) {
			t.Errorf("%s has no %s", d.Name, fact)
		}
		for _, q := range d.Queues {
			if other, twice := queues[q.Name()]; twice {
				t.Errorf("%s and %s both have a queue %s", other, d.Name, q.Name())
			}
			queues[q.Name()] = d.Name
		}
	}
}

// The test names each fact that is left out.
func TestMissingFacts(t *testing.T) {
	if diff := cmp.Diff([]string{
		"Does: a clause for listings",
		"Account: the name that upstream asks its client builder for",
		"Reads: the types of its informers",
		"workers", "build", "Queues",
	}, missingFacts(Descriptor{Name: "new-controller"})); diff != "" {
		t.Errorf("of an empty descriptor (- want, + got):\n%s", diff)
	}
	d := Descriptor{
		Name: "new-controller", Does: "is new", Account: "new", Reads: []string{"v1/pods"}, workers: workers(1),
		build: func(context.Context, *scope) ([]loop, error) { return nil, nil },
		Parts: []string{"one", "two"}, Decides: []string{"nodes"},
		Queues: []Queue{
			{Spec: tap.Strings("unknown", "queue"), Loop: "one"},
			{Spec: tap.Strings("two_types", "other"), Types: []string{"pods", "secrets"}, Prefixes: map[string]string{"pods": "pod:"}, Loop: "three"},
		},
	}
	if diff := cmp.Diff([]string{
		"queue unknown: Types, Any or Feeds: what its keys stand for",
		"queue two_types: Loop: which of the controller's loops has it",
		"queue two_types: Prefixes: what stands before the name of one of secrets",
		"Queues: one of loop two",
		"Queues: one with keys of nodes, about which it decides, so that one object can be let through",
	}, missingFacts(d)); diff != "" {
		t.Errorf("- want, + got:\n%s", diff)
	}
}

func TestSpecsOfLoops(t *testing.T) {
	for _, d := range Descriptors() {
		var all []string
		for _, l := range d.Loops() {
			specs, err := d.Specs(l)
			if err != nil {
				t.Errorf("%s: %v", d.Name, err)
			}
			for _, s := range specs {
				all = append(all, s.Name())
			}
		}
		slices.Sort(all)
		if diff := cmp.Diff(d.queueNames(), append([]string{}, all...)); diff != "" {
			t.Errorf("%s: its queues and those of its loops:\n%s", d.Name, diff)
		}
		if _, err := d.Specs("nobody"); err == nil || !strings.Contains(err.Error(), "no part") {
			t.Errorf("%s: the queues of a part that it does not have: %v", d.Name, err)
		}
	}
}

func TestKeysOf(t *testing.T) {
	keys, known := KeysOf(names.DeploymentController, "deployment")
	if !known || !reflect.DeepEqual(keys.Types, []string{"deployments.apps"}) {
		t.Errorf("%+v, %t", keys, known)
	}
	if _, known := KeysOf(names.DeploymentController, "job"); known {
		t.Error("a queue of another controller is known")
	}
	for key, want := range map[string]string{"claim:shop/gpu": "shop/gpu", "pod:shop/web-0": "shop/web-0", "podgroup:shop/all": "shop/all"} {
		keys, _ := KeysOf(names.ResourceClaimController, "resource_claim")
		if _, name, ok := keys.Object(key); !ok || name != want {
			t.Errorf("%q names %q (%t)", key, name, ok)
		}
	}
}

func TestConfinable(t *testing.T) {
	for typ, want := range map[string]bool{"deployments.apps": true, "namespaces": false, "persistentvolumeclaims": false} {
		if got := Confinable(DecidersOf(typ)); got != want {
			t.Errorf("Confinable(DecidersOf(%q)) = %t", typ, got)
		}
	}
}
