package connect

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
)

// longestRetry is the maximum Retry-After that a query waits for silently: client-go
// tries ten times. API servers that are only busy return a second or a few.
const longestRetry = 10 * time.Second

// Unretried returns a response with Retry-After immediately as an error. client-go
// would wait and retry until its deadline and hide the reason. Leader election has its
// own retry period.
func Unretried(next http.RoundTripper) http.RoundTripper { return impatient{next, 0} }

// askedSoon is Unretried for times beyond longestRetry: the user sees the reason.
func askedSoon(next http.RoundTripper) http.RoundTripper { return impatient{next, longestRetry} }

// ForQuestions returns a copy of a config for queries that a user waits for.
func ForQuestions(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.Wrap(askedSoon)
	out.Wrap(notSentOn)
	return out
}

// impatient removes a Retry-After that exceeds most.
type impatient struct {
	http.RoundTripper
	most time.Duration
}

// RoundTrip implements http.RoundTripper.
func (i impatient) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := i.RoundTripper.RoundTrip(r)
	if answer != nil {
		// client-go v0.37.1 only reads whole seconds (rest/with_retry.go).
		if seconds, bad := strconv.Atoi(answer.Header.Get("Retry-After")); bad != nil || seconds > int(i.most/time.Second) || i.most == 0 {
			answer.Header.Del("Retry-After")
		}
	}
	return answer, err
}
