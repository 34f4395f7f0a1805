// Package seen tracks the progress of informer handlers.
package seen

import (
	"context"
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/tools/cache"
)

// Mark is the highest resourceVersion among the events of one type that a handler has
// processed. The informer must watch every object of its type: with a selector, the
// version of another object is never reached.
//
// The zero Mark is usable. Its methods are safe for concurrent use.
type Mark struct {
	mu      sync.Mutex
	version string
	risen   chan struct{} // closed at the next increase; nil while nothing waits
}

// Handler wraps h so that the mark increases after h has returned. tell, if set, is
// called after that.
func (m *Mark) Handler(h cache.ResourceEventHandler, tell func()) cache.ResourceEventHandler {
	after := func(obj any) {
		m.rise(obj)
		if tell != nil {
			tell()
		}
	}
	return cache.ResourceEventHandlerDetailedFuncs{
		AddFunc: func(obj any, listed bool) {
			h.OnAdd(obj, listed)
			after(obj)
		},
		UpdateFunc: func(old, obj any) {
			h.OnUpdate(old, obj)
			after(obj)
		},
		DeleteFunc: func(obj any) {
			h.OnDelete(obj)
			if unknown, ok := obj.(cache.DeletedFinalStateUnknown); ok {
				obj = unknown.Obj
			}
			after(obj)
		},
	}
}

func (m *Mark) rise(obj any) {
	object, err := meta.Accessor(obj)
	if err != nil {
		return
	}
	version := object.GetResourceVersion()
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.version != "" && !Newer(version, m.version) {
		return
	}
	m.version = version
	if m.risen != nil {
		close(m.risen)
		m.risen = nil
	}
}

// Reached reports whether the handler has processed an event at or after version. A
// version that cannot be compared counts as reached.
func (m *Mark) Reached(version string) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.reached(version)
}

func (m *Mark) reached(version string) bool {
	if m.version == "" {
		_, err := resourceversion.CompareResourceVersion(version, version)
		return err != nil
	}
	return !Newer(version, m.version)
}

// Wait returns when the mark has reached version, or an error when ctx is done before.
func (m *Mark) Wait(ctx context.Context, version string) error {
	for {
		m.mu.Lock()
		if m.reached(version) {
			m.mu.Unlock()
			return nil
		}
		if m.risen == nil {
			m.risen = make(chan struct{})
		}
		risen := m.risen
		m.mu.Unlock()
		select {
		case <-risen:
		case <-ctx.Done():
			return fmt.Errorf("wait for resourceVersion %s in the cache: %w", version, context.Cause(ctx))
		}
	}
}

// Newer reports whether resourceVersion a is later than b. It is false where
// one of them is not a number.
func Newer(a, b string) bool {
	order, err := resourceversion.CompareResourceVersion(a, b)
	return err == nil && order > 0
}
