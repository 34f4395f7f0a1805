package connect

import (
	"net/http"
	"strconv"
	"time"

	"k8s.io/client-go/rest"
)

// longestRetry is how long a question of ours silently waits, at a time, for a server
// that asks to be spared for a while: client-go tries ten times. API servers that are
// only busy say a second or a few.
const longestRetry = 10 * time.Second

// Unretried has a client hear of a refusal that says when to try again at once: client-go
// waits and tries again by itself, until its time is over and nothing tells why. The
// election has a period of its own.
func Unretried(next http.RoundTripper) http.RoundTripper { return impatient{next, 0} }

// askedSoon is unretried for times beyond longestRetry: whoever has asked is told.
func askedSoon(next http.RoundTripper) http.RoundTripper { return impatient{next, longestRetry} }

// ForQuestions is a copy of a config, for a question whose answer somebody waits for.
func ForQuestions(config *rest.Config) *rest.Config {
	out := rest.CopyConfig(config)
	out.Wrap(askedSoon)
	out.Wrap(notSentOn)
	return out
}

// impatient drops what an answer says of when to try again where that is later than most.
type impatient struct {
	http.RoundTripper
	most time.Duration
}

// RoundTrip implements http.RoundTripper.
func (i impatient) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := i.RoundTripper.RoundTrip(r)
	if answer != nil {
		// client-go v0.37.1 reads whole seconds and nothing else (rest/with_retry.go).
		if seconds, bad := strconv.Atoi(answer.Header.Get("Retry-After")); bad != nil || seconds > int(i.most/time.Second) || i.most == 0 {
			answer.Header.Del("Retry-After")
		}
	}
	return answer, err
}
