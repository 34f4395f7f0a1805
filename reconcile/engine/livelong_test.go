//go:build scenarios || twins

package engine

import "time"

// The pod garbage collector waits 40 s for a node to come back, and looks every 20 s;
// nodes are silent for 30 s before they are unknown; a Job waits 10 s after a failure.
const (
	longLeast = 75 * time.Second
	longQuiet = 12 * time.Second
	longMost  = 4 * time.Minute
)
