package guard

import (
	"errors"
	"fmt"
	"net/http"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// CauseRefused is the cause in the details of a Status that the guard, not a
// server, answered with.
const CauseRefused metav1.CauseType = "RefusedByGuard"

// Refused reports whether err, as a client returned it, is a refusal of the
// guard.
func Refused(err error) bool { return apierrors.HasStatusCause(err, CauseRefused) }

// Refusal says that a request was not let out, and why. Clients see its Status.
type Refusal struct {
	Mode    state.Mode
	Request request.Request
	Reason  string
}

// Error is one sentence: what was attempted on what, and why not.
func (r *Refusal) Error() string {
	what := r.Request.Verb
	if sub := r.Request.Subresource; sub != "" {
		what += " " + sub + " of"
	}
	if r.Request.Object.Resource != "" {
		what += " " + r.Request.Object.String()
	}
	return fmt.Sprintf("guard (%s) refused to %s: %s", r.Mode, what, r.Reason)
}

// Status is the refusal as the API would say it. It is Forbidden because that
// is what it is, and because every upstream loop backs off on it: some take
// Conflict as done, or retry it at once.
func (r *Refusal) Status() metav1.Status {
	return metav1.Status{
		TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
		Status:   metav1.StatusFailure,
		Code:     http.StatusForbidden,
		Reason:   metav1.StatusReasonForbidden,
		Message:  r.Error(),
		Details: &metav1.StatusDetails{
			Name:   r.Request.Object.Name,
			Group:  r.Request.Object.Group,
			Kind:   r.Request.Object.Resource,
			Causes: []metav1.StatusCause{{Type: CauseRefused, Message: r.Reason}},
		},
	}
}

// statusOf turns an error into the Status a client gets for it; ok is false for
// one that is no API error, which the client gets as it is.
func statusOf(err error) (status metav1.Status, ok bool) {
	if refusal, is := errors.AsType[*Refusal](err); is {
		return refusal.Status(), true
	}
	if api := apierrors.APIStatus(nil); errors.As(err, &api) {
		status = api.Status()
		status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
		if status.Code == 0 {
			status.Code = http.StatusInternalServerError
		}
		return status, true
	}
	return metav1.Status{}, false
}
