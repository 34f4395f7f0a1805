package nodes

import (
	"embed"
	"fmt"

	"sigs.k8s.io/kwok/kustomize/stage/node/fast"
	heartbeat "sigs.k8s.io/kwok/kustomize/stage/node/heartbeat-with-lease"
	podfast "sigs.k8s.io/kwok/kustomize/stage/pod/fast"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/apis/v1alpha1"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
	"sigs.k8s.io/yaml"
)

// PodBehaviour says what becomes of a pod once it is bound to a node. Pods that
// run already are left alone.
type PodBehaviour string

const (
	// PodsReady: pods run and are ready at once; those of a Job succeed.
	PodsReady PodBehaviour = "ready"
	// PodsPending: pods stay pending, their containers being created for ever.
	PodsPending PodBehaviour = "pending"
	// PodsFailing: containers exit with 1. Pods with restartPolicy Never fail,
	// others are in CrashLoopBackOff.
	PodsFailing PodBehaviour = "failing"
)

// ParsePodBehaviour reads a flag's value. The empty string is PodsReady.
func ParsePodBehaviour(s string) (PodBehaviour, error) {
	switch b := PodBehaviour(s); b {
	case "":
		return PodsReady, nil
	case PodsReady, PodsPending, PodsFailing:
		return b, nil
	}
	return "", fmt.Errorf("unknown pod behaviour %q (known: %s, %s, %s)", s, PodsReady, PodsPending, PodsFailing)
}

// own are the stages that kwok does not bring along.
//
//go:embed stages/*.yaml
var own embed.FS

func nodeStages() (lifecycle.Lifecycle, error) {
	return parse(fast.DefaultNodeInit, heartbeat.DefaultNodeHeartbeatWithLease, ownStage("node-untaint"))
}

// podStages returns the stages for behaviour. Where two match one pod, their
// weights decide; without weights kwok would toss a coin.
func podStages(behaviour PodBehaviour) (lifecycle.Lifecycle, error) {
	end := []string{ownStage("pod-terminate"), podfast.DefaultPodDelete}
	switch behaviour {
	case "", PodsReady:
		return parse(append(end, podfast.DefaultPodReady, podfast.DefaultPodComplete)...)
	case PodsPending:
		return parse(append(end, ownStage("pod-pending"))...)
	case PodsFailing:
		return parse(append(end, ownStage("pod-crash"), ownStage("pod-fail"))...)
	}
	_, err := ParsePodBehaviour(string(behaviour))
	return nil, err
}

func ownStage(name string) string {
	text, err := own.ReadFile("stages/" + name + ".yaml")
	if err != nil {
		panic(err) // a file that is compiled in
	}
	return string(text)
}

func parse(texts ...string) (lifecycle.Lifecycle, error) {
	var stages []*internalversion.Stage
	for _, text := range texts {
		var stage v1alpha1.Stage
		if err := yaml.UnmarshalStrict([]byte(text), &stage); err != nil {
			return nil, fmt.Errorf("parse stage: %w", err)
		}
		v1alpha1.SetObjectDefaults_Stage(&stage)
		internal, err := internalversion.ConvertToInternalStage(&stage)
		if err != nil {
			return nil, fmt.Errorf("convert stage %s: %w", stage.Name, err)
		}
		stages = append(stages, internal)
	}
	return lifecycle.NewLifecycle(stages)
}
