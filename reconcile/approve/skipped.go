package approve

import (
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
)

// CauseSkipped is the cause in the details of a Status that was returned by a gate, not
// a server.
const CauseSkipped metav1.CauseType = "SkippedByApproval"

// Skipped reports whether err, as a client returned it, is the answer to a rejected
// write.
func Skipped(err error) bool { return apierrors.HasStatusCause(err, CauseSkipped) }

// Skip rejects a write that something other than a Gate has held, with the answer of a
// Gate.
func Skip(p guard.Pending, reason string) error { return skipped(subjectOf(p), reason) }

// skipped is that answer: an internal server error, after which every controller backs
// off. The package comment explains why it is not another one.
func skipped(w subject, reason string) error {
	return &apierrors.StatusError{ErrStatus: metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     http.StatusInternalServerError,
		Reason:   metav1.StatusReasonInternalError,
		Message:  fmt.Sprintf("%s (kctl-ctrl did not send this %s)", reason, w.verb),
		Details: &metav1.StatusDetails{
			Group: w.object.Group, Kind: w.object.Resource, Name: w.object.Name,
			Causes: []metav1.StatusCause{{Type: CauseSkipped, Message: reason}},
		},
	}}
}
