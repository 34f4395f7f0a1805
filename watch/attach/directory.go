package attach

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
)

// maxSocketPath is the shortest limit for the path of a unix socket: 104 bytes
// including the final zero on darwin (108 on linux).
const maxSocketPath = 103

// Directories lists where sockets may be, best first. Processes listen in the first
// usable one and are looked for in all, because another shell of this user may have a
// different environment. If KCTL_CTRL_ATTACH_DIR is set, it is the only one.
func Directories(getenv func(string) string) []string {
	if dir := getenv("KCTL_CTRL_ATTACH_DIR"); filepath.IsAbs(dir) {
		return []string{dir}
	}
	var parents []string
	add := func(elements ...string) {
		if dir := filepath.Join(elements...); !slices.Contains(parents, dir) {
			parents = append(parents, dir)
		}
	}
	user := strconv.Itoa(os.Getuid())
	if dir := getenv("XDG_RUNTIME_DIR"); filepath.IsAbs(dir) {
		add(dir, "kctl-ctrl")
	}
	if runtime.GOOS == "linux" {
		add("/run/user", user, "kctl-ctrl")
	}
	add(os.TempDir(), "kctl-ctrl-"+user)
	add("/tmp", "kctl-ctrl-"+user)
	dirs := make([]string, len(parents))
	for i, p := range parents {
		dirs[i] = filepath.Join(p, "attach")
	}
	return dirs
}

// makeDirectory creates dir and, if necessary, its parent, both accessible by this user
// only.
func makeDirectory(dir string) error {
	parent := filepath.Dir(dir)
	if err := os.Mkdir(parent, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return checkDirectory(dir)
}

// checkDirectory rejects a directory that is a symbolic link, owned by another user or
// accessible by others, and one that another user could replace.
func checkDirectory(dir string) error {
	info, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	if !info.IsDir() {
		return fmt.Errorf("%s: not a directory (mode %v)", dir, info.Mode())
	}
	if !ours(info) {
		return fmt.Errorf("%s: owned by another user", dir)
	}
	if info.Mode().Perm()&0o077 != 0 {
		return fmt.Errorf("%s: accessible by other users (mode %v): use mode 0700", dir, info.Mode())
	}
	above, err := os.Stat(filepath.Dir(dir))
	if err != nil {
		return err
	}
	if !ours(above) && !roots(above) || above.Mode().Perm()&0o022 != 0 && above.Mode()&fs.ModeSticky == 0 {
		return fmt.Errorf("%s: other users can replace its files (mode %v)", filepath.Dir(dir), above.Mode())
	}
	return nil
}
