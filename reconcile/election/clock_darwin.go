package election

import "golang.org/x/sys/unix"

// bootClock: on macOS CLOCK_MONOTONIC runs on while the machine sleeps
// (clock_gettime(3)); CLOCK_UPTIME_RAW, which is Go's, does not.
const bootClock = unix.CLOCK_MONOTONIC
