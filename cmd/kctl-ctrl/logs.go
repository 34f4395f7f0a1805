package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	"k8s.io/klog/v2/textlogger"
)

// maxLogSize is where a log file is begun anew, in bytes.
const maxLogSize = 16 << 20

// stateDir is where the program keeps what is neither configuration nor cache:
// XDG's state directory, or the place macOS has for it.
func stateDir() (string, error) {
	if dir := os.Getenv("XDG_STATE_HOME"); filepath.IsAbs(dir) {
		return filepath.Join(dir, "kctl-ctrl"), nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("find the directory for logs: %w", err)
	}
	if runtime.GOOS == "darwin" {
		return filepath.Join(home, "Library", "Logs", "kctl-ctrl"), nil
	}
	return filepath.Join(home, ".local", "state", "kctl-ctrl"), nil
}

// openLog opens the log for appending: private to the user, whatever the umask.
// Where no file can be written, logs are dropped and the reason is returned.
func openLog(path string) (io.WriteCloser, string, error) {
	if path == "" {
		dir, err := stateDir()
		if err != nil {
			return discard{}, "", err
		}
		path = filepath.Join(dir, "kctl-ctrl.log")
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return discard{}, "", fmt.Errorf("make the directory for logs: %w", err)
	}
	flags := os.O_CREATE | os.O_WRONLY | os.O_APPEND
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && info.Size() > maxLogSize {
		flags |= os.O_TRUNC
	}
	file, err := os.OpenFile(path, flags, 0o600)
	if err != nil {
		return discard{}, "", fmt.Errorf("open the log: %w", err)
	}
	return file, path, nil
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) Close() error                { return nil }

// sendKlogTo makes out the only place that upstream's logging reaches, and
// returns the logger at its root. klog is global to the process: call it once.
func sendKlogTo(out io.Writer, verbosity int, wrap func(logr.Logger) logr.Logger) logr.Logger {
	logger := wrap(textlogger.NewLogger(textlogger.NewConfig(
		textlogger.Output(out),
		textlogger.Verbosity(verbosity),
	)))
	klog.SetLoggerWithOptions(logger, klog.ContextualLogger(true))
	return logger
}
