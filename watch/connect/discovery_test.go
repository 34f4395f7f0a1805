package connect

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
)

// A server behind a proxy that changes the Content-Type of discovery does not seem to
// serve nothing: the error says what is wrong.
func TestDiscoveryOfAnotherContentType(t *testing.T) {
	const right = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
	types := `[{"version":"v1","resources":[{"resource":"deployments","responseKind":{"group":"apps","version":"v1","kind":"Deployment"},"scope":"Namespaced","verbs":["get"]}]}]`
	lists := map[string]string{
		"/api":  `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[]}`,
		"/apis": `{"kind":"APIGroupDiscoveryList","apiVersion":"apidiscovery.k8s.io/v2","items":[{"metadata":{"name":"apps"},"versions":` + types + `}]}`,
	}
	for contentType, want := range map[string]string{
		right:                       "",
		"application/json":          `an APIGroupDiscoveryList, but its Content-Type is "application/json"`,
		"text/plain; charset=utf-8": `an APIGroupDiscoveryList, but its Content-Type is "text/plain; charset=utf-8"`,
		";":                         `an APIGroupDiscoveryList`,
	} {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", contentType)
			if r.URL.Path == "/api" {
				w.Header().Set("Content-Type", right)
			}
			_, _ = io.WriteString(w, lists[r.URL.Path])
		}))
		config := finish(&rest.Config{Host: server.URL}, func(rt http.RoundTripper) http.RoundTripper { return rt }, Limits{})
		client, err := discovery.NewDiscoveryClientForConfig(config)
		if err != nil {
			t.Fatal(err)
		}
		_, resources, err := client.ServerGroupsAndResources()
		switch {
		case want == "" && (err != nil || len(resources) != 1):
			t.Errorf("%s: %d lists, %v", contentType, len(resources), err)
		case want != "" && (err == nil || !strings.Contains(err.Error(), want)):
			t.Errorf("%s: %d lists, %v, want %q", contentType, len(resources), err, want)
		}
		server.Close()
	}
}

func TestMisnamed(t *testing.T) {
	for _, c := range []struct {
		contentType, body string
		wrong             bool
	}{
		{"application/json", `{"kind":"APIGroupList","groups":[{"name":"apps"}]}`, false},
		{"application/json", `{"kind":"APIVersions"}`, false},
		{"text/html", `<html>APIGroupDiscoveryList`, false},
		{"application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList", `{"kind":"APIGroupList"}`, true},
		{"", `{"kind":"APIGroupDiscoveryList"}`, true},
		{"", ``, false},
	} {
		if got := misnamed(c.contentType, []byte(c.body)); (got != "") != c.wrong {
			t.Errorf("%q, %s: %q", c.contentType, c.body, got)
		}
	}
}
