// Package emulation sets the Kubernetes version and the feature gates of the
// controllers and the scheduler in this process to those of the sandbox that they
// connect to.
//
// Both are global to the process (component-base/compatibility and
// apiserver/pkg/util/feature @v0.37.1; client-go's gates follow them through
// k8s.io/kubernetes/pkg/features), and constructors read them once. Call Apply before
// any controller is created; two sandboxes of different versions need two processes.
package emulation

import (
	"fmt"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/apiserver/pkg/util/compatibility"
	basecompatibility "k8s.io/component-base/compatibility"
	"k8s.io/component-base/featuregate"
	_ "k8s.io/kubernetes/pkg/features" // registers the gates that controllers ask for
)

// Apply makes this process behave like a minor version ("1.36"; empty means the linked
// one) with the given feature gates. It returns an error, and changes nothing, for an
// unknown gate, a gate that is locked at that version, and a version that cannot be
// emulated.
func Apply(minor string, gates map[string]bool) error {
	// Both are tried on copies first, because upstream keeps rejected values.
	trial := compatibility.DefaultBuildEffectiveVersion()
	v := trial.BinaryVersion()
	if minor != "" {
		var err error
		if v, err = version.ParseMajorMinor(minor); err != nil {
			return fmt.Errorf("emulate Kubernetes %q: %w", minor, err)
		}
	}
	trial.SetEmulationVersion(v)
	if errs := trial.Validate(); len(errs) > 0 {
		return fmt.Errorf("emulate Kubernetes %s: %w", v, utilerrors.NewAggregate(errs))
	}
	// The component was registered by an init function upstream: this returns
	// what is there.
	effective, featureGate := compatibility.DefaultComponentGlobalsRegistry.ComponentGlobalsOrRegister(
		basecompatibility.DefaultKubeComponent, nil, nil)
	if err := set(trial, featureGate.DeepCopy(), v, gates); err != nil {
		return err
	}
	return set(effective, featureGate, v, gates)
}

func set(effective basecompatibility.MutableEffectiveVersion, featureGate featuregate.MutableVersionedFeatureGate,
	v *version.Version, gates map[string]bool) error {
	effective.SetEmulationVersion(v)
	if err := featureGate.SetEmulationVersionAndMinCompatibilityVersion(
		effective.EmulationVersion(), effective.MinCompatibilityVersion()); err != nil {
		return fmt.Errorf("emulate Kubernetes %s: %w", v, err)
	}
	if err := featureGate.SetFromMap(gates); err != nil {
		return fmt.Errorf("set feature gates: %w", err)
	}
	if errs := featureGate.Validate(); len(errs) > 0 {
		return fmt.Errorf("set feature gates: %w", utilerrors.NewAggregate(errs))
	}
	return nil
}
