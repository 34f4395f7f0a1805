package request_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/sets"
	apirequest "k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
)

func TestClassify(t *testing.T) {
	apply := http.Header{"Content-Type": {"application/apply-patch+yaml"}}
	websocket := http.Header{"Connection": {"keep-alive, Upgrade"}, "Upgrade": {"websocket"}}
	tests := []struct {
		method, path string
		header       http.Header
		want         string // kind verb object subresource
	}{
		// reads
		{"GET", "/api/v1/namespaces/shop/pods/web", nil, "read get pods shop/web"},
		{"", "/api/v1/namespaces/shop/pods/web", nil, "read get pods shop/web"},
		{"HEAD", "/api/v1/nodes", nil, "read list nodes"},
		{"GET", "/apis/apps/v1/deployments?watch=true", nil, "read list deployments.apps"},
		{"GET", "/api/v1/watch/namespaces/shop/pods", nil, "read watch pods shop/"},
		{"GET", "/api/v1/namespaces/shop/pods/web/log", nil, "read get pods shop/web log"},
		{"GET", "/api/v1/namespaces/shop", nil, "read get namespaces shop"},
		{"GET", "/api/v1/namespaces/shop/status", nil, "read get namespaces shop status"},
		{"GET", "/apis/custom.metrics.k8s.io/v1beta2/namespaces/shop/pods/*/rps", nil, "read get pods.custom.metrics.k8s.io shop/* rps"},
		{"GET", "/apis/apps/v1/", nil, "read get"},
		{"GET", "/api", nil, "read get"},
		{"GET", "/", nil, "read get"},
		{"GET", "/readyz/etcd", nil, "read get"},
		{"GET", "/openapi/v3/apis/apps/v1", nil, "read get"},
		{"GET", "/.well-known/openid-configuration", nil, "read get"},
		{"GET", "/metrics", nil, "read get"},
		// reviews
		{"POST", "/apis/authorization.k8s.io/v1/subjectaccessreviews", nil, "review create subjectaccessreviews.authorization.k8s.io"},
		{"POST", "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews", nil, "review create selfsubjectrulesreviews.authorization.k8s.io"},
		{"POST", "/apis/authorization.k8s.io/v1/namespaces/shop/localsubjectaccessreviews", nil, "review create localsubjectaccessreviews.authorization.k8s.io shop/"},
		{"POST", "/apis/authentication.k8s.io/v1/tokenreviews", nil, "review create tokenreviews.authentication.k8s.io"},
		{"POST", "/apis/evil.example/v1/subjectaccessreviews", nil, "write create subjectaccessreviews.evil.example"},
		{"PUT", "/apis/authorization.k8s.io/v1/subjectaccessreviews/x", nil, "write update subjectaccessreviews.authorization.k8s.io x"},
		// writes
		{"POST", "/api/v1/namespaces/shop/pods", nil, "write create pods shop/"},
		{"POST", "/api/v1/namespaces", nil, "write create namespaces"},
		{"PUT", "/apis/apps/v1/namespaces/shop/deployments/web/status", nil, "write update deployments.apps shop/web status"},
		{"PUT", "/api/v1/namespaces/shop/finalize", nil, "write update namespaces shop finalize"},
		{"PATCH", "/apis/apps/v1/namespaces/shop/deployments/web/scale", nil, "write patch deployments.apps shop/web scale"},
		{"PATCH", "/apis/apps/v1/namespaces/shop/deployments/web", apply, "write apply deployments.apps shop/web"},
		{"DELETE", "/api/v1/namespaces/shop", nil, "write delete namespaces shop"},
		{"DELETE", "/api/v1/namespaces/shop/pods", nil, "write deletecollection pods shop/"},
		{"DELETE", "/api/v1/namespaces/shop/pods/web/", nil, "write delete pods shop/web"},
		{"POST", "/api/v1/namespaces/shop/pods/web/eviction", nil, "write create pods shop/web eviction"},
		{"POST", "/api/v1/namespaces/shop/pods/web/binding", nil, "write create pods shop/web binding"},
		{"POST", "/api/v1/namespaces/shop/serviceaccounts/default/token", nil, "write create serviceaccounts shop/default token"},
		{"PUT", "/apis/certificates.k8s.io/v1/certificatesigningrequests/x/approval", nil, "write update certificatesigningrequests.certificates.k8s.io x approval"},
		{"POST", "/api/v1/namespaces/shop/events", nil, "write create events shop/"},
		// ways into nodes, pods and services, also as GET
		{"GET", "/api/v1/namespaces/shop/pods/web/exec?command=rm", nil, "connect connect pods shop/web exec"},
		{"POST", "/api/v1/namespaces/shop/pods/web/attach", nil, "connect connect pods shop/web attach"},
		{"GET", "/api/v1/namespaces/shop/pods/web/portforward", nil, "connect connect pods shop/web portforward"},
		{"GET", "/api/v1/nodes/n1/proxy/run/shop/web/c", nil, "connect connect nodes n1 proxy"},
		{"DELETE", "/api/v1/namespaces/shop/services/https:web:443/proxy/x", nil, "connect connect services shop/https:web:443 proxy"},
		{"GET", "/api/v1/proxy/nodes/n1", nil, "connect connect"},
		{"GET", "/api/v1/namespaces/shop/pods/web", websocket, "upgrade get pods shop/web"},
		{"GET", "/apis/apps/v1/deployments", http.Header{"uPGRADE": {"SPDY/3.1"}}, "upgrade list deployments.apps"},
		{"POST", "/api/v1/namespaces/shop/pods", http.Header{"Connection": {"upgrade"}}, "upgrade create pods shop/"},
		// what nobody knows
		{"DELETE", "/api/v1/watch/namespaces/shop/pods/web", nil, "unknown delete pods shop/web"},
		{"POST", "/api/v1/namespaces/shop/pods/web", nil, "unknown create pods shop/web"},
		{"PUT", "/api/v1/namespaces/shop/pods", nil, "unknown update pods shop/"},
		{"DELETE", "/api/v1/namespaces/shop/pods/web/status", nil, "unknown delete pods shop/web status"},
		{"POST", "/api/v1/namespaces/shop/pods/web/selfdestruct", nil, "unknown create pods shop/web selfdestruct"},
		{"PUT", "/apis/subresources.kubevirt.io/v1/namespaces/shop/virtualmachines/x/stop", nil, "unknown update virtualmachines.subresources.kubevirt.io shop/x stop"},
		{"PUT", "/api/v1/namespaces/shop/pods/web/finalize", nil, "unknown update pods shop/web finalize"},
		{"OPTIONS", "/api/v1/pods", nil, "unknown options pods"},
		{"get", "/api/v1/pods", nil, "unknown get pods"},
		{"PURGE", "/api/v1/namespaces/shop/pods/web", nil, "unknown purge pods shop/web"},
		{"PUT", "/debug/flags/v", nil, "unknown put"},
		{"GET", "/debug/pprof/profile", nil, "unknown get"},
		{"GET", "/logs/kube-apiserver.log", nil, "unknown get"},
		{"GET", "/k8s/clusters/c-1/api/v1/nodes/n1/proxy", nil, "unknown get"},
		{"GET", "/api/v1//nodes/n1/proxy", nil, "unknown get"},
		{"GET", "/api/v1/pods/../nodes/n1/proxy", nil, "unknown get"},
		{"GET", "/api/v1/nodes/n1%2Fproxy", nil, "unknown get"},
		{"GET", "/api/v1/watch", nil, "unknown get"},
		{"GET", "/api/v1/namespaces/shop/pods/web/log/more", nil, "unknown get pods shop/web log"},
	}
	for _, test := range tests {
		u, err := url.Parse("https://host" + test.path)
		if err != nil {
			t.Fatal(err)
		}
		r := request.Classify(test.method, u, test.header)
		got := strings.TrimSuffix(strings.Join([]string{string(r.Kind), r.Verb, r.Object.String(), r.Subresource}, " "), " ")
		if got = strings.TrimRight(got, " "); got != test.want {
			t.Errorf("%s %s\n got %s\nwant %s", test.method, test.path, got, test.want)
		}
		if r.Kind == request.KindUnknown && r.Why == "" {
			t.Errorf("%s %s: unknown, and nothing says why", test.method, test.path)
		}
	}
}

