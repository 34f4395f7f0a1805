package tui

import (
	"strings"
	"testing"
	"time"
)

// brokenServer is a connection on which watches fail.
type brokenServer struct{ failing []string }

func (brokenServer) Lost() (time.Time, string) { return time.Time{}, "" }
func (c brokenServer) Failing() []string       { return c.failing }

func TestFailingWatchesAreAnAlarm(t *testing.T) {
	m := newModel(t.Context(), Options{Connection: brokenServer{}})
	m.settle()
	if text := m.alarm(); text != "" {
		t.Errorf("an alarm without a reason: %q", text)
	}
	m = newModel(t.Context(), Options{Connection: brokenServer{failing: []string{"nodes (410 Gone)", "pods (410 Gone)"}}})
	m.settle()
	if text := m.alarm(); !strings.Contains(text, "STALE: nodes (410 Gone) and 1 more") {
		t.Errorf("the alarm is %q", text)
	}
}
