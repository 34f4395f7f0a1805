package sandbox

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/pem"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/sandbox/internal/wire"
)

const (
	runDirPrefix = "run-"
	// privateDirPrefix is the name prefix of a PrivateDir.
	privateDirPrefix = "private-"
	// baseLockFile is locked while a run directory is created and during a sweep, so
	// that a sweep never sees a directory without its lock.
	baseLockFile = ".lock"
)

// runDir is a run directory whose lock this process holds.
type runDir struct {
	path string
	lock *os.File
}

// newRunDir creates and locks a run directory below base and removes leftovers there
// and below the other candidates.
func newRunDir(base string, candidates []string) (*runDir, error) {
	return newDir(base, candidates, runDirPrefix)
}

func newDir(base string, candidates []string, prefix string) (*runDir, error) {
	unlock, err := lockBase(base)
	if err != nil {
		return nil, err
	}
	defer unlock()
	sweep(base)
	for _, other := range candidates {
		if other == base || checkBase(other) != nil {
			continue
		}
		if unlockOther, err := lockBase(other); err == nil {
			sweep(other)
			unlockOther()
		}
	}

	path := filepath.Join(base, prefix+strings.ToLower(rand.Text()[:8]))
	if err := os.Mkdir(path, 0o700); err != nil {
		return nil, fmt.Errorf("create run directory: %w", err)
	}
	d := &runDir{path: path}
	if d.lock, err = createPrivate(d.file(wire.LockFile)); err == nil {
		if _, err = d.lock.WriteString(wire.Marker); err == nil {
			err = flock(d.lock)
		}
	}
	if err != nil {
		err = fmt.Errorf("lock run directory: %w", err)
		if d.lock != nil {
			err = errors.Join(err, d.lock.Close())
		}
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return d, nil
}

func (d *runDir) file(name string) string { return filepath.Join(d.path, name) }

// write creates a file of mode 0600. It never overwrites one.
func (d *runDir) write(name string, content []byte) error {
	f, err := createPrivate(d.file(name))
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Close())
}

// remove removes the directory and releases the lock.
func (d *runDir) remove() error {
	return errors.Join(wire.RemoveRunDir(d.path), d.lock.Close())
}

// createPrivate creates a file with mode 0600 regardless of the umask.
func createPrivate(path string) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE|os.O_EXCL|os.O_APPEND, 0o600)
	if err != nil {
		return nil, err
	}
	if err := f.Chmod(0o600); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return f, nil
}

func lockBase(base string) (unlock func(), err error) {
	f, err := openNoFollow(filepath.Join(base, baseLockFile), os.O_RDWR|os.O_CREATE)
	if err != nil {
		return nil, fmt.Errorf("lock %s: %w", base, err)
	}
	if err := flockWait(f); err != nil {
		return nil, errors.Join(fmt.Errorf("lock %s: %w", base, err), f.Close())
	}
	return func() { f.Close() }, nil
}

// sweep removes unlocked run directories below base. It skips what it cannot remove,
// which does not prevent a sandbox from starting. The caller holds the lock of base.
func sweep(base string) {
	for _, path := range slices.Concat(runDirs(base), dirs(base, privateDirPrefix)) {
		if !wire.IsRunDir(path) {
			// The process was killed between creating the directory and its lock, or
			// just before removing it: then it is empty. Others are not ours.
			_ = os.Remove(path)
			continue
		}
		lock, err := openNoFollow(filepath.Join(path, wire.LockFile), os.O_RDWR)
		if err != nil {
			continue
		}
		if flock(lock) == nil {
			_ = wire.RemoveRunDir(path)
		}
		lock.Close()
	}
}

// runDirs lists the directories below base that look like run directories and are owned
// by this user, without symbolic links.
func runDirs(base string) []string { return dirs(base, runDirPrefix) }

