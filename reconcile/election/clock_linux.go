package election

import "golang.org/x/sys/unix"

// bootClock: CLOCK_MONOTONIC, which is Go's, stands still during suspend.
const bootClock = unix.CLOCK_BOOTTIME
