package render

import (
	"io"
	"sync"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Inert wraps an output that the runner of a CI system may read: what is written to
// it line by line holds no command to one, even where a line was put together from
// several texts. Text is sanitised before; here the whole of a line is seen. JSON and
// YAML have escapes of their own, with which nothing is left to do here.
func Inert(w io.Writer) io.Writer { return &inert{to: w} }

// Bare gives the output that Inert wrapped, or w itself.
func Bare(w io.Writer) io.Writer {
	if wrapped, ok := w.(*inert); ok {
		return wrapped.to
	}
	return w
}

type inert struct {
	to io.Writer

	mu      sync.Mutex
	breaker state.CommandBreaker
}

// Write implements io.Writer.
func (i *inert) Write(p []byte) (int, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	out := i.breaker.Append(make([]byte, 0, len(p)+8), string(p))
	n, err := i.to.Write(out)
	return min(n, len(p)), err
}
