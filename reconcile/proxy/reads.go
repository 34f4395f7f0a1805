package proxy

import (
	"net/url"
	"strings"
	"sync"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// maxReadKinds bounds the kinds of reads that are counted separately. Beyond it,
	// reads of further types and namespaces are counted together.
	maxReadKinds = 1024
	anyType      = "*"
	// maxReadMessage bounds an error's text, in bytes.
	maxReadMessage = 512
)

// readKind is equal for reads that are counted together.
type readKind struct {
	client, verb string
	object       state.Ref
	initial      bool
	status       int
}

type readCount struct{ total, recorded uint64 }

// reads aggregates requests into few state.ClientRead events; see there.
type reads struct {
	recorder state.Recorder

	mu    sync.Mutex
	kinds map[readKind]*readCount
}

// kindOf is the kind of a request that is not a write; ok is false for one that the
// guard rejects and records itself.
func kindOf(client string, r request.Request, query url.Values) (kind readKind, ok bool) {
	kind = readKind{client: client, verb: r.Verb, object: r.Object}
	kind.object.Name = ""
	switch {
	case r.Kind == request.KindReview:
		kind.verb = "review"
	case r.Kind != request.KindRead:
		return readKind{}, false
	case r.Object.Resource == "":
		kind.verb = "get"
	case isSet(query, "watch"):
		kind.verb = "watch"
	}
	kind.initial = kind.verb == "watch" && isSet(query, "sendInitialEvents")
	return kind, true
}

// isSet parses a query parameter as the API server does (k8s.io/apimachinery v0.37.1
// pkg/runtime/conversion.go).
func isSet(query url.Values, name string) bool {
	values, given := query[name]
	return given && len(values) > 0 && values[0] != "0" && !strings.EqualFold(values[0], "false")
}

// count counts a request; a status of zero means that it got no response.
func (r *reads) count(kind readKind, status int, message string) {
	kind.status = status
	r.mu.Lock()
	count := r.kinds[kind]
	if count == nil && len(r.kinds) >= maxReadKinds {
		kind.object, kind.initial = state.Ref{Resource: anyType}, false
		count = r.kinds[kind]
	}
	if count == nil {
		count = &readCount{}
		r.kinds[kind] = count
	}
	count.total++
	var event state.Event
	if isPowerOfTen(count.total) {
		event = count.record(kind, message)
	}
	r.mu.Unlock()
	if event != nil {
		r.recorder.Record(event)
	}
}

// record returns the event of what was not recorded yet.
func (c *readCount) record(kind readKind, message string) state.ClientRead {
	fresh := c.total - c.recorded
	c.recorded = c.total
	if len(message) > maxReadMessage {
		message = strings.ToValidUTF8(message[:maxReadMessage], "") + "…"
	}
	return state.ClientRead{
		Client: kind.client, Verb: kind.verb, Object: kind.object, InitialEvents: kind.initial,
		Status: kind.status, Message: message, Count: fresh,
	}
}

// rest records what was counted and not recorded.
func (r *reads) rest() {
	r.mu.Lock()
	var events []state.Event
	for kind, count := range r.kinds {
		if count.total > count.recorded {
			left := count.record(kind, "")
			left.AtEnd = true
			events = append(events, left)
		}
	}
	r.mu.Unlock()
	for _, e := range events {
		r.recorder.Record(e)
	}
}

func isPowerOfTen(n uint64) bool {
	for n >= 10 && n%10 == 0 {
		n /= 10
	}
	return n == 1
}
