package main

import (
	"net/http"
	"net/url"
	"strings"
)

// redirectedError says that a server sends its clients to another one. The guard
// would not let them go there; its refusal is lost on the way through client-go's
// discovery.
type redirectedError struct{ from, to string }

// Error has no path and no query: it may be anybody's text.
func (e *redirectedError) Error() string {
	return "the server at " + e.from + " sends its clients on to " + e.to + ", where your credentials are not sent"
}

// notSentOn has a client hear of a redirect to another server as an error of its own.
func notSentOn(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(req)
		if err != nil || answer.StatusCode < 300 || answer.StatusCode > 399 {
			return answer, err
		}
		to, problem := answer.Location()
		if problem != nil || sameServer(to, req.URL) {
			return answer, nil
		}
		_ = answer.Body.Close()
		return nil, &redirectedError{from: originOf(req.URL), to: originOf(to)}
	})
}

func originOf(u *url.URL) string { return u.Scheme + "://" + u.Host }

func sameServer(a, b *url.URL) bool {
	return a.Scheme == b.Scheme && strings.EqualFold(a.Hostname(), b.Hostname()) && portOf(a) == portOf(b)
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "http":
		return "80"
	default:
		return "443"
	}
}
