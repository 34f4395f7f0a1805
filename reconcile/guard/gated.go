package guard

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
)

// through sends a write that a gate is asked about, at the last moment at which
// this process can ask. What comes after, a pause of the process or a request
// that the network holds up, is bounded by the deadline alone.
//
// Who writes may give a write up until it is sent. From then on it goes to its end,
// or to the deadline, whatever becomes of its writer: the API server may carry it out
// all the same, and whoever gives the lease back has to wait for that.
func (t *transport) through(gate Gate, out *http.Request, r request.Request) (*http.Response, error) {
	within, done, err := gate.Enter()
	if err != nil {
		return nil, t.guard.refusal(r, err.Error())
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(out.Context()), within)
	sending := &sending{gate: gate}
	forget := context.AfterFunc(out.Context(), func() {
		if sending.giveUp() {
			cancel()
		}
	})
	end := sync.OnceFunc(func() {
		forget()
		cancel()
		done()
	})
	req := out.WithContext(ctx)
	sending.watch(req)
	resp, err := t.next.RoundTrip(req)
	if err != nil {
		defer end()
		switch shut, is := errors.AsType[shutError](err); {
		case is:
			return nil, t.guard.refusal(r, shut.Error())
		case sending.gaveUp():
			return nil, context.Cause(out.Context())
		case errors.Is(ctx.Err(), context.DeadlineExceeded):
			return nil, fmt.Errorf("no answer within %s, which is as long as a write may take beyond the renewal of the lease; whether it was carried out is not known: %w", within, err)
		}
		return nil, err
	}
	resp.Body = &gatedBody{resp.Body, end}
	return resp, nil
}

// sending is how far a write is: it waits for a connection, or it was sent, or it
// was given up before. The transport takes the first of a request's body when it has
// a connection, and the server carries out no request whose body breaks off.
type sending struct {
	gate Gate
	// at is what came first.
	at atomic.Int32
}

const (
	waits int32 = iota
	isSent
	isGivenUp
)

// giveUp reports whether the write is not sent any more.
func (s *sending) giveUp() bool { return s.at.CompareAndSwap(waits, isGivenUp) || s.gaveUp() }
func (s *sending) gaveUp() bool { return s.at.Load() == isGivenUp }

// watch has the gate asked once more when the request has its connection: a dial, or
// a machine that slept through one, has held it up no longer than the gate stayed
// open. A request without a body counts as sent at once, and is not looked at again.
func (s *sending) watch(req *http.Request) {
	if req.Body == nil || req.Body == http.NoBody {
		s.at.CompareAndSwap(waits, isSent)
		return
	}
	req.Body = &lookedAt{ReadCloser: req.Body, sending: s}
	if again := req.GetBody; again != nil {
		req.GetBody = func() (io.ReadCloser, error) {
			body, err := again()
			if err != nil {
				return nil, err
			}
			return &lookedAt{ReadCloser: body, sending: s}, nil
		}
	}
}

// lookedAt is a body that begins while a gate is open, or not at all.
type lookedAt struct {
	io.ReadCloser
	sending *sending
	begun   bool
}

func (b *lookedAt) Read(p []byte) (int, error) {
	if !b.begun {
		if err := b.sending.gate.Open(); err != nil {
			return 0, shutError{err}
		}
		if !b.sending.at.CompareAndSwap(waits, isSent) && b.sending.gaveUp() {
			return 0, context.Canceled
		}
		b.begun = true
	}
	return b.ReadCloser.Read(p)
}

// shutError says that a gate shut after a write had entered it and before it was sent.
type shutError struct{ error }

// gatedBody tells when an answer has been read, or was given up.
type gatedBody struct {
	io.ReadCloser
	end func()
}

func (b *gatedBody) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if err != nil {
		b.end()
	}
	return n, err
}

func (b *gatedBody) Close() error {
	defer b.end()
	return b.ReadCloser.Close()
}
