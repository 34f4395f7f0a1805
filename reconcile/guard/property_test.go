package guard_test

import (
	"bytes"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	"pgregory.net/rapid"
)

// recorder is an inner transport that answers everything and remembers it.
type recorder struct{ arrived []arrival }

func (r *recorder) RoundTrip(req *http.Request) (*http.Response, error) {
	var body []byte
	if req.Body != nil {
		body, _ = io.ReadAll(req.Body)
		_ = req.Body.Close()
	}
	if req.GetBody != nil { // net/http repeats a request with this
		again, err := req.GetBody()
		if err != nil {
			return nil, err
		}
		if repeated, _ := io.ReadAll(again); !bytes.Equal(repeated, body) {
			panic("GetBody returns another body than Body")
		}
	}
	r.arrived = append(r.arrived, arrival{req.Method, req.URL.Path, req.URL.Query(), req.Header.Clone(), body})
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {typeJSON}},
		Body: io.NopCloser(strings.NewReader(`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"x"}}`))}, nil
}

// anyRequest draws requests that are often nearly right.
func anyRequest(t *rapid.T) *http.Request {
	segment := rapid.OneOf(
		rapid.SampledFrom([]string{"api", "apis", "v1", "apps", "namespaces", "shop", "pods", "web", "status", "scale", "exec", "proxy",
			"watch", "token", "eviction", "binding", "finalize", "serviceaccounts", "authorization.k8s.io", "subjectaccessreviews",
			"example.com", "..", "", "%2f", "events", "nodes", "log", "approval", "certificates.k8s.io"}),
		rapid.StringMatching(`[a-zA-Z0-9.%]{0,6}`))
	path := rapid.OneOf(
		rapid.SampledFrom([]string{podPath, podPath + "/eviction", podPath + "/exec", deploymentPath + "/scale", "/api/v1/namespaces/shop/pods",
			"/api/v1/namespaces/shop/serviceaccounts/default/token", widgetPath, "/apis/authorization.k8s.io/v1/subjectaccessreviews",
			namespacePath, namespacePath + "/finalize", "/api/v1/watch/namespaces/shop/pods/web", "/api/v1/nodes/n/proxy"}),
		rapid.Custom(func(t *rapid.T) string {
			return "/" + strings.Join(rapid.SliceOfN(segment, 0, 8).Draw(t, "segments"), "/")
		}),
	).Draw(t, "path")
	query := rapid.SampledFrom([]string{"", "dryRun=All", "dryRun=None&dryRun=All", "dryrun=All", "a=b;c", "%zz", "watch=1", "gracePeriodSeconds=0"}).Draw(t, "query")
	u, err := url.Parse("https://host" + path)
	if err != nil {
		u = &url.URL{Scheme: "https", Host: "host", Path: path}
	}
	u.RawQuery = query
	if rapid.IntRange(0, 30).Draw(t, "opaque") == 0 {
		u.Opaque = "//host" + podPath
	}
	method := rapid.SampledFrom([]string{"", "GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS", "CONNECT", "delete", "PURGE"}).Draw(t, "method")
	header := http.Header{}
	header["Content-Type"] = rapid.SliceOfN(rapid.SampledFrom([]string{typeJSON, typeProtobuf, typeCBOR, "application/apply-patch+yaml",
		"application/merge-patch+json", "application/strategic-merge-patch+json", "application/json-patch+json", "text/plain", ";", ""}), 0, 2).Draw(t, "type")
	for _, name := range []string{"Upgrade", "Connection", "Content-Encoding", "content-type", "X-Http-Method-Override"} {
		if rapid.IntRange(0, 9).Draw(t, name) == 0 {
			header[name] = []string{rapid.SampledFrom([]string{"websocket", "Upgrade", "gzip", "DELETE", typeJSON}).Draw(t, "value")}
		}
	}
	body := rapid.OneOf(
		rapid.SampledFrom([]string{"", "null", "{}", `{"kind":"DeleteOptions","apiVersion":"v1","gracePeriodSeconds":0}`, `{"dryRun":["All"],"dryRun":[]}`,
			`{"kind":"Pod","apiVersion":"v1","metadata":{"name":"web"}}`, `{"kind":"Eviction","metadata":{"name":"web"},"deleteOptions":{"dryRun":[]}}`,
			"k8s\x00", "k8s\x00\n\x13\n\x02v1\x12\rDeleteOptions\x12\x00\x1a\x00\"\x00", "\xd9\xd9\xf7\xa0", `[{"op":"remove","path":"/spec"}]`}),
		rapid.String()).Draw(t, "body")
	req := &http.Request{Method: method, URL: u, Header: header, Proto: "HTTP/1.1"}
	if body != "" || rapid.Bool().Draw(t, "empty body") {
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(body)), int64(len(body))
		if rapid.Bool().Draw(t, "can repeat") {
			req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(strings.NewReader(body)), nil }
		}
	}
	return req
}

// mutates is upstream's view of what changes something: anything but a read, a
// review, and never a way into a node, pod or service.
func mutates(t *rapid.T, a arrival) bool {
	factory := &request.RequestInfoFactory{APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api")}
	info, err := factory.NewRequestInfo(&http.Request{Method: a.Method, URL: &url.URL{Path: a.Path}})
	if err != nil {
		t.Fatalf("%s %s left, which upstream cannot read: %v", a.Method, a.Path, err)
	}
	if slices.Contains([]string{"exec", "attach", "portforward", "proxy"}, info.Subresource) || info.Verb == "proxy" {
		return true
	}
	switch a.Method {
	case "", http.MethodGet, http.MethodHead:
		return false
	case http.MethodPost:
		return info.APIGroup != "authorization.k8s.io" && info.APIGroup != "authentication.k8s.io" || info.Name != "" || info.Subresource != ""
	default:
		return true
	}
}

// TestNothingMutatingLeaves: whatever is asked for, in read-only and
// dry-run=client no mutating request reaches the inner transport; in
// dry-run=server each that does is a dry run to upstream's decoders.
func TestNothingMutatingLeaves(t *testing.T) {
	for _, mode := range []state.Mode{state.ModeReadOnly, state.ModeDryRunClient, state.ModeDryRunServer} {
		g, err := guard.New(guard.Options{Mode: mode})
		if err != nil {
			t.Fatal(err)
		}
		t.Run(string(mode), rapid.MakeCheck(func(t *rapid.T) {
			inner := &recorder{}
			resp, err := g.Wrap(inner).RoundTrip(anyRequest(t))
			if (resp == nil) == (err == nil) {
				t.Fatalf("answered with %v and %v", resp, err)
			}
			for _, a := range inner.arrived {
				if !mutates(t, a) {
					continue
				}
				if mode != state.ModeDryRunServer {
					t.Fatalf("left: %+v", a)
				}
				query, body := dryRunOf(t, a)
				if !slices.Equal(query, []string{"All"}) {
					t.Fatalf("left with dryRun=%v: %+v", query, a)
				}
				if (a.Method == http.MethodDelete || strings.HasSuffix(strings.TrimSuffix(a.Path, "/"), "/eviction")) && !slices.Equal(body, query) &&
					!strings.HasPrefix(a.Header.Get("Content-Type"), typeCBOR) {
					t.Fatalf("left with %q in its body: %+v", body, a)
				}
				if strings.Contains(a.Path, "/token") {
					t.Fatalf("a token request left: %+v", a)
				}
			}
		}))
	}
}
