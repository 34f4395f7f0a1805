//go:build !unix

package follow

import "github.com/kctl-ctrl/kctl-ctrl/reconcile/engine"

// ReleaseBySignal does nothing: there is no such signal here.
func ReleaseBySignal(*engine.Engine) (stop func()) { return func() {} }
