package connect

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	utilnet "k8s.io/apimachinery/pkg/util/net"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// While an API server accepts no connections, a reflector's request is retried after
// firstAttempt, with exponential backoff up to longestAttempt.
const (
	firstAttempt   = 100 * time.Millisecond
	longestAttempt = 5 * time.Second
)

// absence is a time without an API server, for all watches of a client.
type absence struct {
	mu    sync.Mutex
	since time.Time // zero while it is reachable
}

// reach sends a reflector's request, and retries it while the connection is refused.
// Without that the reflector itself backs off, as client-go v0.37.1 does
// (tools/cache/reflector.go): after a minute without an API server it retries only
// after 30 to 60 s, and again as long after the error that its resourceVersion has
// expired, which a restarted kube-apiserver returns. Informers have no option for it.
func (t *watchTripper) reach(r *http.Request) (*http.Response, error) {
	for pause := firstAttempt; ; pause = min(2*pause, longestAttempt) {
		answer, err := t.next.RoundTrip(r)
		switch {
		case err == nil:
			t.present()
			return answer, nil
		case r.Context().Err() != nil || !utilnet.IsConnectionRefused(err) && !utilnet.IsConnectionReset(err):
			return nil, err
		}
		t.absent(err)
		if sleep(r.Context(), pause+rand.N(pause/4+1)) != nil {
			return nil, err
		}
	}
}

// absent records that connections are refused.
func (w *Watches) absent(err error) {
	w.absence.mu.Lock()
	first := w.absence.since.IsZero()
	if first {
		w.absence.since = time.Now()
	}
	w.absence.mu.Unlock()
	if first && w.recorder != nil {
		w.recorder.Record(state.Note{Source: "watch", Warning: true, Text: fmt.Sprintf(
			"the API server is unreachable (%v): retrying with backoff up to %s; caches may be stale", err, longestAttempt)})
	}
}

// present records that the API server is reachable.
func (w *Watches) present() {
	w.absence.mu.Lock()
	since := w.absence.since
	w.absence.since = time.Time{}
	w.absence.mu.Unlock()
	if !since.IsZero() && w.recorder != nil {
		w.recorder.Record(state.Note{Source: "watch", Text: fmt.Sprintf("the API server is reachable again after %s", state.Short(time.Since(since)))})
	}
}
