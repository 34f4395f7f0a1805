package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os/exec"
	"strconv"
)

// exitStatus is the exit code behind a command's error, as text.
func exitStatus(err error) string {
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		return strconv.Itoa(exit.ExitCode())
	}
	return err.Error()
}

func permissions(info fs.FileInfo) string { return fmt.Sprintf("%04o", info.Mode().Perm()) }
