package fakeapi

import (
	"encoding/json"
	"errors"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// FuzzPatch applies anything as a patch of each type: the answer is an object of
// bounded size, or an error that has a status for the client.
func FuzzPatch(f *testing.F) {
	media := []types.PatchType{types.JSONPatchType, types.MergePatchType, types.StrategicMergePatchType, types.ApplyYAMLPatchType, types.ApplyCBORPatchType}
	const deployment = `{"apiVersion":"apps/v1","kind":"Deployment","metadata":{"name":"web","resourceVersion":"7"},"spec":{"replicas":1,"template":{"spec":{"containers":[{"name":"c","image":"a"}]}}}}`
	for i, patches := range [][]string{
		{`[{"op":"replace","path":"/spec/replicas","value":3}]`, `[{"op":"copy","from":"","path":"/spec/x"}]`, `[{"op":"move","from":"/spec","path":"/metadata"}]`,
			`[{"op":"test","path":"/spec/replicas","value":1},{"op":"remove","path":""}]`, `[{"op":"add","path":"/spec/template/spec/containers/-1","value":null}]`, string(copies(6)), `[{}]`, `null`},
		{`{"spec":{"replicas":null}}`, `{"metadata":null}`, `null`, `[]`, `{"spec":{"template":{"spec":{"containers":[]}}}}`},
		{`{"spec":{"template":{"spec":{"containers":[{"name":"c","$patch":"delete"}]}}}}`, `{"$patch":"replace"}`, `{"$setElementOrder/x":[1]}`,
			`{"spec":{"template":{"spec":{"$retainKeys":["containers"],"containers":[{"name":"d"}]}}}}`, `{"$deleteFromPrimitiveList/a":["b"]}`},
		{"spec: {replicas: 2}\n", "a: &x [*x]", "- b", "{}", "\xff"},
		{"\xd9\xd9\xf7\xa1dspec\xa1hreplicas\x02", "\xa0", "\xbf"},
	} {
		for _, patch := range patches {
			f.Add(i, deployment, []byte(patch))
		}
	}
	a := API{Kinds: wire.Kinds(scheme.Scheme)}
	r := request.Request{Kind: request.KindWrite, Verb: "patch", Object: state.Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: "web"}}
	f.Fuzz(func(t *testing.T, which int, base string, patch []byte) {
		o, err := wire.Decode(wire.JSON, []byte(base))
		if err != nil || len(base)+len(patch) > 1<<16 {
			return
		}
		before, err := json.Marshal(o)
		if err != nil {
			return
		}
		patched, err := a.patched(r, string(media[uint(which)%uint(len(media))]), o, patch)
		if err != nil {
			if status := apierrors.APIStatus(nil); !errors.As(err, &status) {
				t.Fatalf("the client has no status of %v", err)
			}
			return
		}
		result, err := json.Marshal(patched)
		if err != nil || patched == nil {
			t.Fatalf("%q left %v, %v", patch, patched, err)
		}
		if most := 8*(len(base)+len(patch)) + maxJSONPatchCopyBytes; len(result) > most {
			t.Fatalf("%d bytes of object and %d of patch became %d", len(base), len(patch), len(result))
		}
		if after, _ := json.Marshal(o); string(after) != string(before) {
			t.Fatalf("the patch has changed its base from %s to %s", before, after)
		}
	})
}
