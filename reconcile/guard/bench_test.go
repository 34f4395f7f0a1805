package guard_test

import (
	"bytes"
	"io"
	"net/http"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/scheme"
)

// BenchmarkRoundTrip is the guard's own cost of a pod's creation and deletion
// and of a read, over a transport that does nothing. A request to a real API
// server takes a millisecond.
func BenchmarkRoundTrip(b *testing.B) {
	info := scheme.Codecs.SupportedMediaTypes()[2] // protobuf
	var created, deleted bytes.Buffer
	p := pod()
	p.SetGroupVersionKind(scheme.Scheme.PrioritizedVersionsForGroup("")[0].WithKind("Pod"))
	if err := info.Serializer.Encode(p, &created); err != nil {
		b.Fatal(err)
	}
	options := &metav1.DeleteOptions{TypeMeta: metav1.TypeMeta{Kind: "DeleteOptions", APIVersion: "v1"}}
	if err := info.Serializer.Encode(options, &deleted); err != nil {
		b.Fatal(err)
	}
	header := http.Header{"Content-Type": {typeProtobuf}}
	inner := roundTripper(func(*http.Request) (*http.Response, error) {
		return &http.Response{StatusCode: http.StatusCreated, Header: header, ContentLength: int64(created.Len()), Body: io.NopCloser(bytes.NewReader(created.Bytes()))}, nil
	})
	discard := state.RecorderFunc(func(state.Event) {})
	grant, err := guard.GrantSandbox("https://host", []byte("ca"), func([]byte) bool { return true })
	if err != nil {
		b.Fatal(err)
	}
	for _, test := range []struct {
		name, method, path string
		body               []byte
		mode               state.Mode
	}{
		{"read", "GET", podPath, nil, state.ModeActive},
		{"active create", "POST", "/api/v1/namespaces/shop/pods", created.Bytes(), state.ModeActive},
		{"active delete", "DELETE", podPath, deleted.Bytes(), state.ModeActive},
		{"dry-run=server delete", "DELETE", podPath, deleted.Bytes(), state.ModeDryRunServer},
		{"dry-run=client create", "POST", "/api/v1/namespaces/shop/pods", created.Bytes(), state.ModeDryRunClient},
	} {
		b.Run(test.name, func(b *testing.B) {
			g, err := guard.New(guard.Options{Mode: test.mode, Grant: grant, Recorder: discard})
			if err != nil {
				b.Fatal(err)
			}
			rt := g.Wrap(inner)
			b.ReportAllocs()
			for b.Loop() {
				req, err := http.NewRequest(test.method, "https://host"+test.path, bytes.NewReader(test.body))
				if err != nil {
					b.Fatal(err)
				}
				req.Header["Content-Type"] = header["Content-Type"]
				resp, err := rt.RoundTrip(req)
				if err != nil || resp.StatusCode >= 300 {
					b.Fatal(resp, err)
				}
			}
		})
	}
}
