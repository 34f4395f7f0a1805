// Package faults breaks the protection of writes from outside, so that a test which
// is to catch its absence can be seen to fail. The product has no switch for that:
// these are transports above and below a guard, and no package but tests imports this
// one (go list -deps ./cmd/kctl-ctrl does not have it).
package faults

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
)

// Transport is a function as an http.RoundTripper.
type Transport func(*http.Request) (*http.Response, error)

// RoundTrip calls t.
func (t Transport) RoundTrip(req *http.Request) (*http.Response, error) { return t(req) }

// DeleteForReal is a transport below a guard that takes dryRun out of the bodies of
// DELETE requests and evictions: they are carried out.
func DeleteForReal(next http.RoundTripper) http.RoundTripper {
	return Transport(func(req *http.Request) (*http.Response, error) {
		out := req.Clone(req.Context())
		if err := UndryBody(out); err != nil {
			return nil, err
		}
		return next.RoundTrip(out)
	})
}

// UndryBody takes dryRun out of a request's DeleteOptions, where it has any.
func UndryBody(req *http.Request) error {
	r := request.Classify(req.Method, req.URL, req.Header)
	deletes := r.Verb == "delete" || r.Verb == "deletecollection"
	if !deletes && r.Subresource != "eviction" || req.Body == nil {
		return nil
	}
	body, err := io.ReadAll(req.Body)
	if err != nil {
		return err
	}
	_ = req.Body.Close()
	var options runtime.Object = &metav1.DeleteOptions{}
	if !deletes {
		options = &policyv1.Eviction{}
	}
	if len(body) > 0 {
		if body, err = undry(body, options); err != nil {
			return fmt.Errorf("take dryRun out of %s %s: %w", req.Method, req.URL.Path, err)
		}
		req.Header.Set("Content-Type", runtime.ContentTypeJSON)
	}
	req.ContentLength = int64(len(body))
	req.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
	req.Body, _ = req.GetBody()
	return nil
}

func undry(body []byte, into runtime.Object) ([]byte, error) {
	gvk := schema.GroupVersionKind{Version: "v1", Kind: "DeleteOptions"}
	if _, eviction := into.(*policyv1.Eviction); eviction {
		gvk = policyv1.SchemeGroupVersion.WithKind("Eviction")
	}
	decoded, kind, err := scheme.Codecs.UniversalDeserializer().Decode(body, &gvk, into)
	if err != nil {
		return nil, err
	}
	switch o := decoded.(type) {
	case *metav1.DeleteOptions:
		o.DryRun = nil
	case *policyv1.Eviction:
		if o.DeleteOptions != nil {
			o.DeleteOptions.DryRun = nil
		}
	default:
		return nil, fmt.Errorf("it is a %T", decoded)
	}
	decoded.GetObjectKind().SetGroupVersionKind(*kind)
	return json.Marshal(decoded)
}

// WriteForReal is a transport below a guard that takes dryRun out of queries: all
// writes but deletes, which go by their bodies, are carried out.
func WriteForReal(next http.RoundTripper) http.RoundTripper {
	return Transport(func(req *http.Request) (*http.Response, error) {
		out := req.Clone(req.Context())
		query := out.URL.Query()
		query.Del("dryRun")
		out.URL.RawQuery = query.Encode()
		return next.RoundTrip(out)
	})
}

// SendAnswered sends the writes that a guard has answered itself, past it: they are
// carried out, and the writer has the server's answer.
func SendAnswered(guarded func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		type sentKey struct{}
		judge := guarded(Transport(func(req *http.Request) (*http.Response, error) {
			if sent, ok := req.Context().Value(sentKey{}).(*bool); ok && request.Classify(req.Method, req.URL, req.Header).Kind == request.KindWrite {
				*sent = true
			}
			return next.RoundTrip(req)
		}))
		return Transport(func(req *http.Request) (*http.Response, error) {
			if request.Classify(req.Method, req.URL, req.Header).Kind != request.KindWrite {
				return judge.RoundTrip(req)
			}
			var body []byte
			if req.Body != nil {
				var err error
				if body, err = io.ReadAll(req.Body); err != nil {
					return nil, err
				}
				_ = req.Body.Close()
			}
			sent := false
			resp, err := judge.RoundTrip(again(req.WithContext(context.WithValue(req.Context(), sentKey{}, &sent)), body))
			if err != nil || sent || resp.StatusCode >= http.StatusBadRequest {
				return resp, err
			}
			_ = resp.Body.Close()
			return next.RoundTrip(again(req, body))
		})
	}
}

// again is a request with its body.
func again(req *http.Request, body []byte) *http.Request {
	out := req.Clone(req.Context())
	if body != nil {
		out.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(body)), nil }
		out.Body, _ = out.GetBody()
	}
	return out
}

// AbandonWrites gives a request up when its writer does, also where the guard would
// have it go to its end.
func AbandonWrites(guarded func(http.RoundTripper) http.RoundTripper) func(http.RoundTripper) http.RoundTripper {
	return func(next http.RoundTripper) http.RoundTripper {
		type writerKey struct{}
		judge := guarded(Transport(func(req *http.Request) (*http.Response, error) {
			writer, ok := req.Context().Value(writerKey{}).(context.Context)
			if !ok {
				return next.RoundTrip(req)
			}
			ctx, cancel := context.WithCancel(req.Context())
			defer context.AfterFunc(writer, cancel)()
			return next.RoundTrip(req.WithContext(ctx))
		}))
		return Transport(func(req *http.Request) (*http.Response, error) {
			return judge.RoundTrip(req.WithContext(context.WithValue(req.Context(), writerKey{}, req.Context())))
		})
	}
}
