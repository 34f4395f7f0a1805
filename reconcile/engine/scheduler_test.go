package engine

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// A key that is ready while workers are idle fails the health check of its controller
// alone.
func TestStalledQueueFailsHealth(t *testing.T) {
	snap := state.Fold(state.NewSnapshot(state.Limits{}),
		state.Entry{Seq: 1, At: time.Now(), Event: state.ControllerChanged{Controller: "deployment-controller", Status: state.ControllerRunning, Queues: []string{"deployment"}, Workers: 5}},
		state.Entry{Seq: 2, At: time.Now(), Event: state.QueueStalled{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Since: time.Now(), Ready: 1, Idle: 5}},
	)
	well := func(*http.Request) error { return nil }
	checks := withStalls(map[string]func(*http.Request) error{"deployment-controller": well, "job-controller": well}, func() *state.Snapshot { return snap })
	if err := checks["deployment-controller"](nil); err == nil || !strings.Contains(err.Error(), "queue deployment: stalled") {
		t.Errorf("health of the stalled controller: %v", err)
	}
	if err := checks["job-controller"](nil); err != nil {
		t.Errorf("health of the other: %v", err)
	}
}
