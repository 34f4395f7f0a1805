package tui

import (
	"testing"
)

func TestLeasesPageOfARecording(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	s.press("7").golden("leases-80x24")
	s.press("n").golden("leases-nodes-80x24")
	wide := newScreen(t, shopOptions(snap), snap, 200, 60)
	wide.press("7").golden("leases-200x60")
}
