//go:build linux || darwin

package election

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

type systemClock struct{}

// SystemClock is the clock of this machine that runs during suspend.
func SystemClock() (Clock, error) {
	if _, err := read(); err != nil {
		return nil, fmt.Errorf("%w (%w)", ErrNoClock, err)
	}
	return systemClock{}, nil
}

func read() (time.Duration, error) {
	var now unix.Timespec
	if err := unix.ClockGettime(bootClock, &now); err != nil {
		return 0, err
	}
	return time.Duration(now.Nano()), nil
}

// Now implements Clock. The kernel does not take back a clock that it has given.
func (systemClock) Now() time.Duration {
	now, err := read()
	if err != nil {
		panic("read the clock: " + err.Error())
	}
	return now
}
