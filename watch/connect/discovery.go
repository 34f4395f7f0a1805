package connect

import (
	"bytes"
	"fmt"
	"io"
	"mime"
	"net/http"
	"strings"
)

// aggregated is the kind of the response that lists all served types.
const aggregated = "APIGroupDiscoveryList"

// discoveryPeek is how much of a response is checked; its kind is at the start.
const discoveryPeek = 4 << 10

// checkedDiscovery rejects discovery responses whose Content-Type does not match the
// body. client-go v0.37.1 only uses the header (discovery/discovery_client.go): it then
// reads a list of all types as a list of groups, finds none, and the server seems to
// serve nothing.
type checkedDiscovery struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (c checkedDiscovery) RoundTrip(req *http.Request) (*http.Response, error) {
	resp, err := c.next.RoundTrip(req)
	if err != nil || req.Method != http.MethodGet || resp.StatusCode != http.StatusOK || !discovers(req.URL.Path) {
		return resp, err
	}
	start := make([]byte, discoveryPeek)
	n, readErr := io.ReadFull(resp.Body, start)
	start = start[:n]
	if problem := misnamed(resp.Header.Get("Content-Type"), start); problem != "" {
		_ = resp.Body.Close()
		return nil, fmt.Errorf("discover the API types: GET %s: %s; check whether a proxy changes the response", req.URL.Path, problem)
	}
	rest := io.Reader(resp.Body)
	if readErr != nil && readErr != io.EOF && readErr != io.ErrUnexpectedEOF {
		rest = failing{readErr}
	}
	resp.Body = struct {
		io.Reader
		io.Closer
	}{io.MultiReader(bytes.NewReader(start), rest), resp.Body}
	return resp, nil
}

type failing struct{ err error }

func (f failing) Read([]byte) (int, error) { return 0, f.err }

// discovers reports whether a path is one of the two discovery roots.
func discovers(path string) bool {
	path = strings.TrimSuffix(path, "/")
	return strings.HasSuffix(path, "/api") || strings.HasSuffix(path, "/apis")
}

// misnamed describes the difference between Content-Type and body; empty if there is
// none.
func misnamed(contentType string, start []byte) string {
	media, parameters, err := mime.ParseMediaType(contentType)
	isList := bytes.HasPrefix(bytes.TrimLeft(start, " \t\r\n"), []byte("{")) && bytes.Contains(start, []byte(`"`+aggregated+`"`))
	saysList := err == nil && media == "application/json" && strings.EqualFold(parameters["as"], aggregated) && parameters["g"] == "apidiscovery.k8s.io"
	if isList && !saysList {
		return fmt.Sprintf("the response is an %s, but its Content-Type is %q", aggregated, contentType)
	}
	if saysList && !isList {
		return fmt.Sprintf("its Content-Type is %q, but the response is not an %s", contentType, aggregated)
	}
	return ""
}
