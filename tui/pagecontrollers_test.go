package tui

import "testing"

func TestControllersPage(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	s.golden("controllers-80x24")
	s.press("j", "j", "enter").golden("controllers-detail-80x24")
	wide := newScreen(t, shopOptions(snap), snap, 200, 60)
	wide.golden("controllers-200x60")
}
