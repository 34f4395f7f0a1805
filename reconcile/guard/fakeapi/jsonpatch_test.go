package fakeapi

import (
	"errors"
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
)

// copies is a JSON patch that doubles a value n times.
func copies(n int) []byte {
	operations := []string{`{"op":"add","path":"/data","value":{"a":{"text":"` + strings.Repeat("x", 512) + `"}}}`}
	for i := range n {
		operations = append(operations, fmt.Sprintf(`{"op":"copy","from":"/data","path":"/data/c%d"}`, i))
	}
	return []byte("[" + strings.Join(operations, ",") + "]")
}

// A small patch does not become hundreds of megabytes: kube-apiserver's limits hold
// in this process too.
func TestJSONPatchIsBounded(t *testing.T) {
	original := []byte(`{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"c"}}`)
	for name, c := range map[string]struct {
		patch []byte
		code  int32
	}{
		"copies of copies": {copies(18), http.StatusUnprocessableEntity},
		"10001 operations": {[]byte("[" + strings.Repeat(`{"op":"test","path":"/kind","value":"ConfigMap"},`, maxJSONPatchOperations) + `{"op":"remove","path":"/metadata"}]`), http.StatusRequestEntityTooLarge},
		"no patch":         {[]byte(`{}`), http.StatusBadRequest},
		"test of nothing":  {[]byte(`[{"op":"test","path":""}]`), http.StatusBadRequest}, // the library panics
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		result, err := ApplyJSONPatch(original, c.patch)
		runtime.ReadMemStats(&after)
		status := apierrors.APIStatus(nil)
		if !errors.As(err, &status) || status.Status().Code != c.code {
			t.Errorf("%s: %d bytes, %v, want status %d", name, len(result), err, c.code)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 100<<20 {
			t.Errorf("%s: %d bytes of patch took %d MiB", name, len(c.patch), used>>20)
		}
	}
	if result, err := ApplyJSONPatch(original, copies(8)); err != nil || len(result) < 100<<10 {
		t.Errorf("a patch within the limits: %d bytes, %v", len(result), err)
	}
}

// All ways by which a JSON patch is applied lead through the one with the limits.
func TestPatchedIsBounded(t *testing.T) {
	_, err := API{}.patched(request.Request{Verb: "patch"}, "application/json-patch+json", wire.Object{"kind": "ConfigMap"}, copies(18))
	if !apierrors.IsInvalid(err) {
		t.Errorf("the guard answers %v", err)
	}
}
