package engine

import (
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// maxLogSize is where a log file is begun anew, in bytes.
const maxLogSize = 16 << 20

// LogName is the log's, in Log.Dir.
const LogName = "kctl-ctrl.log"

// maxLogVerbosity keeps klog below the level at which client-go v0.37.1 logs the
// bodies of requests and answers (transport/round_trippers.go, rest/request.go):
// Secrets would be among them.
const maxLogVerbosity = 7

// openLog opens the log for appending: readable by the user alone, whatever the
// umask and whatever mode it had, and never through a symbolic link. What is in a
// file that the user has named stays in it. Where it cannot be written, the reason is
// returned and the writer drops everything.
func openLog(l Log) (io.WriteCloser, error) {
	path, named := l.File, l.File != ""
	switch {
	case named:
	case l.Dir == "":
		return dropped{}, nil
	default:
		if err := os.MkdirAll(l.Dir, 0o700); err != nil {
			return dropped{}, fmt.Errorf("make the directory for logs: %w", err)
		}
		path = filepath.Join(l.Dir, LogName)
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND|syscall.O_NOFOLLOW, 0o600)
	if err != nil {
		return dropped{}, fmt.Errorf("open the log: %w", err)
	}
	info, err := file.Stat()
	if err == nil && !info.Mode().IsRegular() {
		return file, nil
	}
	if err == nil {
		err = file.Chmod(0o600)
	}
	if err != nil {
		return dropped{}, errors.Join(fmt.Errorf("open the log: %w", err), file.Close())
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

// dropped is where what is logged goes that no file takes.
type dropped struct{}

func (dropped) Write(p []byte) (int, error) { return len(p), nil }
func (dropped) Close() error                { return nil }

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
