package tuibackend

import (
	"context"
	"sync"

	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// steadyCache is the cache of the loops for as long as they have one, and an informer
// of the screen's own while they have been stopped: what is looked at stays readable.
type steadyCache struct {
	loops *loopCache

	mu     sync.Mutex
	own    port.Cache // nil while the loops have one
	closed bool
}

var (
	_ port.Cache      = (*steadyCache)(nil)
	_ port.FieldAsker = (*steadyCache)(nil)
)

// now is the cache to be asked. Where none can be opened it is the loops', which says
// that it is gone.
func (c *steadyCache) now() port.Cache {
	c.mu.Lock()
	defer c.mu.Unlock()
	gone := c.loops.store() == nil
	switch {
	case !gone && c.own != nil:
		c.own.Close()
		c.own = nil
	case gone && c.own == nil && !c.closed:
		if own, err := c.loops.clients.openOwn(c.loops.typ); err == nil {
			c.own = own
		}
	}
	if c.own != nil {
		return c.own
	}
	return c.loops
}

// Close implements port.Cache.
func (c *steadyCache) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.closed = true
	if c.own != nil {
		c.own.Close()
		c.own = nil
	}
}

// Stats implements port.Cache.
func (c *steadyCache) Stats() state.StoreStats { return c.now().Stats() }

// Edition implements port.Cache.
func (c *steadyCache) Edition() uint64 { return c.now().Edition() }

// Window implements port.Cache.
func (c *steadyCache) Window(q port.CacheQuery, offset, n int) (port.CacheWindow, error) {
	return c.now().Window(q, offset, n)
}

// Find implements port.Cache.
func (c *steadyCache) Find(q port.CacheQuery, namespace, name string) (int, bool) {
	return c.now().Find(q, namespace, name)
}

// Object implements port.Cache.
func (c *steadyCache) Object(namespace, name string) (port.CacheObject, bool) {
	return c.now().Object(namespace, name)
}

// Compare implements port.Cache.
func (c *steadyCache) Compare(ctx context.Context, namespace, name string) (port.CacheComparison, error) {
	return c.now().Compare(ctx, namespace, name)
}

// Fields implements port.FieldAsker.
func (c *steadyCache) Fields(ctx context.Context, namespace, name string) ([]port.FieldOwner, error) {
	if asker, ok := c.now().(port.FieldAsker); ok {
		return asker.Fields(ctx, namespace, name)
	}
	o, _ := c.Object(namespace, name)
	return o.Fields, nil
}
