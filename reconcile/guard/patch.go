package guard

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
)

// patch answers a PATCH: its base with the patch applied.
func (t *transport) patch(req *http.Request, r request.Request, body []byte) (answer, error) {
	media := request.MediaType(req.Header)
	base, live, err := t.base(req, r)
	if r.Verb == "apply" && apierrors.IsNotFound(err) && r.Subresource == "" {
		return t.applyNew(r, media, body)
	}
	if err != nil {
		return answer{}, err
	}
	patched, err := t.guard.patched(r, media, base, body)
	if err != nil {
		return answer{}, err
	}
	uid, resourceVersion := metaString(patched, "uid"), metaString(patched, "resourceVersion")
	if err := checkPreconditions(r, base, live, uid, resourceVersion); err != nil {
		return answer{}, err
	}
	return answer{code: http.StatusOK, object: t.guard.updated(r, base, patched, resourceVersion), old: base}, nil
}

// applyNew answers the server-side apply of an object that is not there: it is
// created.
func (t *transport) applyNew(r request.Request, media string, body []byte) (answer, error) {
	o, err := decodeApplied(media, body)
	if err != nil {
		return answer{}, err
	}
	return answer{code: http.StatusCreated, object: t.guard.created(o, r, r.Object.Name)}, nil
}

func decodeApplied(media string, body []byte) (object, error) {
	as := mediaYAML
	if media == string(types.ApplyCBORPatchType) {
		as = mediaCBOR
	}
	o, err := decodeObject(as, body)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return o, nil
}

// patched applies a patch of any type, with the errors of kube-apiserver
// (k8s.io/apiserver v0.37.1 pkg/endpoints/handlers/patch.go).
func (g *Guard) patched(r request.Request, media string, base object, patch []byte) (_ object, err error) {
	defer recoverPatch(&err)
	original, err := json.Marshal(base)
	if err != nil {
		return nil, apierrors.NewInternalError(err)
	}
	var result []byte
	switch types.PatchType(media) {
	case types.JSONPatchType:
		result, err = ApplyJSONPatch(original, patch)
	case types.MergePatchType:
		result, err = jsonpatch.MergePatch(original, patch)
	case types.StrategicMergePatchType:
		result, err = g.strategic(r, base, original, patch, false)
	case types.ApplyYAMLPatchType, types.ApplyCBORPatchType:
		applied, decodeErr := decodeApplied(media, patch)
		if decodeErr != nil {
			return nil, decodeErr
		}
		if patch, err = json.Marshal(applied); err == nil {
			result, err = g.strategic(r, base, original, patch, true)
		}
	default:
		return nil, unsupportedMedia(media)
	}
	if err != nil {
		if _, already := statusOf(err); already {
			return nil, err
		}
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o, err := decodeObject(mediaJSON, result)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the patch leaves no object: %v", err))
	}
	return o, nil
}

// strategic merges with the list keys of the Go type. Custom resources have
// none: for them a strategic merge patch is refused, as by the API server, and
// an apply merges maps and replaces lists.
func (g *Guard) strategic(r request.Request, base object, original, patch []byte, apply bool) ([]byte, error) {
	h := headOf(base)
	gvk, builtin := g.kinds[gvrOf(r.Object)]
	if r.Subresource == "scale" {
		gvk.Group, gvk.Version, gvk.Kind, builtin = "autoscaling", "v1", "Scale", h.apiVersion == "autoscaling/v1"
	}
	if !builtin {
		if apply {
			return jsonpatch.MergePatch(original, patch)
		}
		return nil, unsupportedMedia(string(types.StrategicMergePatchType))
	}
	typed, err := scheme.Scheme.New(gvk)
	if err != nil {
		return nil, err
	}
	return strategicpatch.StrategicMergePatch(original, patch, typed)
}

func unsupportedMedia(media string) error {
	return apiError(http.StatusUnsupportedMediaType, metav1.StatusReasonUnsupportedMediaType, fmt.Sprintf("the patch type %q is not supported", media))
}

// readResponse reads and closes the body of a response.
func readResponse(resp *http.Response, limit int64) ([]byte, error) {
	defer func() { _ = resp.Body.Close() }()
	// An object in etcd can be larger as JSON than any request may be.
	body, err := io.ReadAll(io.LimitReader(resp.Body, 4*limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(body)) > 4*limit {
		return nil, errTooLarge
	}
	return body, nil
}
