package informers

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/rest"
)

// Contact is the reachability of the API server.
type Contact struct {
	// Last is when it was last heard of: any response, including errors, or any data
	// from a watch. It is zero until then.
	Last time.Time
	// Lost is when a request first got no response; zero while it is reachable.
	Lost time.Time
	// Reason is the error of the last attempt.
	Reason string
	// Probes counts the attempts since.
	Probes int
}

const (
	// probeTimeout is how long a probe may take.
	probeTimeout = 3 * time.Second
	// An unreachable server is probed at once, then every probeEvery, and after
	// probeLong every probeSlow.
	probeEvery = 2 * time.Second
	probeLong  = time.Minute
	probeSlow  = 5 * time.Second
	probeFirst = 250 * time.Millisecond
)

// contact monitors one API server.
type contact struct {
	client    rest.Interface
	heartbeat time.Duration // negative is none
	now       func() time.Time

	last atomic.Int64 // nanoseconds of Contact.Last

	mu     sync.Mutex
	lostAt time.Time
	reason string
	probes int
	back   chan struct{} // closed when the server is reachable again; nil while it is
	retry  map[*func()]struct{}
	wake   chan struct{}
}

func newContact(client rest.Interface, heartbeat time.Duration, now func() time.Time) *contact {
	return &contact{client: client, heartbeat: heartbeat, now: now, retry: map[*func()]struct{}{}, wake: make(chan struct{}, 1)}
}

func (c *contact) state() Contact {
	c.mu.Lock()
	defer c.mu.Unlock()
	s := Contact{Lost: c.lostAt, Reason: c.reason, Probes: c.probes}
	if at := c.last.Load(); at != 0 {
		s.Last = time.Unix(0, at)
	}
	return s
}

// heard records a sign of life.
func (c *contact) heard() { c.last.Store(c.now().UnixNano()) }

// lost records a request without a response.
func (c *contact) lost(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.reason = err.Error()
	if c.back != nil {
		return
	}
	c.lostAt, c.probes, c.back = c.now(), 0, make(chan struct{})
	select {
	case c.wake <- struct{}{}:
	default:
	}
}

// found records that the server is ready and wakes waiters.
func (c *contact) found() {
	c.heard()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.back == nil {
		return
	}
	close(c.back)
	c.back, c.lostAt, c.reason = nil, time.Time{}, ""
	for again := range c.retry {
		(*again)()
	}
	clear(c.retry)
}

// wait returns when the server is reachable or ctx is done.
func (c *contact) wait(ctx context.Context) error {
	c.mu.Lock()
	back := c.back
	c.mu.Unlock()
	if back == nil {
		return ctx.Err()
	}
	select {
	case <-back:
		return ctx.Err()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// onFound calls again once, when the server is next reachable after a loss, so that a
// request hanging in a dead connection need not time out. forget returns false if again
// was called.
func (c *contact) onFound(again func()) (forget func() bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.retry[&again] = struct{}{}
	return func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		_, there := c.retry[&again]
		delete(c.retry, &again)
		return there
	}
}

// run probes the server: while it is unreachable, until it is reachable; otherwise when
// nothing has been heard for a heartbeat.
func (c *contact) run(ctx context.Context) {
	var timer <-chan time.Time
	for {
		timer = nil
		if c.heartbeat > 0 {
			timer = time.After(max(c.heartbeat-c.quiet(), c.heartbeat/10))
		}
		select {
		case <-ctx.Done():
			return
		case <-c.wake:
			c.regain(ctx)
		case <-timer:
			if c.quiet() < c.heartbeat {
				continue
			}
			if err := c.ask(ctx, "/version"); err == nil || answered(err) {
				c.heard()
			} else if ctx.Err() == nil {
				c.lost(err)
			}
		}
	}
}

// quiet is the time since the server was last heard of. If the clock was set back, that
// is unknown, and the time counts from now.
func (c *contact) quiet() time.Duration {
	now, last := c.now(), c.last.Load()
	if quiet := now.Sub(time.Unix(0, last)); quiet >= 0 {
		return quiet
	}
	c.last.CompareAndSwap(last, now.UnixNano())
	return 0
}

func (c *contact) regain(ctx context.Context) {
	pause := probeFirst
	for {
		err := c.ask(ctx, "/readyz")
		switch {
		case ctx.Err() != nil:
			return
		case err == nil, answered(err) && !unready(err):
			c.found()
			return
		case answered(err):
			c.heard()
		}
		c.mu.Lock()
		c.reason = err.Error()
		c.probes++
		long := c.now().Sub(c.lostAt) > probeLong
		c.mu.Unlock()
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = min(2*pause, probeEvery)
		if long {
			pause = probeSlow
		}
	}
}

func (c *contact) ask(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, probeTimeout)
	defer cancel()
	return c.client.Get().AbsPath(path).MaxRetries(0).Do(ctx).Error()
}

// answered reports whether an error is a response of the server.
func answered(err error) bool {
	var status apierrors.APIStatus
	return errors.As(err, &status)
}

// unanswered reports whether an error means that no response arrived. Other errors that
// are not responses are local.
func unanswered(err error) bool {
	var (
		request *url.Error
		network net.Error
	)
	return !answered(err) && (errors.As(err, &request) || errors.As(err, &network) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, context.Canceled))
}

// unready reports a response that asks to retry.
func unready(err error) bool {
	if apierrors.HasStatusCause(err, "ResourceVersionTooLarge") {
		return false // it asks to list from another version
	}
	var status apierrors.APIStatus
	return errors.As(err, &status) && status.Status().Code >= http.StatusInternalServerError
}

// refused reports a response that will most likely be the same next time.
func refused(err error) bool {
	return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) || apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err)
}
