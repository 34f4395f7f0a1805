package election

import (
	"errors"
	"time"
)

// Clock measures how long ago something was, the time included for which the
// machine was suspended.
type Clock interface {
	// Now is the time since a moment that stays the same while the process runs.
	Now() time.Duration
}

// ErrNoClock is returned where no clock is known that runs during suspend.
var ErrNoClock = errors.New("active mode needs a clock that counts while the machine is suspended, which this system does not provide: use Linux or macOS")
