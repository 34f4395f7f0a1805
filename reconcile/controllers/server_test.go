package controllers

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	apidiscovery "k8s.io/api/apidiscovery/v2"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
)

// emptyCluster answers as an API server without objects does: discovery of all
// of client-go's types, empty lists, watches that stay open. What is created is
// echoed and forgotten.
type emptyCluster struct {
	*httptest.Server
	kinds map[schema.GroupVersionResource]string
	// hidden types are not served.
	hidden map[schema.GroupResource]bool
	// forbidden types may not be read, says the access review.
	forbidden map[schema.GroupResource]bool

	mu       sync.Mutex
	requests []request
}

type request struct {
	method, userAgent, path string
	// resource is what a list or a watch reads.
	resource  schema.GroupVersionResource
	namespace string
}

var clusterScoped = map[string]bool{
	"nodes": true, "namespaces": true, "persistentvolumes": true, "storageclasses": true, "csinodes": true,
	"csidrivers": true, "volumeattachments": true, "volumeattributesclasses": true, "clusterroles": true,
	"clusterrolebindings": true, "certificatesigningrequests": true, "clustertrustbundles": true,
	"servicecidrs": true, "ipaddresses": true, "validatingadmissionpolicies": true, "deviceclasses": true,
	"resourceslices": true, "devicetaintrules": true, "resourcepoolstatusrequests": true,
	"storageversions": true, "storageversionmigrations": true, "componentstatuses": true, "priorityclasses": true,
	"runtimeclasses": true, "ingressclasses": true, "flowschemas": true,
	"mutatingadmissionpolicies": true, "mutatingadmissionpolicybindings": true, "validatingadmissionpolicybindings": true,
	"mutatingwebhookconfigurations": true, "validatingwebhookconfigurations": true, "prioritylevelconfigurations": true,
}

func newEmptyCluster(t testing.TB, hidden ...schema.GroupResource) *emptyCluster {
	c := &emptyCluster{
		kinds:  map[schema.GroupVersionResource]string{},
		hidden: map[schema.GroupResource]bool{}, forbidden: map[schema.GroupResource]bool{},
	}
	for _, h := range hidden {
		c.hidden[h] = true
	}
	known := scheme.Scheme.AllKnownTypes()
	for gvk := range known {
		if _, list := known[gvk.GroupVersion().WithKind(gvk.Kind+"List")]; !list {
			continue
		}
		plural, _ := meta.UnsafeGuessKindToResource(gvk)
		if gvk.Kind == "Endpoints" {
			plural.Resource = "endpoints"
		}
		if !c.hidden[plural.GroupResource()] {
			c.kinds[plural] = gvk.Kind
		}
	}
	c.Server = httptest.NewServer(c)
	t.Cleanup(func() {
		c.CloseClientConnections()
		c.Close()
	})
	return c
}

func (c *emptyCluster) config() *rest.Config { return &rest.Config{Host: c.URL} }

func (c *emptyCluster) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	parts := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	req := request{method: r.Method, userAgent: r.UserAgent(), path: r.URL.Path}
	if parts[0] == "api" && len(parts) > 2 {
		parts = append([]string{"apis", ""}, parts[1:]...)
	}
	if len(parts) > 3 {
		req.resource = schema.GroupVersionResource{Group: parts[1], Version: parts[2], Resource: parts[3]}
		if len(parts) > 5 && parts[3] == "namespaces" {
			req.resource.Resource, req.namespace = parts[5], parts[4]
		}
	}
	c.mu.Lock()
	c.requests = append(c.requests, req)
	c.mu.Unlock()

	w.Header().Set("Content-Type", "application/json")
	switch {
	case r.URL.Path == "/api", r.URL.Path == "/apis":
		w.Header().Set("Content-Type", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList")
		c.write(w, c.discovery(r.URL.Path == "/api"))
	case req.resource.Resource == "selfsubjectaccessreviews":
		c.review(w, r)
	case r.Method == http.MethodPost:
		w.WriteHeader(http.StatusCreated)
		var body map[string]any
		if json.NewDecoder(r.Body).Decode(&body) == nil {
			c.write(w, body)
		}
	case r.Method != http.MethodGet || c.kinds[req.resource] == "" || parts[len(parts)-1] != req.resource.Resource:
		w.WriteHeader(http.StatusNotFound)
		c.write(w, metav1.Status{
			TypeMeta: metav1.TypeMeta{Kind: "Status", APIVersion: "v1"},
			Status:   metav1.StatusFailure, Reason: metav1.StatusReasonNotFound, Code: http.StatusNotFound,
		})
	default:
		c.read(w, r, req.resource)
	}
}

