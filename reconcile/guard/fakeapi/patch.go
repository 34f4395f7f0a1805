package fakeapi

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	"k8s.io/client-go/kubernetes/scheme"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/wire"
)

// patch answers a PATCH: its base with the patch applied.
func (a API) patch(r request.Request, media string, body []byte, base Base) (Answer, error) {
	from, live, err := base()
	if r.Verb == "apply" && apierrors.IsNotFound(err) && r.Subresource == "" {
		return a.applyNew(r, media, body)
	}
	if err != nil {
		return Answer{}, err
	}
	patched, err := a.patched(r, media, from, body)
	if err != nil {
		return Answer{}, err
	}
	uid, resourceVersion := wire.MetaString(patched, "uid"), wire.MetaString(patched, "resourceVersion")
	if err := checkPreconditions(r, from, live, uid, resourceVersion); err != nil {
		return Answer{}, err
	}
	return Answer{Code: http.StatusOK, Object: a.updated(r, from, patched, resourceVersion), Old: from}, nil
}

// applyNew answers the server-side apply of an object that is not there: it is
// created.
func (a API) applyNew(r request.Request, media string, body []byte) (Answer, error) {
	o, err := DecodeApplied(media, body)
	if err != nil {
		return Answer{}, err
	}
	return Answer{Code: http.StatusCreated, Object: a.created(o, r, r.Object.Name)}, nil
}

// DecodeApplied reads the body of a server-side apply.
func DecodeApplied(media string, body []byte) (wire.Object, error) {
	as := wire.YAML
	if media == string(types.ApplyCBORPatchType) {
		as = wire.CBOR
	}
	o, err := wire.Decode(as, body)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("error decoding patch: %v", err))
	}
	return o, nil
}

// patched applies a patch of any type, with the errors of kube-apiserver
// (k8s.io/apiserver v0.37.1 pkg/endpoints/handlers/patch.go).
func (a API) patched(r request.Request, media string, base wire.Object, patch []byte) (_ wire.Object, err error) {
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
		result, err = a.strategic(r, base, original, patch, false)
	case types.ApplyYAMLPatchType, types.ApplyCBORPatchType:
		applied, decodeErr := DecodeApplied(media, patch)
		if decodeErr != nil {
			return nil, decodeErr
		}
		if patch, err = json.Marshal(applied); err == nil {
			result, err = a.strategic(r, base, original, patch, true)
		}
	default:
		return nil, unsupportedMedia(media)
	}
	if err != nil {
		if status := apierrors.APIStatus(nil); errors.As(err, &status) {
			return nil, err
		}
		return nil, apierrors.NewBadRequest(err.Error())
	}
	o, err := wire.Decode(wire.JSON, result)
	if err != nil {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the patch leaves no object: %v", err))
	}
	return o, nil
}

// strategic merges with the list keys of the Go type. Custom resources have
// none: for them a strategic merge patch is refused, as by the API server, and
// an apply merges maps and replaces lists.
func (a API) strategic(r request.Request, base wire.Object, original, patch []byte, apply bool) ([]byte, error) {
	h := wire.HeadOf(base)
	gvk, builtin := a.Kinds[wire.GVR(r.Object)]
	if r.Subresource == "scale" {
		gvk.Group, gvk.Version, gvk.Kind, builtin = "autoscaling", "v1", "Scale", h.APIVersion == "autoscaling/v1"
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
