package twin

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"
)

// event is one of the audit log.
func event(agent, verb, resource, namespace, name string, object any) *auditv1.Event {
	resource, subresource, _ := strings.Cut(resource, "/")
	e := &auditv1.Event{
		Stage: auditv1.StageResponseComplete, UserAgent: agent, Verb: verb, RequestURI: "/x",
		ObjectRef:      &auditv1.ObjectReference{Resource: resource, Subresource: subresource, Namespace: namespace, Name: name},
		ResponseStatus: &metav1.Status{Code: 200},
	}
	if object != nil {
		raw, err := json.Marshal(object)
		if err != nil {
			panic(err)
		}
		e.RequestObject = &runtime.Unknown{Raw: raw}
	}
	return e
}

// pod is what a controller sends to create one.
func pod(ownerKind, owner, generateName, name string) map[string]any {
	return map[string]any{"metadata": map[string]any{
		"generateName": generateName, "name": name,
		"ownerReferences": []any{map[string]any{"kind": ownerKind, "name": owner, "controller": true}},
	}}
}

const (
	us   = "kctl-ctrl/replicationcontroller-controller"
	them = "kube-controller-manager/v1.37.1 (linux/amd64) kubernetes/0000000/replication-controller"
)

func newTestLog() *Log {
	return NewLog(Options{
		Accounts: map[string]string{
			"replicationcontroller-controller": "replication-controller", "replication-controller": "replication-controller", "job-controller": "job-controller",
			"node-controller": "node-controller", "taint-eviction-controller": "node-controller", "cronjob-controller": "cronjob-controller",
		},
		Others: []string{"seed"},
		Scenario: func(namespace, _ string) string {
			if strings.HasPrefix(namespace, "s") {
				return namespace
			}
			return ""
		},
	}, []Known{{Resource: "pods", Namespace: "s", Name: "p-0", Controller: "ReplicationController/web"}})
}

func set(events ...*auditv1.Event) Set {
	l := newTestLog()
	for _, e := range events {
		l.Add(e)
	}
	return l.Sets()["s"]
}

// The same work by two processes: other user agents, other generated names.
func TestTwinsAreEqual(t *testing.T) {
	play := func(agent, a, b string) Set {
		return set(
			event(agent, "create", "pods", "s", "", pod("ReplicationController", "web", "web-", "")),
			event(agent, "create", "pods", "s", "", pod("ReplicationController", "web", "web-", "")),
			event(agent, "patch", "pods", "s", "web-"+a, nil),
			event(agent, "delete", "pods", "s", "web-"+b, nil),
			event(agent, "delete", "pods", "s", "p-0", nil),
			event(agent, "update", "replicationcontrollers/status", "s", "web", nil),
		)
	}
	ours, theirs := play(us, "bcdfg", "hjklm"), play(them, "nnnnn", "ppppp")
	if d := (Rules{}).Diff("ours", ours, "theirs", theirs); len(d) > 0 {
		t.Error(d)
	}
	want := Set{
		{"replication-controller", "create", "pods", "ReplicationController/web/*"}: 2,
		{"replication-controller", "patch", "pods", "ReplicationController/web/*"}:  1,
		{"replication-controller", "delete", "pods", "ReplicationController/web/*"}: 2,
		{"replication-controller", "write", "replicationcontrollers/status", "web"}: 1,
	}
	if !reflect.DeepEqual(ours, want) {
		t.Errorf("%v", ours)
	}
}

// A dead controller, a pod too few, and a controller too many are seen.
func TestTwinsThatDiffer(t *testing.T) {
	create := event(them, "create", "pods", "s", "", pod("ReplicationController", "web", "web-", ""))
	evicted := event("kctl-ctrl/taint-eviction-controller", "delete", "pods", "s", "p-0", nil)
	for _, c := range []struct {
		ours, theirs Set
		want         []string
	}{
		{set(), set(create), []string{"only theirs: replication-controller create pods ReplicationController/web/*"}},
		{set(create), set(create, create, create), []string{"only theirs: replication-controller create pods ReplicationController/web/* #2 to #3"}},
		{set(evicted), set(), []string{"only ours: node-controller delete pods ReplicationController/web/*"}},
	} {
		if d := (Rules{}).Diff("ours", c.ours, "theirs", c.theirs); !reflect.DeepEqual(d, c.want) {
			t.Errorf("%q, want %q", d, c.want)
		}
	}
}

func TestRules(t *testing.T) {
	lag := set(event(us, "update", "replicationcontrollers/status", "s", "web", nil))
	rules := Rules{Optional: []Optional{{Account: "replication-controller", Verb: "write", Resource: "replicationcontrollers/status", Reason: "lag"}}}
	if d := rules.Diff("a", lag, "b", nil); len(d) > 0 {
		t.Error(d)
	}
	if got, want := Unequal(lag, nil), []Write{{Account: "replication-controller", Verb: "write", Resource: "replicationcontrollers/status"}}; !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	a := set(event(us, "delete", "pods", "s", "x", nil))
	b := set(event("kctl-ctrl/taint-eviction-controller", "delete", "pods", "s", "x", nil))
	if d := (Rules{}).Diff("a", a, "b", b); len(d) != 2 {
		t.Error(d)
	}
	rules = Rules{Alternatives: []Alternative{{Resource: "pods", Accounts: []string{"node-controller", "replication-controller"}}}}
	if d := rules.Diff("a", a, "b", b); len(d) > 0 {
		t.Error(d)
	}
}

