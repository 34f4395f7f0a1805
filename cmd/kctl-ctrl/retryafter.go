package main

import "net/http"

// unretried has a client hear of a refusal that says when to try again at once: client-go
// waits and tries again by itself, until its time is over and nothing tells why. The
// election has a period of its own.
func unretried(next http.RoundTripper) http.RoundTripper { return impatient{next} }

type impatient struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (i impatient) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := i.RoundTripper.RoundTrip(r)
	if answer != nil {
		answer.Header.Del("Retry-After")
	}
	return answer, err
}
