package controllers

import (
	"slices"

	"k8s.io/component-base/featuregate"
	kubectrlmgrconfig "k8s.io/kubernetes/pkg/controller/apis/config"
)

// Undone names the controllers that kube-controller-manager runs unless told
// otherwise, and that do not run with this configuration: not selected, or unable to
// start with it. While it works in place of kube-controller-manager nobody runs
// them. A namespace confines them as Config.Namespace does.
func Undone(component *kubectrlmgrconfig.KubeControllerManagerConfiguration, namespace string) ([]string, error) {
	loops, _, err := Rights(component, namespace)
	if err != nil {
		return nil, err
	}
	running := map[string]bool{}
	for _, l := range loops {
		running[l.Name] = true
	}
	var undone []string
	for _, r := range Descriptors() {
		gated := slices.ContainsFunc(r.Gates, func(g featuregate.Feature) bool { return !enabled(g) })
		if !running[r.Name] && !r.OffByDefault && !gated {
			undone = append(undone, r.Name)
		}
	}
	slices.Sort(undone)
	return undone, nil
}
