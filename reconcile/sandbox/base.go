package sandbox

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
)

const (
	// maxSocketPath is the shortest limit on the path of a unix socket: 104
	// bytes with the final zero on darwin (108 on linux).
	maxSocketPath = 103
	// minFree is the required free space of a base directory. A small cluster needs 30
	// MB; a container's /dev/shm of 64 MB would fill up.
	minFree = 512 << 20
)

// bases lists the directories that may contain run directories, best first. New run
// directories are created in the first usable one; existing ones are looked for in all,
// because another process of this user may have a different environment.
func bases(getenv func(string) string) []string {
	owned := "kctl-ctrl-" + strconv.Itoa(os.Getuid())
	var list []string
	add := func(dir string) {
		for _, known := range list {
			if known == dir {
				return
			}
		}
		list = append(list, dir)
	}
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		add(filepath.Join(dir, "kctl-ctrl"))
	}
	if runtime.GOOS == "linux" {
		add(filepath.Join("/run/user", strconv.Itoa(os.Getuid()), "kctl-ctrl"))
		add(filepath.Join("/dev/shm", owned))
	}
	add(filepath.Join(os.TempDir(), owned))
	add(filepath.Join("/tmp", owned))
	return list
}

// openBase returns the first usable base directory and creates it if necessary.
func openBase(candidates []string) (string, error) {
	var errs []error
	for _, base := range candidates {
		if err := makeBase(base); err != nil {
			errs = append(errs, err)
			continue
		}
		return base, nil
	}
	return "", fmt.Errorf("find a directory for the sandbox: %w", errors.Join(errs...))
}

func makeBase(base string) error {
	if len(filepath.Join(base, runDirPrefix+"12345678", "etcd.sock")) > maxSocketPath {
		return fmt.Errorf("%s: path too long for a unix socket", base)
	}
	parent := filepath.Dir(base)
	if err := checkParent(parent); err != nil {
		return err
	}
	if free, err := freeBytes(parent); err != nil {
		return fmt.Errorf("%s: free space: %w", parent, err)
	} else if free < minFree {
		return fmt.Errorf("%s: %d MB free, %d MB required", parent, free>>20, uint64(minFree)>>20)
	}
	if err := os.Mkdir(base, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkBase(base)
}

// checkParent rejects a directory in which another user could replace ours: it must be
// owned by this user or root, and be writable by its owner only or have the sticky bit.
func checkParent(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a directory", dir)
	}
	if uid, ok := owner(info); !ok || (uid != 0 && uid != os.Getuid()) {
		return fmt.Errorf("%s: owned by another user (uid %d)", dir, uid)
	}
	if info.Mode().Perm()&0o022 != 0 && info.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%s: writable by other users (mode %v)", dir, info.Mode())
	}
	return nil
}

// checkBase rejects a base directory that is a symbolic link, owned by another user or
// accessible by others.
func checkBase(base string) error {
	info, err := os.Lstat(base)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a directory (mode %v)", base, info.Mode())
	}
	if uid, ok := owner(info); !ok || uid != os.Getuid() {
		return fmt.Errorf("%s: owned by another user (uid %d)", base, uid)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: accessible by other users (mode %v): use mode 0700", base, info.Mode())
	}
	return nil
}
