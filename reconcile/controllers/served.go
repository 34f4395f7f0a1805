package controllers

import (
	"errors"
	"fmt"
	"sync/atomic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
)

// served is what the server had to offer when the Manager started. It is read
// once: aggregated discovery answers in two requests.
type served struct {
	resources map[schema.GroupVersionResource]struct{}
	// failed are the group versions discovery could not read: an aggregated API
	// whose server is down.
	failed map[schema.GroupVersion]error
	// namespaced are the preferred versions of what namespaces hold, with
	// discovery's error about the rest.
	namespaced    []*metav1.APIResourceList
	namespacedErr error
}

// discover reads what client serves. client should be a cached one: the REST
// mapper is filled by the same requests. A group that cannot be read is no
// error.
func discover(client discovery.DiscoveryInterface) (served, error) {
	s := served{resources: map[schema.GroupVersionResource]struct{}{}, failed: map[schema.GroupVersion]error{}}
	_, lists, err := client.ServerGroupsAndResources()
	if err != nil {
		var failed *discovery.ErrGroupDiscoveryFailed
		if !errors.As(err, &failed) {
			return served{}, fmt.Errorf("discover what the server offers: %w", err)
		}
		s.failed = failed.Groups
	}
	for _, list := range lists {
		gv, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return served{}, fmt.Errorf("discover what the server offers: %w", err)
		}
		for _, r := range list.APIResources {
			s.resources[gv.WithResource(r.Name)] = struct{}{}
		}
	}
	if len(s.resources) == 0 {
		return served{}, errors.New("discover what the server offers: it lists no resource")
	}
	s.namespaced, s.namespacedErr = discovery.ServerPreferredNamespacedResources(client)
	return s, nil
}

func (s *served) has(r schema.GroupVersionResource) bool {
	_, ok := s.resources[r]
	return ok
}

// missing returns why one of the types cannot be read, or "".
func (s *served) missing(types []schema.GroupVersionResource) string {
	for _, t := range types {
		if s.has(t) {
			continue
		}
		if err := s.failed[t.GroupVersion()]; err != nil {
			return fmt.Sprintf("the server's discovery of %s failed: %v", t.GroupVersion(), err)
		}
		return notServed(fmt.Sprintf("%s (%s)", typeName(t), t.Version)).Error()
	}
	return ""
}

// once spares a constructor its own discovery: the first call is answered with
// what is known already, the others by fn.
func (s *served) once(fn func() ([]*metav1.APIResourceList, error)) func() ([]*metav1.APIResourceList, error) {
	var called atomic.Bool
	return func() ([]*metav1.APIResourceList, error) {
		if called.CompareAndSwap(false, true) {
			return s.namespaced, s.namespacedErr
		}
		return fn()
	}
}

// notServed is a type the server does not have. A controller that fails to build with
// it is off, not failed.
type notServed string

func (t notServed) Error() string { return "the server does not serve " + string(t) }
