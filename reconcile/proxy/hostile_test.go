package proxy_test

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The name of a lease that a client creates becomes a part of the path that the
// server is asked for: one that leads elsewhere is refused, as the API server would.
func TestLeaseNamesStayInTheirPath(t *testing.T) {
	a := ledElsewhere(t)
	p, _ := start(t, a, state.ModeDryRunClient, nil)
	leases := clientOf(t, p).CoordinationV1().Leases("ops")
	for _, name := range []string{"../../../../../api/v1/namespaces/ops/secrets/token", "..", "a/b", "Upper", "a?watch=true", "a%2fb", strings.Repeat("a", 300)} {
		_, err := leases.Create(t.Context(), &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
		if !apierrors.IsInvalid(err) {
			t.Errorf("a lease %q: %v", name, err)
		}
	}
	for _, r := range a.seen() {
		t.Errorf("the server was asked for %s", r.URL.Path)
	}
}

// A JSON patch of a lease has the limits of one of any other object.
func TestPatchesOfLeasesAreBounded(t *testing.T) {
	p, _ := start(t, ledElsewhere(t), state.ModeDryRunClient, nil)
	operations := []string{`{"op":"add","path":"/metadata/annotations","value":{"a":"` + strings.Repeat("x", 512) + `"}}`}
	for i := range 18 {
		operations = append(operations, fmt.Sprintf(`{"op":"copy","from":"/metadata","path":"/metadata/c%d"}`, i))
	}
	_, err := clientOf(t, p).CoordinationV1().Leases("ops").Patch(t.Context(), "operator", types.JSONPatchType, []byte("["+strings.Join(operations, ",")+"]"), metav1.PatchOptions{})
	if status, ok := err.(apierrors.APIStatus); !ok || status.Status().Code != http.StatusUnprocessableEntity {
		t.Errorf("the proxy answers %v", err)
	}
}
