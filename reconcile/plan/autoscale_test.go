package plan

import (
	"slices"
	"strings"
	"testing"
	"time"
)

const autoscalerHead = "apiVersion: autoscaling/v2, kind: HorizontalPodAutoscaler, metadata: {name: web, namespace: shop}, "

func TestLimitedBy(t *testing.T) {
	const up, down = `status: {conditions: [{type: ScalingLimited, status: "True", reason: ScaleUpLimit}]}`, `status: {conditions: [{type: ScalingLimited, status: "True", reason: ScaleDownLimit}]}`
	for text, want := range map[string]time.Duration{
		up: defaultPeriod,
		`status: {conditions: [{type: ScalingLimited, status: "False", reason: ScaleUpLimit}]}`:                      0,
		`status: {conditions: [{type: ScalingLimited, status: "True", reason: TooManyReplicas}]}`:                    0,
		`spec: {behavior: {scaleUp: {policies: [{periodSeconds: 60}, {periodSeconds: 30}]}}}, ` + up:                 time.Minute,
		`spec: {behavior: {scaleUp: {policies: [{periodSeconds: 60}]}}}, ` + down:                                    defaultPeriod,
		`spec: {behavior: {scaleUp: {selectPolicy: Disabled, policies: [{periodSeconds: 60}]}}}, ` + up:              0,
		`spec: {behavior: {scaleDown: {selectPolicy: Disabled}, scaleUp: {policies: [{periodSeconds: 20}]}}}, ` + up: 20 * time.Second,
	} {
		period, limited := limitedBy(mustParse(t, "{"+autoscalerHead+text+"}")[0].Object)
		if period != want || limited != (want > 0) {
			t.Errorf("%s: %s, %t", text, period, limited)
		}
	}
}

// What an autoscaler says of itself is a warning or a timer of the plan.
func TestAutoscalersInRemarks(t *testing.T) {
	for text, want := range map[string]string{
		`status: {conditions: [{type: ScalingActive, status: "False", reason: FailedGetResourceMetric, message: missing request for cpu}]}`:     "HorizontalPodAutoscaler shop/web cannot compute a number of replicas: missing request for cpu",
		`status: {conditions: [{type: AbleToScale, status: "False", reason: FailedGetScale, message: not found}]}`:                              "HorizontalPodAutoscaler shop/web cannot scale: not found",
		`status: {conditions: [{type: AbleToScale, status: "True", reason: ScaleDownStabilized, message: recent recommendations were higher}]}`: "HorizontalPodAutoscaler shop/web scales after its stabilization window: recent recommendations were higher",
		`status: {conditions: [{type: ScalingLimited, status: "True", reason: ScaleUpLimit}]}`:                                                  "HorizontalPodAutoscaler shop/web scales on: its policies limit how much it scales at once",
		`spec: {metrics: [{type: External}]}`: "metrics: custom and external metrics are not served (HorizontalPodAutoscaler shop/web)",
	} {
		o := mustParse(t, "{"+autoscalerHead+text+"}")[0].Object
		end := State{Objects: []Captured{{Resource: "horizontalpodautoscalers", Content: o}}}
		p := Compare(Input{End: end, After: &Applied{Results: []Result{{Action: Created, Manifest: o, After: o}}}})
		if all := slices.Concat(p.Warnings, p.Timers, p.NotSimulated); !slices.Contains(all, want) {
			t.Errorf("%q is not in\n%s", want, strings.Join(all, "\n"))
		}
	}
	disabled := mustParse(t, "{"+autoscalerHead+`status: {conditions: [{type: ScalingActive, status: "False", reason: ScalingDisabled, message: zero}]}}`)[0].Object
	if p := Compare(Input{End: State{Objects: []Captured{{Content: disabled}}}}); len(p.Warnings) > 0 {
		t.Errorf("an autoscaler of what is scaled to 0: %q", p.Warnings)
	}
}

// A set that brings metrics-server finds its API served already.
func TestMetricsServerIsNotSent(t *testing.T) {
	server, cluster := newFakeServer(t)
	server.store("apiservices/v1beta1.metrics.k8s.io", map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService", "metadata": map[string]any{"name": "v1beta1.metrics.k8s.io", "uid": "own"},
		"spec": map[string]any{"group": "metrics.k8s.io", "version": "v1beta1"},
	})
	set := mustParse(t, `
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {name: v1beta1.metrics.k8s.io}
spec: {group: metrics.k8s.io, version: v1beta1, service: {namespace: kube-system, name: metrics-server}}
`)
	start := State{Objects: []Captured{{Resource: "apiservices", Content: server.objects["apiservices/v1beta1.metrics.k8s.io"]}}}
	var applied [2]*Applied
	for i := range applied {
		var err error
		if applied[i], err = cluster.Apply(t.Context(), set, Options{}); err != nil {
			t.Fatal(err)
		}
	}
	if r := applied[0].Results[0]; r.Action != Skipped || !strings.Contains(r.Note, "serves metrics.k8s.io itself") || len(server.writes) > 0 {
		t.Errorf("%s: %s; %q", r.Action, r.Note, server.writes)
	}
	if p := Compare(Input{Baseline: start, Start: start, End: start, After: applied[0]}); p.Summary.Create != 1 || p.Summary.Change != 0 {
		t.Errorf("as new: %+v", p.Summary)
	}
	if p := Compare(Input{Baseline: start, Start: start, End: start, Before: applied[0], After: applied[1]}); p.HasChanges {
		t.Errorf("the same set again: %+v", p.Summary)
	}
}
