package follow

import (
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
)

// Follower shows an engine while it lasts, and what it comes to at the end.
type Follower interface {
	Wait()
	Summary(*engine.Engine) error
}
