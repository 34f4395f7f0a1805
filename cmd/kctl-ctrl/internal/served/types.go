// Package served finds the types that a cluster serves and that can be listed and watched,
// by any of their names.
package served

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
)

// Types are the types that a server serves, by all their names. They are
// asked for when first needed, and again for a name that was not among them.
type Types struct {
	Config *rest.Config

	mu    sync.Mutex
	types []servedType
}

// servedType is a type with the other words for it: singular, kind, short names.
type servedType struct {
	owners.Type
	words []string
}

// Find resolves what a user calls a type: "pods", "po", "deployments.apps",
// "Deployment".
func (s *Types) Find(ctx context.Context, called string) (owners.Type, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	called = strings.ToLower(called)
	if t, ok := s.lookup(called); ok {
		return t, nil
	}
	if err := s.read(ctx); err != nil {
		return owners.Type{}, fmt.Errorf("look for the type %q: %w", called, err)
	}
	if t, ok := s.lookup(called); ok {
		return t, nil
	}
	return owners.Type{}, fmt.Errorf("the API server serves no type %q: 'kubectl api-resources' lists them", called)
}

func (s *Types) lookup(called string) (owners.Type, bool) {
	name, group, grouped := strings.Cut(called, ".")
	for _, t := range s.types {
		if (!grouped || t.Group == group) && (t.Resource == name || slices.Contains(t.words, name)) {
			return t.Type, true
		}
	}
	return owners.Type{}, false
}

// All gives the names of the types, as "deployments.apps".
func (s *Types) All(ctx context.Context) ([]string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.types) == 0 {
		if err := s.read(ctx); err != nil {
			return nil, fmt.Errorf("ask the API server for its types: %w", err)
		}
	}
	var out []string
	for _, t := range s.types {
		out = append(out, t.String())
	}
	slices.Sort(out)
	return slices.Compact(out), nil
}

// read asks the server. A group that does not answer leaves its types out.
func (s *Types) read(ctx context.Context) error {
	client, err := discovery.NewDiscoveryClientForConfig(s.Config)
	if err != nil {
		return err
	}
	lists, err := client.ServerPreferredResourcesWithContext(ctx)
	if len(lists) == 0 && err != nil {
		return err
	}
	s.types = nil
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if slices.Contains(r.Verbs, "list") && slices.Contains(r.Verbs, "watch") {
				s.types = append(s.types, servedType{typeOf(gv, r), append([]string{r.SingularName, strings.ToLower(r.Kind)}, r.ShortNames...)})
			}
		}
	}
	return nil
}

func typeOf(gv schema.GroupVersion, r metav1.APIResource) owners.Type {
	return owners.Type{Group: gv.Group, Version: gv.Version, Resource: r.Name, Kind: r.Kind, Namespaced: r.Namespaced}
}
