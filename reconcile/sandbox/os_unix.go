//go:build unix

package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// owner returns the user id that a file belongs to.
func owner(info fs.FileInfo) (int, bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return -1, false
	}
	return int(stat.Uid), true
}

// flock takes the exclusive lock of f or fails with errLocked. The lock belongs
// to the open file description: processes that inherit f share it.
func flock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}

// flockWait takes the exclusive lock of f, waiting for whoever holds it.
func flockWait(f *os.File) error {
	for {
		err := unix.Flock(int(f.Fd()), unix.LOCK_EX)
		if !errors.Is(err, unix.EINTR) {
			return err
		}
	}
}

// openNoFollow opens a file, mode 0600 if it is created, unless it is a symbolic
// link.
func openNoFollow(path string, flag int) (*os.File, error) {
	return os.OpenFile(path, flag|unix.O_NOFOLLOW, 0o600)
}

func freeBytes(dir string) (uint64, error) {
	var stat unix.Statfs_t
	if err := unix.Statfs(dir, &stat); err != nil {
		return 0, err
	}
	return uint64(stat.Bavail) * uint64(stat.Bsize), nil
}

// minOpenFiles is how many files a process of a sandbox must be able to open: idle,
// etcd and kube-apiserver have about 160 open.
const minOpenFiles = 256

// checkOpenFiles returns an error if the limit on open files is too low to start a
// sandbox, in which case etcd and the Go runtime would end in stack traces. Go has
// raised the soft limit to the hard limit already.
func checkOpenFiles() error {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur >= minOpenFiles {
		return nil
	}
	return fmt.Errorf("open file limit %d is too low (at least %d required): raise it with 'ulimit -n 1024'", limit.Cur, minOpenFiles)
}

// ownSession starts the child in its own session: signals that a terminal sends to its
// foreground process group do not reach it.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
