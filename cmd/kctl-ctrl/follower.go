package main

import (
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"
)

// follower shows an engine while it lasts, and what it comes to at the end.
type follower interface {
	wait()
	summary(*engine.Engine) error
}
