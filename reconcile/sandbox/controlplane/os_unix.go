//go:build unix

package controlplane

import (
	"syscall"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

// seclude makes every file that this process will write private and keeps the
// lock of the run directory from processes that it might start.
func seclude() {
	syscall.Umask(0o077)
	syscall.CloseOnExec(wire.LockFD)
}
