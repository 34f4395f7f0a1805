package connect

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// atOnce is the duration below which a watch counts as closed immediately.
	atOnce = time.Second
	// firstBackoff is the pause before the third consecutive watch that was closed
	// immediately; it doubles up to longestBackoff. The second watch is not delayed: an
	// expired resourceVersion is a normal response, after which a reflector watches
	// without one.
	firstBackoff   = time.Second
	longestBackoff = 30 * time.Second
	// alarmAfter is the number of consecutive watches closed immediately after which
	// the journal gets a warning.
	alarmAfter = 3
	// maxStreaks bounds the watches that are tracked; others are not delayed.
	maxStreaks = 4096
)

// Watches tracks reflectors' requests. While the API server accepts no connections, it
// retries them; see reach. It also delays watches that the server repeatedly closes
// immediately: a reflector of client-go v0.37.1 that requests a streaming list
// (tools/cache/reflector.go, watchList) repeats it without a pause as long as the
// response is 410 Gone, thousands of times per second. Each such close is recorded as a
// Gap of the informer, and a series of them as a warning.
type Watches struct {
	recorder state.Recorder
	first    time.Duration
	absence  absence

	mu      sync.Mutex
	streaks map[string]*streak
}

// streak is a series of watches of one client on one path that were closed immediately.
type streak struct {
	ends        int
	typ, reason string
	warned      bool
}

// NewWatches returns a tracker that records what it finds; recorder may be nil.
func NewWatches(recorder state.Recorder) *Watches {
	return &Watches{recorder: recorder, first: firstBackoff, streaks: map[string]*streak{}}
}

// Wrap implements Wrap. Requests that are not watches pass unchanged.
func (w *Watches) Wrap(next http.RoundTripper) http.RoundTripper { return &watchTripper{w, next} }

type watchTripper struct {
	*Watches
	next http.RoundTripper
}

