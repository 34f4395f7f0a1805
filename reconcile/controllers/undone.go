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
	for _, d := range Descriptors() {
		gated := slices.ContainsFunc(d.Gates, func(g featuregate.Feature) bool { return !enabled(g) })
		if !running[d.Name] && !d.OffByDefault && !gated {
			undone = append(undone, d.Name)
		}
	}
	slices.Sort(undone)
	return undone, nil
}
