//go:build !linux && !darwin

package election

// SystemClock is not known on this system.
func SystemClock() (Clock, error) { return nil, ErrNoClock }