func dirs(base, prefix string) []string {
	entries, err := os.ReadDir(base)
	if err != nil {
		return nil
	}
	var paths []string
	for _, e := range entries {
		if !e.Type().IsDir() || !strings.HasPrefix(e.Name(), prefix) {
			continue
		}
		info, err := e.Info()
		if err != nil {
			continue
		}
		if uid, ok := owner(info); ok && uid == os.Getuid() {
			paths = append(paths, filepath.Join(base, e.Name()))
		}
	}
	return paths
}

// PrivateDir is a directory, mode 0700, for the files of a run that is not a sandbox.
// It is next to run directories and swept like them after its process was killed, when
// the next directory is created. Recognise and RunDirs ignore it.
type PrivateDir struct{ dir *runDir }

// NewPrivateDir creates one and removes leftovers.
func NewPrivateDir() (*PrivateDir, error) {
	candidates := bases(os.Getenv)
	base, err := openBase(candidates)
	if err != nil {
		return nil, err
	}
	dir, err := newDir(base, candidates, privateDirPrefix)
	if err != nil {
		return nil, err
	}
	return &PrivateDir{dir}, nil
}

// Write creates a file of mode 0600 and returns its path. It never overwrites one.
func (d *PrivateDir) Write(name string, content []byte) (string, error) {
	if err := d.dir.write(name, content); err != nil {
		return "", fmt.Errorf("write %s: %w", d.dir.file(name), err)
	}
	return d.dir.file(name), nil
}

// Remove removes the directory and its contents.
func (d *PrivateDir) Remove() error { return d.dir.remove() }

// Recognise reports whether caPEM is the certificate authority of a running sandbox of
// this user, in this process or another. A client that trusts only caPEM then connects
// to that sandbox or fails: the authority signed one certificate and its key was
// discarded.
//
// caPEM must contain exactly one certificate; with a second one a client would trust a
// second server.
//
// The result does not apply to a client that does not verify the server, or that uses a
// proxy which it trusts by other means; callers reject those.
func Recognise(caPEM []byte) bool {
	return recognise(caPEM, bases(os.Getenv))
}

func recognise(caPEM []byte, candidates []string) bool {
	want, ok := fingerprint(caPEM)
	if !ok {
		return false
	}
	for _, base := range candidates {
		if checkParent(filepath.Dir(base)) != nil || checkBase(base) != nil {
			continue
		}
		for _, path := range runDirs(base) {
			content, err := os.ReadFile(filepath.Join(path, wire.ServerCAFile))
			if err != nil {
				continue
			}
			if got, ok := fingerprint(content); ok && got == want && wire.IsRunDir(path) && held(path) {
				return true
			}
		}
	}
	return false
}

// RunDir is a run directory of this user.
type RunDir struct {
	Path string
	// Running: a process holds its lock. Otherwise it is a leftover, which the start of
	// the next sandbox removes.
	Running bool
}

// RunDirs lists the directories that may contain run directories, best first, and the
// existing run directories. It changes nothing.
func RunDirs() (places []string, found []RunDir) {
	places = bases(os.Getenv)
	for _, base := range places {
		if checkParent(filepath.Dir(base)) != nil || checkBase(base) != nil {
			continue
		}
		for _, path := range runDirs(base) {
			if wire.IsRunDir(path) {
				found = append(found, RunDir{Path: path, Running: held(path)})
			}
		}
	}
	return places, found
}

// held reports whether a process holds the lock of a run directory.
func held(path string) bool {
	lock, err := openNoFollow(filepath.Join(path, wire.LockFile), os.O_RDWR)
	if err != nil {
		return false
	}
	defer lock.Close()
	return errors.Is(flock(lock), errLocked)
}

// fingerprint is the SHA-256 of the one certificate in a PEM text.
func fingerprint(text []byte) ([sha256.Size]byte, bool) {
	block, rest := pem.Decode(text)
	if block == nil || block.Type != "CERTIFICATE" || len(bytes.TrimSpace(rest)) != 0 {
		return [sha256.Size]byte{}, false
	}
	return sha256.Sum256(block.Bytes), true
}

// errLocked means that another process holds a lock.
var errLocked = errors.New("locked")
