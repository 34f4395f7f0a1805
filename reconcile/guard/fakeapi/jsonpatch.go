package fakeapi

import (
	"fmt"
	"net/http"

	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// kube-apiserver's limits for JSON patches (k8s.io/apiserver v0.37.1,
// pkg/endpoints/handlers/patch.go and pkg/server/config.go). A patch of a few hundred
// bytes can copy a value into itself until there is no memory left, and cannot be
// interrupted while it is applied.
const (
	maxJSONPatchOperations = 10000
	maxJSONPatchCopyBytes  = 3 << 20
)

// The limit is the library's, for the whole process; in an API server its
// configuration sets it.
func init() { jsonpatch.AccumulatedCopySizeLimit = maxJSONPatchCopyBytes }

// ApplyJSONPatch applies a JSON patch within kube-apiserver's limits and with its
// errors.
func ApplyJSONPatch(original, patch []byte) (result []byte, err error) {
	defer recoverPatch(&err)
	operations, err := jsonpatch.DecodePatch(patch)
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	if n := len(operations); n > maxJSONPatchOperations {
		return nil, apierrors.NewRequestEntityTooLargeError(fmt.Sprintf("The allowed maximum operations in a JSON patch is %d, got %d", maxJSONPatchOperations, n))
	}
	if result, err = operations.Apply(original); err != nil {
		return nil, apiError(http.StatusUnprocessableEntity, metav1.StatusReasonInvalid, err.Error())
	}
	return result, nil
}

// recoverPatch turns a panic into the client's error. Libraries that apply patches panic
// on some: strategic merge on a $retainKeys that is not a list of strings, JSON Patch on a
// test of the whole document without a value. An API server recovers from that.
func recoverPatch(err *error) {
	if problem := recover(); problem != nil {
		*err = apierrors.NewBadRequest(fmt.Sprintf("the patch cannot be applied: %v", problem))
	}
}
