//go:build !unix

package sandbox

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
)

// A sandbox needs locks that are inherited, sessions and unix file modes. Start
// fails on other systems because no base directory is ever usable.

func owner(fs.FileInfo) (int, bool)              { return -1, false }
func flock(*os.File) error                       { return errors.ErrUnsupported }
func flockWait(*os.File) error                   { return errors.ErrUnsupported }
func openNoFollow(string, int) (*os.File, error) { return nil, errors.ErrUnsupported }
func freeBytes(string) (uint64, error)           { return 0, errors.ErrUnsupported }
func checkOpenFiles() error                      { return nil }
func ownSession() *syscall.SysProcAttr           { return nil }