// WrappedRoundTripper returns the wrapped transport to client-go.
func (t *watchTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

// RoundTrip implements http.RoundTripper.
func (t *watchTripper) RoundTrip(r *http.Request) (*http.Response, error) {
	switch {
	case r.Method != http.MethodGet:
		return t.next.RoundTrip(r)
	case !asksToWatch(r.URL):
		if r.URL.Query().Has("resourceVersion") { // a reflector's list, when it relists
			return t.reach(r)
		}
		return t.next.RoundTrip(r)
	}
	key := r.URL.Path + "\n" + r.UserAgent() + "\n" + r.Header.Get("Accept")
	if err := sleep(r.Context(), t.pause(key)); err != nil {
		return nil, err
	}
	began := time.Now()
	answer, err := t.reach(r)
	switch {
	case err != nil:
		return nil, err // the reflector backs off by itself
	case answer.StatusCode == http.StatusGone:
		t.ended(key, typeOfPath(r.URL.Path), "410 Gone")
	case answer.StatusCode == http.StatusOK:
		answer.Body = &watchBody{ReadCloser: answer.Body, watches: t.Watches, key: key, typ: typeOfPath(r.URL.Path), began: began, ctx: r.Context()}
	}
	return answer, nil
}

func asksToWatch(u *url.URL) bool {
	if !strings.Contains(u.RawQuery, "watch=") {
		return false
	}
	watch := u.Query().Get("watch")
	return watch == "true" || watch == "1"
}

// pause is the delay of the next watch of a key.
func (w *Watches) pause(key string) time.Duration {
	w.mu.Lock()
	defer w.mu.Unlock()
	s := w.streaks[key]
	if s == nil || s.ends < 2 {
		return 0
	}
	pause := w.first
	for range s.ends - 2 {
		if pause = min(2*pause, longestBackoff); pause == longestBackoff {
			break
		}
	}
	return pause + rand.N(pause/4+1) // jitter, so that many do not arrive at one moment
}

// ended records a watch that was closed immediately.
func (w *Watches) ended(key, typ, reason string) {
	w.mu.Lock()
	s := w.streaks[key]
	if s == nil {
		if len(w.streaks) >= maxStreaks {
			w.mu.Unlock()
			return
		}
		s = &streak{typ: typ}
		w.streaks[key] = s
	}
	s.ends++
	s.reason = reason
	ends := s.ends
	warn := ends >= alarmAfter && !s.warned
	s.warned = s.warned || warn
	w.mu.Unlock()
	if w.recorder == nil || ends < 2 {
		return
	}
	w.recorder.Record(state.Gap{Informer: typ, Reason: fmt.Sprintf("the API server closed %d consecutive watches immediately: %s", ends, reason)})
	if warn {
		w.recorder.Record(state.Note{Source: "watch", Warning: true, Text: fmt.Sprintf(
			"the API server closes every watch of %s immediately (%s): retrying with backoff up to %s; the cache of this type may be stale", typ, reason, longestBackoff)})
	}
}

// lasted records a watch that stayed open.
func (w *Watches) lasted(key, typ string) {
	w.mu.Lock()
	s := w.streaks[key]
	delete(w.streaks, key)
	w.mu.Unlock()
	if s != nil && s.warned && w.recorder != nil {
		w.recorder.Record(state.Note{Source: "watch", Text: fmt.Sprintf("watches of %s stay open again", typ)})
	}
}

// Failing lists the types whose watches the server closes immediately, each with the
// reason, sorted.
func (w *Watches) Failing() []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	var out []string
	for _, s := range w.streaks {
		if s.warned {
			out = append(out, s.typ+" ("+s.reason+")")
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func sleep(ctx context.Context, pause time.Duration) error {
	if pause <= 0 {
		return nil
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// watchBody observes how a watch ends.
type watchBody struct {
	io.ReadCloser
	watches  *Watches
	key, typ string
	began    time.Time
	ctx      context.Context

	mu    sync.Mutex
	start []byte // the start of the data, to recognise an error
	told  bool
}

// startOfEvent is how much of the first event is needed to recognise its type, and the
// maximum length of its reason.
const startOfEvent = 512

func (b *watchBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.mu.Lock()
	if room := startOfEvent - len(b.start); room > 0 {
		b.start = append(b.start, p[:min(n, room)]...)
	}
	lasts := n > 0 && !b.told && time.Since(b.began) >= atOnce && !refusedAtOnce(b.start)
	b.told = b.told || lasts
	b.mu.Unlock()
	if lasts {
		b.watches.lasted(b.key, b.typ)
	}
	if err != nil {
		b.over()
	}
	return n, err
}

// Close implements io.Closer.
func (b *watchBody) Close() error {
	b.over()
	return b.ReadCloser.Close()
}

// over reports once how the watch has ended.
func (b *watchBody) over() {
	b.mu.Lock()
	told, refused := b.told, refusedAtOnce(b.start)
	b.told = true
	b.mu.Unlock()
	switch {
	case told:
	case refused:
		b.watches.ended(b.key, b.typ, "an ERROR event"+codeOf(b.start))
	case b.ctx.Err() == nil && time.Since(b.began) >= atOnce:
		b.watches.lasted(b.key, b.typ)
	}
	// A watch that its client canceled, or whose connection broke, is no evidence:
	// reflectors back off themselves if a server is unreachable.
}

// refusedAtOnce reports whether a watch starts with an ERROR event, in JSON
// ({"type":"ERROR"…) or protobuf (a frame whose first field is the type).
func refusedAtOnce(start []byte) bool {
	const soon = 64
	head := start[:min(len(start), soon)]
	return bytes.Contains(head, []byte(`"type":"ERROR"`)) || bytes.Contains(head, []byte("\x0a\x05ERROR"))
}

// codeOf returns the code of an ERROR event that reports an expired resourceVersion.
func codeOf(start []byte) string {
	if bytes.Contains(start, []byte("Expired")) || bytes.Contains(start, []byte("Gone")) {
		return ", 410 Expired"
	}
	return ""
}

// typeOfPath is the type in the path of a list, "deployments.apps".
func typeOfPath(path string) string {
	parts := strings.Split(strings.Trim(path, "/"), "/")
	group := ""
	for i, part := range parts {
		// The prefix is the path of a proxy.
		switch {
		case part == "api" && len(parts) > i+2:
			parts = parts[i+2:]
		case part == "apis" && len(parts) > i+3:
			group, parts = parts[i+1], parts[i+3:]
		default:
			continue
		}
		break
	}
	if len(parts) > 2 && parts[0] == "namespaces" {
		parts = parts[2:]
	}
	if len(parts) == 0 {
		return path
	}
	if group != "" {
		return parts[0] + "." + group
	}
	return parts[0]
}
