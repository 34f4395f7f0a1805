//go:build !unix

package child

import (
	"os"
	"syscall"
)

// There are no groups to signal: only the command itself is ended.

func inOwnGroup(attributes *syscall.SysProcAttr) *syscall.SysProcAttr { return attributes }

func signalGroup(pid int, s os.Signal) {
	if p, err := os.FindProcess(pid); err == nil {
		_ = p.Signal(s)
	}
}

func groupIsThere(int) bool { return false }
