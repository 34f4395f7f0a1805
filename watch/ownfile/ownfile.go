// Package ownfile makes files that only their user can read, and files that take no more
// than a number of bytes.
package ownfile

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

// Create makes a file that only this user can read. An ordinary file that is
// there already is emptied if that was said, and kept otherwise, and a symbolic link to
// one is not followed; anything else, such as a pipe or /dev/null, is written to.
func Create(path string, replace bool) (*os.File, error) {
	const write = os.O_CREATE | os.O_WRONLY | syscall.O_NOFOLLOW
	file, err := os.OpenFile(path, write|os.O_EXCL, 0o600)
	if errors.Is(err, fs.ErrExist) {
		info, problem := os.Stat(path)
		if problem == nil && !info.Mode().IsRegular() {
			return os.OpenFile(path, os.O_WRONLY, 0)
		}
		if itself, err := os.Lstat(path); err == nil && itself.Mode()&fs.ModeSymlink != 0 {
			return nil, fmt.Errorf("%s: a symbolic link: name the file itself", path)
		}
		switch {
		case problem != nil:
			return nil, problem
		case !replace:
			return nil, fmt.Errorf("%s: file exists: --force replaces it", path)
		}
		file, err = os.OpenFile(path, write|os.O_TRUNC, 0o600)
	}
	if err != nil {
		return nil, err
	}
	if err := file.Chmod(0o600); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}
