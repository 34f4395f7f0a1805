package connect

import (
	"net/http"
	"net/url"
	"strings"
)

// RedirectedError says that a server sends its clients to another one. The guard
// would not let them go there; its refusal is lost on the way through client-go's
// discovery.
type RedirectedError struct{ From, To string }

// Error has no path and no query: it may be anybody's text.
func (e *RedirectedError) Error() string {
	return "the server at " + e.From + " redirects to " + e.To + "; credentials are not sent there"
}

// notSentOn has a client hear of a redirect to another server as an error of its own.
func notSentOn(next http.RoundTripper) http.RoundTripper { return staying{next} }

// staying is a transport that follows no redirect to another server.
type staying struct{ http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (s staying) RoundTrip(r *http.Request) (*http.Response, error) {
	answer, err := s.RoundTripper.RoundTrip(r)
	if err != nil || answer.StatusCode < 300 || answer.StatusCode > 399 {
		return answer, err
	}
	to, problem := answer.Location()
	if problem != nil || sameServer(to, r.URL) {
		return answer, nil
	}
	_ = answer.Body.Close()
	return nil, &RedirectedError{From: originOf(r.URL), To: originOf(to)}
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
