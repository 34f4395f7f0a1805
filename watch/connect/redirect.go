package connect

import (
	"net/http"
	"net/url"
	"strings"
)

// RedirectedError means that a server redirects to another one. The guard rejects the
// redirected request, but its error would be lost in client-go's discovery.
type RedirectedError struct{ From, To string }

// Error omits path and query, which may contain arbitrary text.
func (e *RedirectedError) Error() string {
	return "the server at " + e.From + " redirects to " + e.To + "; credentials are not sent there"
}

// notSentOn returns a redirect to another server as an error.
func notSentOn(next http.RoundTripper) http.RoundTripper { return staying{next} }

// staying is a transport that does not follow redirects to other servers.
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
