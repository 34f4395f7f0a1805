package wire

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// Marker is the content of a run directory's lock file. A directory without it
// was not made by this program and is never removed.
const Marker = "kctl-ctrl sandbox run directory\n"

// removeAttempts bounds the passes over a directory in which another process
// may still create files.
const removeAttempts = 100

// IsRunDir reports whether dir is itself a directory (not a link to one) that
// carries the Marker.
func IsRunDir(dir string) bool {
	info, err := os.Lstat(dir)
	if err != nil || !info.IsDir() {
		return false
	}
	lock := filepath.Join(dir, LockFile)
	info, err = os.Lstat(lock)
	if err != nil || !info.Mode().IsRegular() {
		return false
	}
	f, err := os.Open(lock)
	if err != nil {
		return false
	}
	defer f.Close()
	content, err := io.ReadAll(io.LimitReader(f, int64(len(Marker))+1))
	return err == nil && string(content) == Marker
}

// RemoveRunDir removes a run directory, the lock file last: a removal that is
// cut short leaves a directory that a later one still recognises. It follows no
// symbolic link. The kubeconfig that was written elsewhere goes first, see Export. A
// directory that is already gone is no error; one that is not
// a run directory is.
func RemoveRunDir(dir string) error {
	if _, err := os.Lstat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if !IsRunDir(dir) {
		return fmt.Errorf("remove %s: not a sandbox run directory", dir)
	}
	removeExported(dir)
	var err error
	for range removeAttempts {
		if err = removeOnce(dir); err == nil {
			return nil
		}
	}
	return fmt.Errorf("remove run directory: %w", err)
}

func removeOnce(dir string) error {
	entries, err := os.ReadDir(dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for _, e := range entries {
		if e.Name() == LockFile {
			continue
		}
		if err := os.RemoveAll(filepath.Join(dir, e.Name())); err != nil {
			return err
		}
	}
	lock := filepath.Join(dir, LockFile)
	if err := os.Remove(lock); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := os.Remove(dir); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}
