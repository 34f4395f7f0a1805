package election

import (
	"errors"
	"time"
)

// Clock measures elapsed time, including the time during which the machine was
// suspended.
type Clock interface {
	// Now is the time since a moment that is fixed while the process runs.
	Now() time.Duration
}

// ErrNoClock is returned if the system has no clock that counts during suspend.
var ErrNoClock = errors.New("active mode needs a clock that counts while the machine is suspended, which this system does not provide: use Linux or macOS")
