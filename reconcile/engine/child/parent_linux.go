package child

import "syscall"

// dieWithParent has the kernel kill a process when the thread that made it ends.
func dieWithParent() *syscall.SysProcAttr { return &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL} }
