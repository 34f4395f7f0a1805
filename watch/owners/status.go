package owners

import (
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/kctl-ctrl/kctl-ctrl/watch/document"
)

// statusless are built-in kinds without a useful status, or whose contents must not be
// read.
var statusless = map[string]bool{
	"secrets": true, "configmaps": true, "serviceaccounts": true, "endpoints": true, "limitranges": true, "podtemplates": true, "events": true,
	"controllerrevisions.apps": true, "endpointslices.discovery.k8s.io": true, "leases.coordination.k8s.io": true,
	"roles.rbac.authorization.k8s.io": true, "rolebindings.rbac.authorization.k8s.io": true,
	"clusterroles.rbac.authorization.k8s.io": true, "clusterrolebindings.rbac.authorization.k8s.io": true,
	"priorityclasses.scheduling.k8s.io": true, "storageclasses.storage.k8s.io": true, "csistoragecapacities.storage.k8s.io": true,
	"networkpolicies.networking.k8s.io": true, "ingressclasses.networking.k8s.io": true, "runtimeclasses.node.k8s.io": true,
	"mutatingwebhookconfigurations.admissionregistration.k8s.io": true, "validatingwebhookconfigurations.admissionregistration.k8s.io": true,
}

// StatusOf reads an object's status: by the rules of its kind if it is built in, else
// by the conventions that kstatus uses, too: observedGeneration, the conditions Ready,
// Available, Reconciling and Stalled, and a phase. It is nil for an object that has
// none of these.
func StatusOf(obj map[string]any) *document.ObjectStatus {
	u := unstructured.Unstructured{Object: obj}
	gk := u.GroupVersionKind().GroupKind()
	read := genericStatus
	if special, known := readers[gk.String()]; known {
		read = special
	}
	s := read(fields(obj))
	if u.GetDeletionTimestamp() != nil {
		if s == nil {
			s = &document.ObjectStatus{}
		}
		s.State, s.Health = "Terminating", document.HealthProgressing
	}
	return s
}

// readers are the kinds with their own rules.
var readers = map[string]func(fields) *document.ObjectStatus{
	"Pod":                   podStatus,
	"ReplicationController": replicaStatus,
	"ReplicaSet.apps":       replicaStatus,
	"Deployment.apps":       deploymentStatus,
	"StatefulSet.apps":      statefulSetStatus,
	"DaemonSet.apps":        daemonSetStatus,
	"Job.batch":             jobStatus,
	"CronJob.batch":         cronJobStatus,
}

// fields reads an object's fields and ignores missing ones.
type fields map[string]any

func (f fields) value(path string) any {
	var v any = map[string]any(f)
	for name := range strings.SplitSeq(path, ".") {
		m, isMap := v.(map[string]any)
		if !isMap {
			return nil
		}
		v = m[name]
	}
	return v
}

func (f fields) text(path string) string {
	s, _ := f.value(path).(string)
	return s
}

func (f fields) flag(path string) bool {
	b, _ := f.value(path).(bool)
	return b
}

func (f fields) number(path string, otherwise int64) int64 {
	switch n := f.value(path).(type) {
	case int64:
		return n
	case float64:
		return int64(n)
	}
	return otherwise
}

func (f fields) list(path string) []fields {
	items, _ := f.value(path).([]any)
	var list []fields
	for _, item := range items {
		if m, isMap := item.(map[string]any); isMap {
			list = append(list, m)
		}
	}
	return list
}

func (f fields) condition(kind string) fields {
	for _, c := range f.list("status.conditions") {
		if c.text("type") == kind {
			return c
		}
	}
	return nil
}

// behind reports whether the controller has not observed the latest spec yet.
func (f fields) behind() bool {
	observed := f.number("status.observedGeneration", -1)
	return observed >= 0 && observed < f.number("metadata.generation", 0)
}

func replicas(f fields, ready, want int64) *document.ObjectStatus {
	s := &document.ObjectStatus{Ready: fmt.Sprintf("%d/%d", ready, want), State: "Ready", Health: document.HealthReady}
	switch {
	case f.behind():
		s.State, s.Health = "Updating", document.HealthProgressing
	case ready < want:
		s.State, s.Health = "Progressing", document.HealthProgressing
	case ready > want:
		s.State, s.Health = "Scaling down", document.HealthProgressing
	}
	if c := f.condition("ReplicaFailure"); c.text("status") == "True" {
		s.State, s.Message, s.Health = c.text("reason"), c.text("message"), document.HealthFailed
	}
	return s
}

func replicaStatus(f fields) *document.ObjectStatus {
	return replicas(f, f.number("status.readyReplicas", 0), f.number("spec.replicas", 1))
}

func deploymentStatus(f fields) *document.ObjectStatus {
	want := f.number("spec.replicas", 1)
	s := replicas(f, f.number("status.readyReplicas", 0), want)
	if s.Health == document.HealthReady && (f.number("status.updatedReplicas", 0) < want || f.number("status.replicas", 0) > want) {
		s.State, s.Health = "Rolling out", document.HealthProgressing
	}
	if s.Health == document.HealthReady {
		s.State = "Available"
	}
	if c := f.condition("Progressing"); c.text("status") == "False" {
		s.State, s.Message, s.Health = c.text("reason"), c.text("message"), document.HealthFailed
	}
	if f.flag("spec.paused") {
		s.State = "Paused"
	}
	return s
}

