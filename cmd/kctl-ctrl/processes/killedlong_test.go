//go:build kills

package processes

import "testing"

// TestTwentyKills is the long form of TestKilledLeavesNothing.
func TestTwentyKills(t *testing.T) { killAndLook(t, 20) }
