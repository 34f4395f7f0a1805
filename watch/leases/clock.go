package leases

import (
	"net/http"
	"sync"
	"time"
)

// tolerated is the difference between two clocks that is not worth a word: the
// Date header has whole seconds, and an answer takes time.
const tolerated = 3 * time.Second

// Clock tells the time by the API server's clock, as far as its answers showed
// it: leases are judged by that, so that a laptop whose clock is wrong does not
// call every lease expired. It may be used by any number of goroutines.
type Clock struct {
	now func() time.Time

	mu     sync.Mutex
	offset time.Duration
	seen   bool
}

// NewClock makes a Clock that counts from a local one.
func NewClock(now func() time.Time) *Clock { return &Clock{now: now} }

// Wrap is for rest.Config.Wrap: it reads the Date of each answer.
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

// Offset is how far the server's clock is before the local one, or behind it if
// negative; zero where the difference is small or nothing is known yet.
func (c *Clock) Offset() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.seen || c.offset.Abs() <= tolerated {
		return 0
	}
	return c.offset.Truncate(time.Second)
}
