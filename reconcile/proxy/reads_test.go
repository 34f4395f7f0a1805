package proxy

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestClientNames(t *testing.T) {
	c := NewClients(func(name string) bool { return name == "deployment-controller" })
	name := func(userAgent string) string {
		return c.Of(&http.Request{Header: http.Header{"User-Agent": {userAgent}}})
	}
	for userAgent, want := range map[string]string{
		"operator/v1.2.3 (linux/amd64) kubernetes/abc leader-election": "operator",
		"kubectl":                     "kubectl",
		"":                            unnamedClient,
		"/v1":                         unnamedClient,
		"kctl-ctrl/garbage-collector": "kctl-ctrl",
		"deployment-controller/v1":    "deployment-controller (client)",
		"a\x1b[31m\u202eb":            "a__31m_b",
		strings.Repeat("x", 100):      strings.Repeat("x", maxClientName),
	} {
		if got := name(userAgent); got != want {
			t.Errorf("%q is called %q, want %q", userAgent, got, want)
		}
	}
	seen := map[string]bool{}
	for i := range 10 * maxClients {
		seen[name(fmt.Sprintf("op-%d", i))] = true
	}
	if len(seen) > maxClients+1 || !seen[otherClients] {
		t.Errorf("%d names were made", len(seen))
	}
	if got := name("operator"); got != "operator" {
		t.Errorf("a name known before the bound is %q now", got)
	}
}

func TestReadsAreFewAndExact(t *testing.T) {
	var events []state.ClientRead
	r := &reads{recorder: state.RecorderFunc(func(e state.Event) { events = append(events, e.(state.ClientRead)) }), kinds: map[readKind]*readCount{}}
	pods := readKind{client: "op", verb: "list", object: state.Ref{Version: "v1", Resource: "pods"}}
	for range 1234 {
		r.count(pods, 200, "")
	}
	for range 3 {
		r.count(pods, 403, "")
	}
	r.count(pods, 0, strings.Repeat("é", maxReadMessage))
	r.rest()
	r.rest()
	sums := map[int]uint64{}
	for i, e := range events {
		sums[e.Status] += e.Count
		if atEnd := i >= len(events)-2; e.AtEnd != atEnd {
			t.Errorf("record %d of %d: at the end is %v", i+1, len(events), e.AtEnd)
		}
		if len(e.Message) > maxReadMessage+len("…") {
			t.Errorf("a message of %d bytes", len(e.Message))
		}
	}
	if sums[200] != 1234 || sums[403] != 3 || sums[0] != 1 {
		t.Errorf("the counts add up to %v", sums)
	}
	// 1, 10, 100, 1000 and the rest; 1 and the rest; 1.
	if len(events) != 8 {
		t.Errorf("%d records, want 8: %v", len(events), events)
	}
}

// However many namespaces and types a client names, the kinds stay few.
func TestKindsOfReadsAreBounded(t *testing.T) {
	records := 0
	r := &reads{recorder: state.RecorderFunc(func(state.Event) { records++ }), kinds: map[readKind]*readCount{}}
	for i := range 10 * maxReadKinds {
		r.count(readKind{client: "op", verb: "list", object: state.Ref{Resource: "pods", Namespace: fmt.Sprint(i)}}, 200, "")
	}
	if len(r.kinds) > maxReadKinds+1 || records > maxReadKinds+5 {
		t.Errorf("%d kinds, %d records", len(r.kinds), records)
	}
}

func TestKindOf(t *testing.T) {
	for path, want := range map[string]string{
		"/api/v1/pods":                                                "list pods",
		"/api/v1/pods?watch=true":                                     "watch pods",
		"/api/v1/pods?watch=1&sendInitialEvents=true":                 "watch pods, beginning with what is there,",
		"/api/v1/pods?watch=false":                                    "list pods",
		"/api/v1/watch/pods":                                          "watch pods",
		"/apis/apps/v1/namespaces/a/deployments/web":                  "get deployments.apps in a",
		"/apis/apps/v1/namespaces/a/deployments/web/scale":            "get deployments.apps in a",
		"/api/v1/namespaces/a/pods?watch=True&fieldSelector=metadata": "watch pods in a",
		"/version":            "get discovery and other paths",
		"/version?watch=true": "get discovery and other paths",
		"/healthz":            "get discovery and other paths",
		"/api/v1/namespaces/a/pods/x/proxy/healthz": "",
		"/openapi/v3":           "get discovery and other paths",
		"/apis/apps/v1":         "get discovery and other paths",
		"/api/v1/pods/x/exec":   "",
		"/made/up":              "",
		"/api/v1/pods/../nodes": "",
	} {
		u, err := url.Parse(path)
		if err != nil {
			t.Fatal(err)
		}
		kind, ok := kindOf("op", request.Classify(http.MethodGet, u, nil), u.Query())
		got := ""
		if ok {
			got = strings.TrimPrefix(state.Describe((&readCount{}).record(kind, "")), "op: ")
		}
		if got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
		if kind.object.Name != "" {
			t.Errorf("%s: the kind bears the name %q", path, kind.object.Name)
		}
	}
	u, _ := url.Parse("/apis/authorization.k8s.io/v1/selfsubjectaccessreviews")
	if kind, ok := kindOf("op", request.Classify(http.MethodPost, u, nil), nil); !ok || kind.verb != "review" {
		t.Errorf("a review: %+v, %v", kind, ok)
	}
	u, _ = url.Parse("/api/v1/namespaces/a/pods")
	if kind, ok := kindOf("op", request.Classify(http.MethodPost, u, nil), nil); ok {
		t.Errorf("a write counts as a read: %+v", kind)
	}
}
