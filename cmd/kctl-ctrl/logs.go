package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/console"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxLogSize is where a log file is begun anew, in bytes.
const maxLogSize = 16 << 20

// openLog opens the log for appending: readable by the user alone, whatever the
// umask and whatever mode it had, and never through a symbolic link. What is in a
// file that the user has named stays in it. Where it cannot be written, the reason is
// returned and the writer drops everything.
func openLog(path string) (io.WriteCloser, error) {
	named := path != ""
	if !named {
		dir, err := about.StateDir()
		if err != nil {
			return console.Discard{}, err
		}
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return console.Discard{}, fmt.Errorf("make the directory for logs: %w", err)
		}
		path = filepath.Join(dir, about.LogName)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return console.Discard{}, fmt.Errorf("open the log: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return file, nil
	}
	if err == nil {
		err = file.Chmod(0o600)
	}
	if err != nil {
		return console.Discard{}, errors.Join(fmt.Errorf("open the log: %w", err), file.Close())
	}
	bounded := &boundedLog{file: file, most: maxLogSize}
	if named {
		bounded.kept = info.Size()
	}
	return bounded, nil
}

// boundedLog is a log that is begun anew when there is more than most in it, be it by
// one session, which may last for weeks, or by many.
type boundedLog struct {
	most int64
	// kept is what was in the file before, in bytes, and may be anybody's.
	kept int64

	mu   sync.Mutex
	file *os.File
}

// Write implements io.Writer.
func (l *boundedLog) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	// The file is opened for appending, and others may write to it.
	if info, err := l.file.Stat(); err == nil && info.Size()-l.kept > l.most {
		if err := l.file.Truncate(l.kept); err != nil {
			return 0, err
		}
	}
	return l.file.Write(p)
}

// Close implements io.Closer.
func (l *boundedLog) Close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.file.Close()
}

// silenceKlog keeps what client-go logs off standard error: what a user has to
// know is in errors and warnings of ours. It is for the time before a session, and
// for verbs without one. What net/http logs is kept off it too: a server has a say
// in that, and a byte too many on an idle connection is enough.
func silenceKlog() {
	klog.SetLogger(logr.Discard())
	log.SetOutput(io.Discard)
}

// sendKlogTo makes out the only place that upstream's logging reaches, sanitised, and
// returns the logger at its root. klog is global to the process: call it once.
func sendKlogTo(out io.Writer, verbosity int, wrap func(logr.Logger) logr.Logger) logr.Logger {
	out = state.InertLog(out)
	logger := wrap(textlogger.NewLogger(textlogger.NewConfig(
		textlogger.Output(out),
		textlogger.Verbosity(verbosity),
	)))
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
	log.SetOutput(out)
	return logger
}

// openOwn makes a file that only this user can read. An ordinary file that is
// there already is emptied if that was said, and kept otherwise, and a symbolic link to
// one is not followed; anything else, such as a pipe or /dev/null, is written to.
func openOwn(path string, replace bool) (*os.File, error) {
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
			return nil, fmt.Errorf("%s: the file exists: --force replaces it", path)
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

// boundedFile is a file that takes no more than a number of bytes. What does not fit
// is left out as a whole, and so is what comes after it.
type boundedFile struct {
	file *os.File
	most int64
	// what is counted in it, and where that is missing from.
	what, from string
	// bytes: it is no sequence of entries. It is cut at its bound.
	bytes bool

	mu      sync.Mutex
	written int64
	dropped int
}

// Write implements io.Writer.
func (b *boundedFile) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	fits := p
	if left := b.most - b.written; int64(len(p)) > left || b.dropped > 0 {
		if fits = nil; b.bytes {
			fits = p[:max(0, min(left, int64(len(p))))]
		}
	}
	n, err := b.file.Write(fits)
	b.written += int64(n)
	switch {
	case err != nil:
		return n, err
	case b.bytes:
		b.dropped += len(p) - n
	case fits == nil:
		b.dropped++
	}
	return len(p), nil
}

// report says what is missing from the file.
func (b *boundedFile) report(out io.Writer) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.dropped > 0 {
		fmt.Fprintf(out, "warning: %d %s are not in %s: it reached --max-size\n", b.dropped, b.what, b.from)
	}
}

// Close implements io.Closer.
func (b *boundedFile) Close() error { return b.file.Close() }
