// Package why plays the scripts of why.
package why

import (
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/scripttest"
)

func TestMain(m *testing.M) { scripttest.Main(m) }

func TestScripts(t *testing.T) { scripttest.Run(t) }
