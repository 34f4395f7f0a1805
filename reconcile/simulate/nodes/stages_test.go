package nodes

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/kwok/pkg/apis/internalversion"
	"sigs.k8s.io/kwok/pkg/utils/gotpl"
	"sigs.k8s.io/kwok/pkg/utils/lifecycle"
)

// Every state of a pod leads to one stage or to rest, never to a choice that
// kwok would make at random.
func TestPodStages(t *testing.T) {
	now := metav1.Now()
	pod := func(phase corev1.PodPhase, change ...func(*corev1.Pod)) *corev1.Pod {
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "p", Namespace: "n"},
			Spec:       corev1.PodSpec{RestartPolicy: corev1.RestartPolicyAlways},
			Status:     corev1.PodStatus{Phase: phase},
		}
		for _, c := range change {
			c(pod)
		}
		return pod
	}
	ready := func(p *corev1.Pod) {
		p.Status.StartTime = &now
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}}
	}
	started := func(p *corev1.Pod) { p.Status.StartTime = &now }
	scheduled := func(p *corev1.Pod) {
		p.Status.Conditions = []corev1.PodCondition{{Type: corev1.PodScheduled, Status: corev1.ConditionTrue}}
	}
	ofJob := func(p *corev1.Pod) {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "Job", Name: "j"}}
		p.Finalizers = []string{"batch.kubernetes.io/job-tracking"}
		p.Spec.RestartPolicy = corev1.RestartPolicyNever
	}
	deleted := func(p *corev1.Pod) { p.DeletionTimestamp = &now }

	for _, test := range []struct {
		name                    string
		pod                     *corev1.Pod
		ready, pending, failing string
	}{
		{"bound", pod("Pending"), "pod-ready", "pod-pending", "pod-crash"},
		{"bound by the scheduler", pod("Pending", scheduled), "pod-ready", "pod-pending", "pod-crash"},
		{"running", pod("Running", ready), "", "", ""},
		{"held pending", pod("Pending", started), "pod-ready", "", "pod-crash"},
		{"running, deleted", pod("Running", ready, deleted), "pod-delete", "pod-delete", "pod-delete"},
		{"pending, deleted", pod("Pending", deleted), "pod-delete", "pod-delete", "pod-delete"},
		{"job, bound", pod("Pending", ofJob), "pod-ready", "pod-pending", "pod-fail"},
		{"job, running", pod("Running", ready, ofJob), "pod-complete", "", ""},
		{"job, done", pod("Succeeded", ofJob), "", "", ""},
		{"job, failed", pod("Failed", ofJob), "", "", ""},
		{"job, running, deleted", pod("Running", ready, ofJob, deleted), "pod-terminate", "pod-terminate", "pod-terminate"},
		{"job, failed, deleted", pod("Failed", ofJob, deleted), "pod-delete", "pod-delete", "pod-delete"},
	} {
		for behaviour, want := range map[PodBehaviour]string{PodsReady: test.ready, PodsPending: test.pending, PodsFailing: test.failing} {
			stages, err := podStages(behaviour)
			if err != nil {
				t.Fatal(err)
			}
			possible, err := stages.ListAllPossible(t.Context(), &lifecycle.Event{Data: test.pod})
			if err != nil {
				t.Fatal(err)
			}
			var names []string
			for _, stage := range possible {
				names = append(names, stage.Name())
			}
			if got := strings.Join(names, " or "); got != want {
				t.Errorf("%s, pods %s: stage %q, want %q", test.name, behaviour, got, want)
			}
		}
	}
}

// patchOf renders the stage that matches obj.
func patchOf(t *testing.T, stages lifecycle.Lifecycle, funcs gotpl.FuncMap, obj metav1.Object) (string, *lifecycle.Patch) {
	t.Helper()
	stage, err := stages.Match(t.Context(), &lifecycle.Event{Data: obj})
	if err != nil || stage == nil {
		t.Fatalf("stage %v: %v", stage, err)
	}
	var patches []*lifecycle.Patch
	_, err = stage.DoSteps(0, nil, obj, gotpl.NewRenderer(funcs),
		func(*internalversion.StageEvent) error { return nil },
		func() error { return nil },
		func(p *lifecycle.Patch) error { patches = append(patches, p); return nil },
		func(*lifecycle.Apply) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	if len(patches) != 1 {
		t.Fatalf("stage %s: %d patches", stage.Name(), len(patches))
	}
	return stage.Name(), patches[0]
}

func TestUntaintTakesOneTaintOnly(t *testing.T) {
	stages, err := nodeStages()
	if err != nil {
		t.Fatal(err)
	}
	node := &corev1.Node{
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{
			{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoSchedule},
			{Key: "node.kubernetes.io/not-ready", Effect: corev1.TaintEffectNoExecute},
			{Key: "dedicated", Value: `"quoted"`, Effect: corev1.TaintEffectNoSchedule},
		}},
		Status: corev1.NodeStatus{Phase: "Running", Conditions: []corev1.NodeCondition{{Type: corev1.NodeReady, Status: corev1.ConditionTrue}}},
	}
	name, patch := patchOf(t, stages, nil, node)
	if name != "node-untaint" || patch.Type != types.MergePatchType || patch.Subresource != "" {
		t.Fatalf("stage %s patches %s of %q", name, patch.Type, patch.Subresource)
	}
	var body struct {
		Spec struct{ Taints []corev1.Taint }
	}
	if err := json.Unmarshal(patch.Data, &body); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(body.Spec.Taints, node.Spec.Taints[1:]) {
		t.Errorf("patch %s leaves %v", patch.Data, body.Spec.Taints)
	}

	node.Spec.Taints = node.Spec.Taints[:1]
	if _, patch := patchOf(t, stages, nil, node); string(patch.Data) != `{"spec":{"taints":null}}` {
		t.Errorf("patch of the only taint: %s", patch.Data)
	}
}

func TestPreconditionNamesTheObject(t *testing.T) {
	got, err := precondition(&lifecycle.Patch{Type: types.StrategicMergePatchType, Data: []byte(`{"status":{"phase":"Running"}}`)}, "u")
	if err != nil || string(got) != `{"metadata":{"uid":"u"},"status":{"phase":"Running"}}` {
		t.Errorf("%s, %v", got, err)
	}
}

func TestParsePodBehaviour(t *testing.T) {
	for in, want := range map[string]PodBehaviour{"": PodsReady, "ready": PodsReady, "pending": PodsPending, "failing": PodsFailing} {
		if got, err := ParsePodBehaviour(in); got != want || err != nil {
			t.Errorf("%q: %q, %v", in, got, err)
		}
	}
	if _, err := ParsePodBehaviour("crash"); err == nil {
		t.Error("crash is taken for a behaviour")
	}
	if _, err := podStages("crash"); err == nil {
		t.Error("crash has stages")
	}
}
