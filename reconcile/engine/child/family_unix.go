//go:build unix

package child

import (
	"os"
	"syscall"
)

// inOwnGroup has a process begin a group.
func inOwnGroup(attributes *syscall.SysProcAttr) *syscall.SysProcAttr {
	if attributes == nil {
		attributes = &syscall.SysProcAttr{}
	}
	attributes.Setpgid = true
	return attributes
}

func signalGroup(group int, s os.Signal) {
	if number, ok := s.(syscall.Signal); ok {
		_ = syscall.Kill(-group, number)
	}
}

func groupIsThere(group int) bool { return syscall.Kill(-group, 0) == nil }
