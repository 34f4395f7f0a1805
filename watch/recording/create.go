package recording

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// ErrExists is returned if the file exists and replacing it was not requested.
var ErrExists = errors.New("file exists")

// create creates a file that only this user can read. An existing file is left
// unchanged; with replace, a new file takes its name, so that whoever has the old one
// open or linked keeps it. Files that are not regular are never replaced.
func create(path string, replace bool) (*os.File, error) {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	switch info, statErr := os.Lstat(path); {
	case errors.Is(err, fs.ErrExist) && statErr == nil && info.IsDir():
		return nil, fmt.Errorf("record to %s: is a directory: specify a file", path)
	case errors.Is(err, fs.ErrExist) && replace:
		return exchange(path)
	case errors.Is(err, fs.ErrExist):
		return nil, fmt.Errorf("record to %s: %w", path, ErrExists)
	case err != nil:
		return nil, fmt.Errorf("record: %w", err)
	}
	if err := file.Chmod(0o600); err != nil { // the umask may have taken even that
		return nil, fmt.Errorf("record: %w", errors.Join(err, file.Close()))
	}
	return file, nil
}

func exchange(path string) (*os.File, error) {
	info, err := os.Lstat(path)
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	if !info.Mode().IsRegular() {
		return nil, fmt.Errorf("record to %s: not a regular file (%v)", path, info.Mode().Type())
	}
	file, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+".*")
	if err != nil {
		return nil, fmt.Errorf("record: %w", err)
	}
	err = file.Chmod(0o600)
	if err == nil {
		err = os.Rename(file.Name(), path)
	}
	if err != nil {
		return nil, fmt.Errorf("record: %w", errors.Join(err, file.Close(), os.Remove(file.Name())))
	}
	return file, nil
}

// compressed reports, by a file's name, whether to compress it.
func compressed(path string) bool { return !strings.HasSuffix(path, ".jsonl") }
