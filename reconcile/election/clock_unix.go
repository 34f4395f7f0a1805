//go:build linux || darwin

package election

import (
	"fmt"
	"time"

	"golang.org/x/sys/unix"
)

type systemClock struct{}

// SystemClock is this machine's clock that counts during suspend.
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

// Now implements Clock. A clock that could be read once can always be read.
func (systemClock) Now() time.Duration {
	now, err := read()
	if err != nil {
		panic("read the clock: " + err.Error())
	}
	return now
}
