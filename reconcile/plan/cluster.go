package plan

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
)

// Cluster is an API server on which a plan is made. It is safe for concurrent use and
// owns no goroutine between calls.
type Cluster struct {
	objects   dynamic.Interface
	discovery discovery.CachedDiscoveryInterface
	mapper    *restmapper.DeferredDiscoveryRESTMapper
	warnings  *warnings
	// probes sends requests that show what admission uses; heard are their warnings.
	probes dynamic.Interface
	heard  *warnings

	mu sync.Mutex
	// implied are the UIDs of classes that Apply created without a manifest; named are
	// the types of the objects applied.
	implied, named map[string]bool
}

// NewCluster creates the clients for config. Their user agent ends in "/apply". The
// config's rate limits apply: a sandbox should have none.
func NewCluster(config *rest.Config) (*Cluster, error) {
	config = rest.CopyConfig(config)
	config.UserAgent = strings.TrimPrefix(config.UserAgent+"/apply", "/")
	w := &warnings{seen: map[string]bool{}}
	config.WarningHandler, config.WarningHandlerWithContext = w, nil
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("create a discovery client for %s: %w", config.Host, err)
	}
	probes, heard, err := newProbes(config)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	cached := memory.NewMemCacheClient(client)
	return &Cluster{
		objects: objects, discovery: cached, mapper: restmapper.NewDeferredDiscoveryRESTMapper(cached), warnings: w,
		probes: probes, heard: heard, implied: map[string]bool{}, named: map[string]bool{},
	}, nil
}

// warnings collects the Warning headers of the API server.
type warnings struct {
	mu   sync.Mutex
	seen map[string]bool
}

// HandleWarningHeader implements rest.WarningHandler. The API server only uses code
// 299.
func (w *warnings) HandleWarningHeader(code int, _ string, text string) {
	if code != 299 || text == "" {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.seen[text] = true
}

// take returns the warnings since the last call, sorted.
func (w *warnings) take() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	texts := slices.Sorted(maps.Keys(w.seen))
	clear(w.seen)
	return texts
}

// mapping finds the resource of a kind. The error contains the next step.
func (c *Cluster) mapping(gvk schema.GroupVersionKind) (*meta.RESTMapping, error) {
	mapping, err := c.mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
	if err == nil || !meta.IsNoMatchError(err) {
		return mapping, err
	}
	if served := c.versionsOf(gvk.GroupKind()); len(served) > 0 {
		return nil, fmt.Errorf("the API server does not serve %s as %s, only as %s", gvk.Kind, gvk.GroupVersion(), strings.Join(served, ", "))
	}
	plural, _ := meta.UnsafeGuessKindToResource(gvk)
	missing := fmt.Errorf("unknown kind: the CustomResourceDefinition of %s (%s) is missing; add it to the manifests", gvk.GroupKind(), plural.GroupResource())
	if elsewhere := c.sameKind(gvk.Kind); len(elsewhere) > 0 && (gvk.Group == "" || !strings.Contains(gvk.Group, ".")) {
		return nil, fmt.Errorf("the API server has no %s in %s, but in %s", gvk.Kind, gvk.GroupVersion(), strings.Join(elsewhere, ", "))
	}
	return nil, missing
}

func (c *Cluster) versionsOf(gk schema.GroupKind) []string {
	mappings, err := c.mapper.RESTMappings(gk)
	if err != nil {
		return nil
	}
	var versions []string
	for _, m := range mappings {
		versions = append(versions, m.GroupVersionKind.GroupVersion().String())
	}
	slices.Sort(versions)
	return slices.Compact(versions)
}

// sameKind lists the group versions that have a kind of this name.
func (c *Cluster) sameKind(kind string) []string {
	lists, _ := c.discovery.ServerPreferredResources()
	var found []string
	for _, list := range lists {
		for _, r := range list.APIResources {
			if r.Kind == kind {
				found = append(found, list.GroupVersion)
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// listable is a type that can be listed, in its preferred version.
type listable struct {
	schema.GroupVersionResource
	kind       string
	namespaced bool
}

// listables are all types of the server that Capture reads, sorted. A group whose
// discovery fails is an error: a plan must not silently omit a part of the cluster.
func (c *Cluster) listables(context.Context) ([]listable, error) {
	c.discovery.Invalidate()
	c.mapper.Reset()
	lists, err := c.discovery.ServerPreferredResources()
	if err != nil {
		return nil, fmt.Errorf("discover the types of the API server: %w", err)
	}
	var types []listable
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("discover the types of the API server: %w", err)
		}
		for _, r := range list.APIResources {
			l := listable{GroupVersionResource: gv.WithResource(r.Name), kind: r.Kind, namespaced: r.Namespaced}
			if slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") && c.speaksOf(typeName(gv.Group, r.Kind)) {
				types = append(types, l)
			}
		}
	}
	slices.SortFunc(types, func(a, b listable) int { return strings.Compare(a.String(), b.String()) })
	if len(types) == 0 {
		return nil, errors.New("the API server lists no types")
	}
	return types, nil
}

// speaksOf reports whether plans contain a type: one that manifests name, or that is
// not in passedOver.
func (c *Cluster) speaksOf(t string) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.named[t] || !passedOver[t]
}

// client is the dynamic client for a type; ns is ignored where the type has no
// namespaces.
func (c *Cluster) client(mapping *meta.RESTMapping, ns string) dynamic.ResourceInterface {
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		return c.objects.Resource(mapping.Resource).Namespace(ns)
	}
	return c.objects.Resource(mapping.Resource)
}