// read lists nothing, or watches nothing until the client goes.
func (c *emptyCluster) read(w http.ResponseWriter, r *http.Request, t schema.GroupVersionResource) {
	kind, version := c.kinds[t], t.GroupVersion().String()
	if strings.Contains(r.Header.Get("Accept"), "as=PartialObjectMetadata") {
		kind, version = "PartialObjectMetadata", "meta.k8s.io/v1"
	}
	if r.URL.Query().Get("watch") != "true" && r.URL.Query().Get("watch") != "1" {
		c.write(w, map[string]any{
			"kind": kind + "List", "apiVersion": version,
			"metadata": map[string]any{"resourceVersion": "1"}, "items": []any{},
		})
		return
	}
	if r.URL.Query().Get("sendInitialEvents") == "true" {
		c.write(w, map[string]any{"type": "BOOKMARK", "object": map[string]any{
			"kind": kind, "apiVersion": version,
			"metadata": map[string]any{
				"resourceVersion": "1", "annotations": map[string]any{metav1.InitialEventsAnnotationKey: "true"},
			},
		}})
	}
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

func (c *emptyCluster) review(w http.ResponseWriter, r *http.Request) {
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	attributes := body["spec"].(map[string]any)["resourceAttributes"].(map[string]any)
	group, _ := attributes["group"].(string)
	resource, _ := attributes["resource"].(string)
	body["status"] = map[string]any{"allowed": !c.forbidden[schema.GroupResource{Group: group, Resource: resource}]}
	w.WriteHeader(http.StatusCreated)
	c.write(w, body)
}

func (c *emptyCluster) discovery(core bool) apidiscovery.APIGroupDiscoveryList {
	groups := map[string]map[string][]apidiscovery.APIResourceDiscovery{}
	for t, kind := range c.kinds {
		if core != (t.Group == "") {
			continue
		}
		if groups[t.Group] == nil {
			groups[t.Group] = map[string][]apidiscovery.APIResourceDiscovery{}
		}
		scope := apidiscovery.ScopeNamespace
		if clusterScoped[t.Resource] {
			scope = apidiscovery.ScopeCluster
		}
		groups[t.Group][t.Version] = append(groups[t.Group][t.Version], apidiscovery.APIResourceDiscovery{
			Resource: t.Resource, Scope: scope,
			ResponseKind: &metav1.GroupVersionKind{Group: t.Group, Version: t.Version, Kind: kind},
			Verbs:        []string{"create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"},
		})
	}
	list := apidiscovery.APIGroupDiscoveryList{TypeMeta: metav1.TypeMeta{
		Kind: "APIGroupDiscoveryList", APIVersion: "apidiscovery.k8s.io/v2",
	}}
	for name, versions := range groups {
		group := apidiscovery.APIGroupDiscovery{ObjectMeta: metav1.ObjectMeta{Name: name}}
		for v, resources := range versions {
			group.Versions = append(group.Versions, apidiscovery.APIVersionDiscovery{
				Version: v, Resources: resources, Freshness: apidiscovery.DiscoveryFreshnessCurrent,
			})
		}
		// v1 before v1beta1 before v1alpha1: the first is the preferred one.
		slices.SortFunc(group.Versions, func(a, b apidiscovery.APIVersionDiscovery) int {
			return len(a.Version) - len(b.Version)
		})
		list.Items = append(list.Items, group)
	}
	return list
}

func (c *emptyCluster) write(w http.ResponseWriter, v any) {
	// A client that has gone is the test's end.
	_ = json.NewEncoder(w).Encode(v)
}

// seen returns the requests so far.
func (c *emptyCluster) seen() []request {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.requests)
}

// readers tells what each controller's own informers read, sorted, and the user
// agents of all other requests.
func (c *emptyCluster) readers() (read map[string][]string, agents []string) {
	read = map[string][]string{}
	for _, r := range c.seen() {
		if name, ok := strings.CutPrefix(r.userAgent, "informers of "); ok {
			read[name] = append(read[name], r.resource.String())
		} else {
			agents = append(agents, r.userAgent)
		}
	}
	for name := range read {
		slices.Sort(read[name])
		read[name] = slices.Compact(read[name])
	}
	slices.Sort(agents)
	return read, slices.Compact(agents)
}
