package tap

import (
	"cmp"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// WithholdErrors keeps the text of errors out of the record that the sync
// which cause names reports from now on. It is for a sync whose write of a
// Secret has failed: what the controller makes of the server's answer may quote
// the Secret and not say that it is about one. It does nothing for other
// causes, and after the end of the sync.
func (t *Tap) WithholdErrors(cause state.Cause) {
	if r := t.running(cause); r != nil {
		r.withhold.Store(true)
	}
}

// withheld stands for the text of an error that may quote a Secret.
func withheld(what, reason string) string {
	return strings.TrimSuffix(fmt.Sprintf("%s, withheld: %s", what, reason), ": ")
}

// textOf returns what the record says of err.
func (r *running) textOf(err error) string {
	if status, ok := aboutSecret(err); ok {
		return withheld("an error about a Secret", reasonOf(status))
	}
	if r.withhold.Load() {
		return withheld("an error after a failed write of a Secret", string(apierrors.ReasonForError(err)))
	}
	return err.Error()
}

// withoutSecrets gives the values of a log's record without what may quote a Secret: an
// error about one, and the message of an Event about one, which upstream's broadcaster
// logs with the kind of what it is about (k8s.io/client-go v0.37.1,
// tools/record/event.go). The slice is not modified.
func withoutSecrets(keysAndValues []any) []any {
	out, told := keysAndValues, false
	for i := 1; i < len(keysAndValues); i += 2 {
		told = told || keysAndValues[i-1] == "kind" && keysAndValues[i] == "Secret"
	}
	for i := 1; i < len(keysAndValues); i += 2 {
		var instead any
		if err, ok := keysAndValues[i].(error); ok {
			if status, secret := aboutSecret(err); secret {
				instead = errors.New(withheld("an error about a Secret", reasonOf(status)))
			}
		}
		if told && (keysAndValues[i-1] == "message" || keysAndValues[i-1] == "note") {
			instead = redact.Hidden
		}
		if instead == nil {
			continue
		}
		if &out[0] == &keysAndValues[0] {
			out = slices.Clone(keysAndValues)
		}
		out[i] = instead
	}
	return out
}

// reasonOf says in a word or two what kind of answer it was.
func reasonOf(s metav1.Status) string {
	return cmp.Or(string(s.Reason), http.StatusText(int(s.Code)))
}

// aboutSecret returns the server's answer about a Secret that err is, or wraps
// anywhere.
func aboutSecret(err error) (metav1.Status, bool) {
	if answer, ok := err.(apierrors.APIStatus); ok {
		s := answer.Status()
		// The resource in most answers; the kind in those about invalid objects.
		if d := s.Details; d != nil && (d.Kind == "secrets" || d.Kind == "Secret") {
			return s, true
		}
	}
	for _, inner := range unwrap(err) {
		if s, ok := aboutSecret(inner); ok {
			return s, true
		}
	}
	return metav1.Status{}, false
}

// unwrap returns what err wraps. An Aggregate of apimachinery is asked too,
// which package errors does not see into.
func unwrap(err error) []error {
	switch e := err.(type) {
	case nil:
		return nil
	case interface{ Errors() []error }:
		return e.Errors()
	case interface{ Unwrap() []error }:
		return e.Unwrap()
	case interface{ Unwrap() error }:
		return []error{e.Unwrap()}
	}
	return nil
}
