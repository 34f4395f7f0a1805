package guard

import (
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
)

// parseServer reads Options.Server.
func parseServer(text string) (origin string, err error) {
	u, err := url.Parse(text)
	if err != nil {
		return "", fmt.Errorf("make a guard: read the address of its server: %w", err)
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", fmt.Errorf("make a guard: the server %q is not http://HOST or https://HOST", text)
	}
	return originOf(u.Scheme, u.Host), nil
}

// originOf gives scheme, host and port in one spelling, the port always there.
func originOf(scheme, host string) string {
	scheme = strings.ToLower(scheme)
	u := url.URL{Host: strings.ToLower(host)}
	port := u.Port()
	if port == "" {
		port = map[string]string{"http": "80", "https": "443"}[scheme]
	}
	return scheme + "://" + net.JoinHostPort(u.Hostname(), port)
}

// otherServer says why a request does not go to the guard's server, and nothing
// where it does. The first request settles which server that is, where nothing
// has before.
//
// A client follows redirects, and client-go's wrappers give each hop the user's
// token, outside the guard: only here is it seen where that goes.
func (g *Guard) otherServer(out *http.Request) string {
	to := originOf(out.URL.Scheme, out.URL.Host)
	if out.Host != "" && originOf(out.URL.Scheme, out.Host) != to {
		return fmt.Sprintf("it goes to %s and asks there for the host %q", to, out.Host)
	}
	g.server.CompareAndSwap(nil, &to)
	if server := *g.server.Load(); to != server {
		return "this session talks to " + server + ", and the request goes to " + to + ", as after a redirect"
	}
	return ""
}
