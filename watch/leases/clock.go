package leases

import (
	"net/http"
	"sync"
	"time"
)

// tolerated is the difference between two clocks that is ignored: the Date header has a
// resolution of one second, and responses take time.
const tolerated = 3 * time.Second

// Clock tells the time of the API server, derived from its responses: leases are
// compared with that, so that a wrong local clock does not make every lease look
// expired. It is safe for concurrent use.
type Clock struct {
	now func() time.Time

	mu     sync.Mutex
	offset time.Duration
	seen   bool
}

// NewClock returns a Clock based on a local one.
func NewClock(now func() time.Time) *Clock { return &Clock{now: now} }

// Wrap is for rest.Config.Wrap: it reads the Date of each response.
func (c *Clock) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(req *http.Request) (*http.Response, error) {
		resp, err := next.RoundTrip(req)
		if err == nil {
			c.see(resp.Header.Get("Date"))
		}
		return resp, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(req *http.Request) (*http.Response, error) { return f(req) }

func (c *Clock) see(date string) {
	server, err := http.ParseTime(date)
	if err != nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.offset, c.seen = server.Sub(c.now()), true
}

// Now is the time.
func (c *Clock) Now() time.Time { return c.now().Add(c.Offset()) }

// Offset is how far the server's clock is ahead of the local one, or behind it if
// negative; zero if the difference is small or unknown.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.seen || c.offset.Abs() <= tolerated {
		return 0
	}
	return c.offset.Truncate(time.Second)
}
