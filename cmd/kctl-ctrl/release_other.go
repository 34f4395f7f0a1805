//go:build !unix

package main

import "github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"

// releaseBySignal does nothing: there is no such signal here.
func releaseBySignal(*engine.Engine) (stop func()) { return func() {} }
