package state

import (
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

// The tests of watch/state/causality tell their stories as those of Fold do. They lie
// here, outside of the package: causality imports it.

// NewTestStory is a story without a line.
func NewTestStory() *story {
	return &story{snapshot: NewSnapshot(Limits{}), at: time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC), controller: "deployment"}
}

// Run is run.
func (s *story) Run(t *testing.T, d *datadriven.TestData) string { return s.run(t, d) }

// Snapshot is what the lines so far add up to.
func (s *story) Snapshot() *Snapshot { return s.snapshot }

var (
	ParseTestRef   = parseRef
	GenTestEntries = genEntries
)
