package guard_test

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// TestDecide is the table of the package comment: what becomes of each kind of
// request in each mode, before any body is looked at.
func TestDecide(t *testing.T) {
	const pass, send, dry, answer, no = guard.ActionPass, guard.ActionSend, guard.ActionSendDry, guard.ActionAnswer, guard.ActionRefuse
	guards := make([]*guard.Guard, len(allModes))
	grant := newServer(t).grant(t)
	for i, mode := range allModes {
		g, err := guard.New(guard.Options{Mode: mode, Grant: grant})
		if err != nil {
			t.Fatal(err)
		}
		guards[i] = g
	}
	for _, test := range []struct {
		method, path string
		// want is in the order of allModes: read-only, client, server, active.
		want [4]guard.Action
	}{
		{"GET", podPath, [4]guard.Action{pass, pass, pass, pass}},
		{"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", [4]guard.Action{pass, pass, pass, pass}},
		{"POST", "/api/v1/namespaces/shop/pods", [4]guard.Action{no, answer, dry, send}},
		{"POST", "/api/v1/namespaces/shop/events", [4]guard.Action{no, answer, dry, send}},
		{"PUT", deploymentPath + "/status", [4]guard.Action{no, answer, dry, send}},
		{"PATCH", scalePath, [4]guard.Action{no, answer, dry, send}},
		{"DELETE", podPath, [4]guard.Action{no, answer, dry, send}},
		{"DELETE", "/api/v1/namespaces/shop/pods", [4]guard.Action{no, answer, dry, send}},
		{"POST", podPath + "/eviction", [4]guard.Action{no, answer, dry, send}},
		{"POST", podPath + "/binding", [4]guard.Action{no, answer, dry, send}},
		{"POST", "/api/v1/namespaces/shop/serviceaccounts/default/token", [4]guard.Action{no, no, no, send}},
		{"DELETE", widgetPath, [4]guard.Action{no, answer, no, send}},
		{"GET", podPath + "/exec", [4]guard.Action{no, no, no, no}},
		{"POST", podPath + "/selfdestruct", [4]guard.Action{no, no, no, no}},
		{"PUT", "/debug/flags/v", [4]guard.Action{no, no, no, no}},
	} {
		r := request.Classify(test.method, &url.URL{Path: test.path}, http.Header{})
		for i, g := range guards {
			got := g.Decide(r)
			if got.Action != test.want[i] || (got.Action == no) != (got.Reason != "") {
				t.Errorf("%s, %s %s: %+v, want %s", allModes[i], test.method, test.path, got, test.want[i])
			}
		}
	}
	if got := guards[0].Decide(request.Request{}); got.Action != no || guards[0].Mode() != state.ModeReadOnly {
		t.Errorf("the zero request gets %+v", got)
	}
}
