package election

import "golang.org/x/sys/unix"

// bootClock: on macOS CLOCK_MONOTONIC counts while the machine is suspended
// (clock_gettime(3)); CLOCK_UPTIME_RAW, which Go uses, does not.
const bootClock = unix.CLOCK_MONOTONIC
