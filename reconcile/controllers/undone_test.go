package controllers

import (
	"slices"
	"testing"

	"k8s.io/kubernetes/cmd/kube-controller-manager/app/options"
	"k8s.io/kubernetes/cmd/kube-controller-manager/names"
)

func TestUndone(t *testing.T) {
	component, err := options.NewDefaultComponentConfig()
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		controllers  []string
		namespace    string
		with, beside []string // those undone, and those that are not
	}{
		"two":       {[]string{"deployment", "replicaset"}, "", []string{names.JobController, names.CertificateSigningRequestSigningController}, []string{names.DeploymentController, names.ReplicaSetController, names.SELinuxWarningController}},
		"all":       {[]string{"*"}, "", []string{names.CertificateSigningRequestSigningController}, []string{names.JobController}},
		"all but":   {[]string{"*", "-job"}, "", []string{names.JobController}, []string{names.DeploymentController}},
		"namespace": {[]string{"*"}, "shop", []string{names.NodeLifecycleController}, []string{names.JobController}},
	} {
		component.Generic.Controllers = c.controllers
		undone, err := Undone(&component, c.namespace)
		if err != nil {
			t.Fatal(err)
		}
		for _, loop := range c.with {
			if !slices.Contains(undone, loop) {
				t.Errorf("%s: %s should be undone: %q", name, loop, undone)
			}
		}
		for _, loop := range c.beside {
			if slices.Contains(undone, loop) {
				t.Errorf("%s: %s is not undone", name, loop)
			}
		}
	}
}
