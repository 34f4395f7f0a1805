package emulation_test

import (
	"testing"

	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/emulation"
)

// The gates are one set per process, so one test walks through all of it.
func TestApply(t *testing.T) {
	// Beta, and on, since 1.36 (pkg/features/kube_features.go@v1.37.1).
	const gate = featuregate.Feature("StaleControllerConsistencyReplicaSet")
	expect := func(step string, want bool) {
		t.Helper()
		if got := utilfeature.DefaultFeatureGate.Enabled(gate); got != want {
			t.Errorf("%s: %s=%v, want %v", step, gate, got, want)
		}
	}
	expect("at first", true)
	if err := emulation.Apply("1.34", nil); err != nil {
		t.Fatal(err)
	}
	expect("in 1.34", false)

	for _, v := range []string{"1.33", "1.38", "new"} {
		if err := emulation.Apply(v, nil); err == nil {
			t.Errorf("Apply(%q) succeeded", v)
		}
	}
	if err := emulation.Apply("1.37", map[string]bool{"NoSuchGate": true}); err == nil {
		t.Error("an unknown gate was accepted")
	}
	expect("after refusals", false)

	if err := emulation.Apply("", nil); err != nil {
		t.Fatal(err)
	}
	expect("in "+sandbox.LinkedVersion, true)
	if err := emulation.Apply("1.37", map[string]bool{string(gate): false}); err != nil {
		t.Fatal(err)
	}
	expect("switched off", false)
}
