package owners

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync/atomic"
)

// errBudget fails a request beyond the limit.
var errBudget = errors.New("request limit reached")

// meter counts requests and the bytes of their responses, and rejects requests beyond
// its limit. It is safe for concurrent use.
type meter struct {
	limit           int64
	requests, bytes atomic.Int64
}

func (m *meter) wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		if n := m.requests.Add(1); m.limit > 0 && n > m.limit {
			m.requests.Add(-1)
			if req.Body != nil {
				_ = req.Body.Close()
			}
			return nil, fmt.Errorf("%w: %d requests sent", errBudget, m.limit)
		}
		resp, err := next.RoundTrip(req)
		if resp != nil && resp.Body != nil {
			resp.Body = countedBody{resp.Body, &m.bytes}
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

type countedBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b countedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}
