//go:build !unix

package main

// releaseBySignal does nothing: there is no such signal here.
func releaseBySignal(*session) (stop func()) { return func() {} }
