package about

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
)

// LogName is the log's, in the state directory.
const LogName = "kctl-ctrl.log"

// StateDir is where the program keeps what is neither configuration nor cache:
// XDG's state directory, or the place macOS has for it.
func StateDir() (string, error) {
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

// RecordingsDir is where recordings go that were given no name.
func RecordingsDir() (string, error) {
	dir, err := StateDir()
	if err != nil {
		return "", err
	}
	return filepath.Join(dir, "recordings"), nil
}
