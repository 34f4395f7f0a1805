//go:build !linux

package child

import "syscall"

// dieWithParent does nothing: a command that outlives this process finds its
// proxy gone.
func dieWithParent() *syscall.SysProcAttr { return nil }
