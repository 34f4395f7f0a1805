package election

import "golang.org/x/sys/unix"

// bootClock: CLOCK_MONOTONIC, which Go uses, stops during suspend.
const bootClock = unix.CLOCK_BOOTTIME