// What is no persisted write of a controller is left out.
func TestLeftOut(t *testing.T) {
	failed := event(us, "create", "pods", "s", "", pod("", "", "", "p"))
	failed.ResponseStatus.Code = 403
	dry := event(us, "create", "pods", "s", "p", nil)
	dry.RequestURI = "/api/v1/namespaces/s/pods?dryRun=All"
	l := newTestLog()
	for _, e := range []*auditv1.Event{
		failed, dry, event(us, "get", "pods", "s", "p", nil), event(us, "create", "events", "s", "e", nil),
		event(us, "create", "serviceaccounts/token", "s", "a", nil), event("kctl-ctrl/seed", "create", "pods", "s", "p", nil),
	} {
		if l.Add(e) {
			t.Errorf("%s %s counts", e.Verb, e.ObjectRef.Resource)
		}
	}
	if l.Total() != 0 || len(l.Unknown()) != 0 {
		t.Error(l.Total(), l.Unknown())
	}
	l.Add(event("kctl-ctrl/nobody", "create", "pods", "s", "p", nil))
	l.Add(event(us, "delete", "nodes", "", "node-1", nil))
	if l.Unknown()["kctl-ctrl/nobody"] != 1 || len(l.Sets()[Elsewhere]) != 1 {
		t.Error(l.Unknown(), l.Sets())
	}
}

// A write that was seen is no news.
func TestNews(t *testing.T) {
	l := newTestLog()
	for i, want := range []bool{true, false, false} {
		if got := l.Add(event(us, "update", "replicationcontrollers/status", "s", "web", nil)); got != want {
			t.Errorf("%d: %v", i, got)
		}
	}
	for i, name := range []string{"web-bcdfg", "web-hjklm"} {
		if !l.Add(event(us, "delete", "pods", "s", name, nil)) {
			t.Errorf("%d: another pod is news", i)
		}
	}
	if l.Total() != 5 {
		t.Error(l.Total())
	}
}

// A Job of a CronJob is named after a minute, its pods after it.
func TestMinutes(t *testing.T) {
	play := func(minute string) Set {
		job := map[string]any{"metadata": map[string]any{"name": "tick-" + minute, "ownerReferences": []any{map[string]any{"kind": "CronJob", "name": "tick", "controller": true}}}}
		return set(
			event("x/cronjob-controller", "create", "jobs", "s", "tick-"+minute, job),
			event("x/job-controller", "create", "pods", "s", "", pod("Job", "tick-"+minute, "tick-"+minute+"-", "")),
			event("x/job-controller", "patch", "pods", "s", "tick-"+minute+"-bcdfg", nil),
		)
	}
	a, b := play("29384120"), play("29384130")
	if d := (Rules{}).Diff("a", a, "b", b); len(d) > 0 {
		t.Error(d)
	}
	if a[Write{"job-controller", "patch", "pods", "Job/tick-*/*"}] != 1 {
		t.Error(a)
	}
}

func TestWorld(t *testing.T) {
	in := func(namespace, _ string) string { return namespace }
	world := func(uid string, replicas ...int) World {
		var objects []Object
		for i, n := range replicas {
			objects = append(objects, Object{ID: "Pod web-*", Namespace: "s", Name: string(rune('a' + i)), Content: map[string]any{"n": n, "owner": uid}})
		}
		objects = append(objects, Object{ID: "Node n", Name: "n", Content: 1})
		w, err := NewWorld(objects, in)
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	const uid, other = "00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"
	if d := world(uid, 1, 2).Diff("a", world(other, 2, 1), "b", "s"); len(d) > 0 {
		t.Error(d)
	}
	if d := world(uid, 1, 2).Diff("a", world(uid, 1), "b", "s"); !reflect.DeepEqual(d, []string{"Pod web-*: 2 a, 1 b"}) {
		t.Error(d)
	}
	if d := world(uid, 1).Diff("a", world(uid, 3), "b", "s"); len(d) != 1 || !strings.HasPrefix(d[0], "Pod web-*: a ") {
		t.Error(d)
	}
}

func TestScrub(t *testing.T) {
	for text, want := range map[string]string{
		"tick-29384120-bcdfg":                      "tick-*-bcdfg",
		`{"at":"2026-11-22T13:58:00Z"}`:            `{"at":"(time)"}`,
		"web-6dccdc64dc":                           "web-6dccdc64dc",
		"pvc-00000000-0000-0000-0000-000000000001": "pvc-*",
		`{"ca":"-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"}`: `{"ca":"(certificates)\n"}`,
	} {
		if got := Scrub(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func TestSettled(t *testing.T) {
	got := Settled(map[string]any{"phase": "Running", "podIP": "10.0.0.1", "conditions": []any{map[string]any{"type": "Ready", "message": "x"}}})
	want := map[string]any{"phase": "Running", "conditions": []any{map[string]any{"type": "Ready"}}}
	if !reflect.DeepEqual(got, want) {
		t.Error(got)
	}
	if a, b := Settled([]any{"a", "b"}), Settled([]any{"b", "a"}); !reflect.DeepEqual(a, b) {
		t.Error(a, b)
	}
}

func TestAlike(t *testing.T) {
	for _, c := range []struct{ kind, want string }{{"ReplicaSet", "ReplicaSet/web/*"}, {"StatefulSet", ""}} {
		content := pod(c.kind, "web", "", "p-1")
		if got := Alike("Pod", content); got != c.want {
			t.Errorf("%s: %q, want %q", c.kind, got, c.want)
		}
		if named := content["metadata"].(map[string]any)["name"] == "p-1"; named == (c.want != "") {
			t.Errorf("%s: %v", c.kind, content)
		}
	}
}
