package proxy

import (
	"fmt"
	"mime"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/fakeapi"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"sigs.k8s.io/yaml"
)

// applyPatch gives the JSON of a lease after a patch of one of the API's types.
func applyPatch(original []byte, contentType string, patch []byte) ([]byte, error) {
	media, _, err := mime.ParseMediaType(contentType)
	if err != nil {
		return nil, err
	}
	switch types.PatchType(media) {
	case types.JSONPatchType:
		return fakeapi.ApplyJSONPatch(original, patch)
	case types.MergePatchType:
		return jsonpatch.MergePatch(original, patch)
	case types.StrategicMergePatchType:
		return strategicpatch.StrategicMergePatch(original, patch, coordinationv1.Lease{})
	case types.ApplyYAMLPatchType:
		applied, err := yaml.YAMLToJSON(patch)
		if err != nil {
			return nil, err
		}
		return jsonpatch.MergePatch(original, applied)
	}
	return nil, fmt.Errorf("patch type %s is not supported", media)
}