// FuzzGuardClassify compares with kube-apiserver's own reading of a request.
// What the guard takes for a read or a review has to be one to the server, and
// what it takes for a write has to be the same write.
func FuzzGuardClassify(f *testing.F) {
	for _, method := range []string{"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "get"} {
		for _, path := range []string{
			"/api/v1/namespaces/a/pods/b", "/api/v1/namespaces/a/pods/b/exec", "/api/v1/nodes/n/proxy/x/y", "/api/v1/watch/pods",
			"/api/v1/proxy/namespaces/a/pods/b", "/apis/apps/v1/namespaces/a/deployments/b/scale", "/api/v1/namespaces/a/finalize",
			"/apis/authorization.k8s.io/v1/selfsubjectaccessreviews", "/apis/apps/v1", "/healthz", "//api/v1/pods", "/api/v1/pods/./b",
			"/api/v1/namespaces", "/api/v1/namespaces/namespaces/namespaces/status", "/api//v1/x", "/apis/g/v/watch/proxy/x", "/api/v1/watch/watch/x",
			"/api/v1/namespaces/a/status/b", "/api/v1/namespaces/a/pods/b%2fexec", "/API/v1/pods", "/api/v1/watch/namespaces/a/pods/b/exec",
		} {
			f.Add(method, path)
		}
	}
	upstream := &apirequest.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	f.Fuzz(func(t *testing.T, method, path string) {
		u, err := url.Parse("https://host/" + strings.TrimPrefix(path, "/"))
		if err != nil {
			return
		}
		r := request.Classify(method, u, nil)
		if method == "" {
			method = http.MethodGet // as net/http sends it
		}
		info, err := upstream.NewRequestInfo(&http.Request{Method: method, URL: u})
		if err != nil && r.Kind != request.KindUnknown {
			t.Fatalf("%s %s: upstream says %v, the guard %+v", method, u, err, r)
		}
		mutates := method != http.MethodGet && method != http.MethodHead

		switch r.Kind {
		case request.KindRead:
			if mutates {
				t.Fatalf("%s %s: a read: %+v", method, u, r)
			}
			if !info.IsResourceRequest {
				if r.Object.Resource != "" {
					t.Fatalf("%s %s: not a resource upstream: %+v", method, u, r)
				}
				return
			}
			for _, way := range []string{"exec", "attach", "portforward", "proxy"} {
				if info.Subresource == way || info.Verb == way {
					t.Fatalf("%s %s: %s passes as a read", method, u, way)
				}
			}
		case request.KindReview:
			if method != http.MethodPost || info.Verb != "create" || info.Subresource != "" || !strings.HasSuffix(info.Resource, "reviews") ||
				info.APIGroup != "authorization.k8s.io" && info.APIGroup != "authentication.k8s.io" {
				t.Fatalf("%s %s: a review: %+v, upstream %+v", method, u, r, info)
			}
		case request.KindWrite:
			if !mutates || !info.IsResourceRequest || info.Verb != r.Verb {
				t.Fatalf("%s %s: a write: %+v, upstream %+v", method, u, r, info)
			}
		default:
			return
		}
		namespace := info.Namespace
		if info.Resource == "namespaces" && r.Object.Namespace == "" {
			namespace = "" // upstream puts a Namespace in itself
		}
		if r.Object.Group != info.APIGroup || r.Object.Version != info.APIVersion || r.Object.Resource != info.Resource ||
			r.Object.Namespace != namespace || r.Subresource != info.Subresource || r.Object.Name != info.Name && len(info.Parts) > 1 {
			t.Fatalf("%s %s:\n   guard %+v\nupstream %+v", method, u, r, info)
		}
	})
}
