package render

import (
	"io"
	"sync"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Inert wraps an output that the runner of a CI system may read: no line written to it
// contains a command to that runner, even if the line was assembled from several texts.
// The texts were sanitised before; Inert checks whole lines. JSON and YAML are escaped
// by their encoders.
func Inert(w io.Writer) io.Writer { return &inert{to: w} }

// Bare returns the output that Inert wrapped, or w itself.
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
