// Package run plays the scripts of the commands that run controllers, or a command of the user's: run,
// record, replay, sandbox and exec.
package run

import (
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/scripttest"
)

func TestMain(m *testing.M) { scripttest.Main(m) }

func TestScripts(t *testing.T) { scripttest.Run(t) }