func statefulSetStatus(f fields) *document.ObjectStatus {
	s := replicas(f, f.number("status.readyReplicas", 0), f.number("spec.replicas", 1))
	current, update := f.text("status.currentRevision"), f.text("status.updateRevision")
	if s.Health == document.HealthReady && current != update && f.text("spec.updateStrategy.type") != "OnDelete" &&
		f.number("spec.updateStrategy.rollingUpdate.partition", 0) == 0 {
		s.State, s.Health = "Rolling out", document.HealthProgressing
	}
	return s
}

func daemonSetStatus(f fields) *document.ObjectStatus {
	want := f.number("status.desiredNumberScheduled", 0)
	s := replicas(f, f.number("status.numberReady", 0), want)
	if s.Health == document.HealthReady && f.number("status.updatedNumberScheduled", 0) < want && f.text("spec.updateStrategy.type") != "OnDelete" {
		s.State, s.Health = "Rolling out", document.HealthProgressing
	}
	if want == 0 && !f.behind() {
		s.State = "No matching node"
	}
	return s
}

func jobStatus(f fields) *document.ObjectStatus {
	done := f.number("status.succeeded", 0)
	s := &document.ObjectStatus{
		Ready: fmt.Sprintf("%d/%d", done, f.number("spec.completions", max(1, done))),
		State: "Running", Health: document.HealthProgressing,
	}
	for _, c := range f.list("status.conditions") {
		if c.text("status") != "True" {
			continue
		}
		switch c.text("type") {
		case "Complete":
			s.State, s.Message, s.Health = "Complete", "", document.HealthReady
		case "Failed":
			s.State, s.Message, s.Health = "Failed", c.text("message"), document.HealthFailed
		case "Suspended":
			s.State, s.Health = "Suspended", document.HealthUnknown
		}
	}
	return s
}

func cronJobStatus(f fields) *document.ObjectStatus {
	s := &document.ObjectStatus{State: fmt.Sprintf("%d active", len(f.list("status.active"))), Health: document.HealthReady}
	if f.flag("spec.suspend") {
		s.State, s.Health = "Suspended", document.HealthUnknown
	}
	return s
}

// podStatus follows the STATUS column of kubectl get pods, shortened.
func podStatus(f fields) *document.ObjectStatus {
	s := &document.ObjectStatus{State: f.text("status.phase"), Message: f.text("status.message")}
	if reason := f.text("status.reason"); reason != "" {
		s.State = reason
	}
	ready := 0
	containers := f.list("status.containerStatuses")
	for _, c := range containers {
		if c.flag("ready") {
			ready++
		}
		blocked(c, "", s)
	}
	for _, c := range f.list("status.initContainerStatuses") {
		if code := c.number("state.terminated.exitCode", -1); code != 0 && !c.flag("started") {
			blocked(c, "Init:", s)
		}
	}
	s.Ready = fmt.Sprintf("%d/%d", ready, max(len(f.list("spec.containers")), len(containers)))
	if c := f.condition("PodScheduled"); c.text("status") == "False" {
		s.State, s.Message = c.text("reason"), c.text("message")
	}
	switch {
	case f.text("status.phase") == "Failed":
		s.Health = document.HealthFailed
	case f.text("status.phase") == "Succeeded":
		s.State, s.Health = "Completed", document.HealthReady
	case f.condition("Ready").text("status") == "True":
		s.Health = document.HealthReady
	case s.Health == document.HealthUnknown:
		s.Health = document.HealthProgressing
	}
	return s
}

// blocked reports why a container does not run.
func blocked(c fields, prefix string, s *document.ObjectStatus) {
	if reason := c.text("state.waiting.reason"); reason != "" {
		s.State, s.Message = prefix+reason, c.text("state.waiting.message")
		if strings.Contains(reason, "BackOff") || strings.HasPrefix(reason, "Err") || strings.HasSuffix(reason, "Error") {
			s.Health = document.HealthFailed
		}
	} else if reason := c.text("state.terminated.reason"); reason != "" && c.number("state.terminated.exitCode", 0) != 0 {
		s.State, s.Message, s.Health = prefix+reason, c.text("state.terminated.message"), document.HealthFailed
	}
}

// badWhenTrue are conditions that report a problem when True.
var badWhenTrue = []string{"Stalled", "Failed", "Degraded"}

func genericStatus(f fields) *document.ObjectStatus {
	s := &document.ObjectStatus{State: f.text("status.phase")}
	switch s.State {
	case "Active", "Bound", "Running", "Ready", "Succeeded", "Available", "Complete", "Completed":
		s.Health = document.HealthReady
	case "Failed", "Error", "Lost":
		s.Health = document.HealthFailed
	case "Pending", "Terminating", "Progressing", "Creating", "Released":
		s.Health = document.HealthProgressing
	}
	for _, kind := range []string{"Ready", "Available", "Established", "Healthy"} {
		c := f.condition(kind)
		if c == nil {
			continue
		}
		s.Ready = c.text("status")
		s.Health = document.HealthReady
		if s.Ready != "True" {
			s.Health = document.HealthProgressing
			s.State, s.Message = c.text("reason"), c.text("message")
		} else if s.State == "" {
			s.State = kind
		}
		break
	}
	if f.condition("Reconciling").text("status") == "True" || f.behind() {
		s.State, s.Health = "Reconciling", document.HealthProgressing
	}
	for _, kind := range badWhenTrue {
		if c := f.condition(kind); c.text("status") == "True" {
			s.State, s.Message, s.Health = kind, c.text("message"), document.HealthFailed
		}
	}
	if s.State == "" && s.Ready == "" {
		return nil
	}
	return s
}
