// Package read plays the scripts of the commands that read a cluster, which share sandboxes, but for
// why's, and of the program as a whole (root).
package read

import (
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/scripttest"
)

func TestMain(m *testing.M) { scripttest.Main(m) }

func TestScripts(t *testing.T) { scripttest.Run(t) }
