package guard_test

import (
	"bytes"
	"context"
	"slices"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/internal/faults"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func tokenRequest() *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: []string{"a"}}}
}

// TestModes makes each call of upstream's in each mode, with the typed client
// in JSON and in protobuf, and looks at what arrived at the server.
func TestModes(t *testing.T) {
	for _, mode := range allModes {
		for _, contentType := range []string{typeJSON, typeProtobuf} {
			for _, s := range shapes() {
				t.Run(string(mode)+"/"+contentType[12:]+"/"+s.name, func(t *testing.T) {
					w := newWorld(t, mode, contentType)
					w.populate(t)
					_, err := s.call(context.Background(), w)
					arrived := w.server.writes()
					record := w.journal.last(t)
					if record.Verb != s.verb || record.Object.String() != s.object || record.Subresource != s.subresource ||
						record.Mode != mode || record.Controller != "tester" {
						t.Errorf("recorded %+v", record)
					}

					refused := mode == state.ModeReadOnly || s.token && mode != state.ModeActive || s.crd && mode == state.ModeDryRunServer
					switch {
					case refused:
						if !guard.Refused(err) || !apierrors.IsForbidden(err) || len(arrived) != 0 || record.Result != state.WriteRefused {
							t.Errorf("error %v, arrived %d, recorded %s", err, len(arrived), record.Result)
						}
						return
					case err != nil:
						t.Fatal(err)
					}

					switch mode {
					case state.ModeDryRunClient:
						if len(arrived) != 0 || record.Result != state.WriteDry || record.ResourceVersion != "" {
							t.Errorf("arrived %d, recorded %+v", len(arrived), record)
						}
						return
					case state.ModeDryRunServer:
						if record.Result != state.WriteDry || record.ResourceVersion != "" {
							t.Errorf("recorded %+v", record)
						}
					case state.ModeActive:
						if record.Result != state.WriteDone {
							t.Errorf("recorded %+v", record)
						}
					}
					if len(arrived) != 1 || arrived[0].Method != s.method || arrived[0].Path != s.path {
						t.Fatalf("arrived %+v", arrived)
					}
					query, body := dryRunOf(t, arrived[0])
					if mode == state.ModeActive {
						if len(query) != 0 || len(body) != 0 {
							t.Errorf("an active write arrived with dryRun %v, %v", query, body)
						}
						return
					}
					want := []string{"All"}
					if !slices.Equal(query, want) {
						t.Errorf("the query says dryRun=%v", query)
					}
					if (s.method == "DELETE" || s.subresource == "eviction") && !slices.Equal(body, want) {
						t.Errorf("the body says dryRun: %v; it is %q", body, arrived[0].Body)
					}
				})
			}
		}
	}
}

// dryRunOf is what a request says in its query and in its body, read with
// upstream's decoders.
func dryRunOf(t interface {
	Helper()
	Fatalf(string, ...any)
}, a arrival) (query, body []string) {
	t.Helper()
	query = a.Query["dryRun"]
	if len(a.Body) == 0 {
		return query, nil
	}
	media := a.Header.Get("Content-Type")
	info, ok := runtime.SerializerInfoForMediaType(scheme.Codecs.SupportedMediaTypes(), media)
	if !ok {
		return query, nil
	}
	if a.Method == "DELETE" {
		options := &metav1.DeleteOptions{}
		// A body may leave its kind out; client-go's scheme has it in "v1".
		gvk := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
		if _, _, err := info.Serializer.Decode(a.Body, &gvk, options); err != nil {
			t.Fatalf("decode %q: %v", a.Body, err)
		}
		return query, options.DryRun
	}
	eviction := &policyv1.Eviction{}
	if _, _, err := info.Serializer.Decode(a.Body, nil, eviction); err == nil && eviction.DeleteOptions != nil {
		body = eviction.DeleteOptions.DryRun
	}
	return query, body
}

// The other options of a delete survive the rewrite.
func TestDeleteOptionsArrive(t *testing.T) {
	for _, contentType := range []string{typeJSON, typeProtobuf} {
		w := newWorld(t, state.ModeDryRunServer, contentType)
		if err := w.typed.CoreV1().Pods("shop").Delete(context.Background(), "web", metav1.DeleteOptions{
			Preconditions: metav1.NewUIDPreconditions("u-pod"), DryRun: []string{"nonsense"},
		}); err != nil {
			t.Fatal(err)
		}
		a := w.server.writes()[0]
		if !bytes.Contains(a.Body, []byte("u-pod")) || bytes.Contains(a.Body, []byte("nonsense")) || a.Header.Get("Content-Type") != contentType {
			t.Errorf("arrived %q as %s", a.Body, a.Header.Get("Content-Type"))
		}
	}
}

// TestBrokenRewriteIsSeen: the check above must fail when the rewrite is off.
func TestBrokenRewriteIsSeen(t *testing.T) {
	w := newWorld(t, state.ModeDryRunServer, typeProtobuf)
	w.through(t, w.guard.Wrap(faults.DeleteForReal(w.server.Client().Transport)))
	if err := w.typed.CoreV1().Pods("shop").Delete(context.Background(), "web", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	query, body := dryRunOf(t, w.server.writes()[0])
	if !slices.Equal(query, []string{"All"}) || len(body) != 0 {
		t.Errorf("a transport that takes dryRun out of bodies sent query %v, body %v", query, body)
	}
}

// Custom resources are served by kube-apiserver: a caller that knows it says so.
func TestTrustedGroupIsSent(t *testing.T) {
	w := newWorld(t, state.ModeDryRunServer, typeJSON, func(o *guard.Options) {
		o.TrustsDryRun = func(group string) bool { return request.BuiltinGroup(group) || group == "example.com" }
	})
	if err := w.dynamic.Resource(widgets).Namespace("shop").Delete(context.Background(), "w", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	if query, body := dryRunOf(t, w.server.writes()[0]); !slices.Equal(query, body) || !slices.Equal(body, []string{"All"}) {
		t.Errorf("arrived with %v, %v", query, body)
	}
}
