package connect

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/portforward"
	"k8s.io/client-go/transport/spdy"
	"k8s.io/streaming/pkg/httpstream"
)

// Forwarder opens connections to one port of one pod through the API server, as kubectl
// port-forward does, but without a local port that other users could use. Close ends
// all of them.
type Forwarder struct {
	connection httpstream.Connection
	port       int

	mu   sync.Mutex
	next int
}

// Forward connects to a pod with the user's credentials, over a WebSocket, or over SPDY
// if the server does not support that (as kubectl v0.37.1 pkg/cmd/portforward). The
// config's guard must allow it (reconcile/guard Options.PortForward).
//
// The context only limits dialling.
func Forward(ctx context.Context, config *rest.Config, namespace, pod string, port int) (*Forwarder, error) {
	settings := rest.CopyConfig(config)
	settings.GroupVersion, settings.APIPath = &corev1.SchemeGroupVersion, "/api"
	settings.NegotiatedSerializer = scheme.Codecs.WithoutConversion()
	requests, err := rest.RESTClientFor(settings)
	if err != nil {
		return nil, fmt.Errorf("forward a port of pod %s/%s: %w", namespace, pod, err)
	}
	u := requests.Post().Resource("pods").Namespace(namespace).Name(pod).SubResource("portforward").URL()

	overWebSocket, err := portforward.NewSPDYOverWebsocketDialerForStreaming(u, settings)
	if err != nil {
		return nil, fmt.Errorf("forward a port of pod %s/%s: %w", namespace, pod, err)
	}
	rt, upgrader, err := spdy.RoundTripperFor(settings)
	if err != nil {
		return nil, fmt.Errorf("forward a port of pod %s/%s: %w", namespace, pod, err)
	}
	overSPDY := spdy.NewDialerForStreaming(upgrader, client(rt), http.MethodPost, u)
	dialer := portforward.NewFallbackDialerForStreaming(overWebSocket, overSPDY, func(err error) bool {
		return httpstream.IsUpgradeFailure(err) || httpstream.IsHTTPSProxyError(err)
	})
	connection, err := dial(ctx, dialer)
	if err != nil {
		return nil, fmt.Errorf("forward port %d of pod %s/%s: %w", port, namespace, pod, err)
	}
	return &Forwarder{connection: connection, port: port}, nil
}

// dial returns when ctx is done, which upstream's dialers do not support; a connection
// that is established later is closed.
func dial(ctx context.Context, dialer httpstream.Dialer) (httpstream.Connection, error) {
	type result struct {
		connection httpstream.Connection
		err        error
	}
	results := make(chan result)
	go func() {
		connection, protocol, err := dialer.Dial(portforward.PortForwardProtocolV1Name)
		if err == nil && protocol != portforward.PortForwardProtocolV1Name {
			err = errors.Join(fmt.Errorf("unexpected protocol %q", protocol), connection.Close())
		}
		select {
		case results <- result{connection, err}:
		case <-ctx.Done():
			if err == nil {
				_ = connection.Close()
			}
		}
	}()
	select {
	case r := <-results:
		return r.connection, r.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Close ends the connection to the API server.
func (f *Forwarder) Close() error { return f.connection.Close() }

// Dial opens one connection to the port. Errors at the other end (nothing listens
// there) are returned by its Read.
func (f *Forwarder) Dial(context.Context) (net.Conn, error) {
	f.mu.Lock()
	request := f.next
	f.next++
	f.mu.Unlock()
	headers := http.Header{}
	headers.Set(corev1.PortHeader, strconv.Itoa(f.port))
	headers.Set(corev1.PortForwardRequestIDHeader, strconv.Itoa(request))
	headers.Set(corev1.StreamType, corev1.StreamTypeError)
	problems, err := f.connection.CreateStream(headers)
	if err != nil {
		return nil, fmt.Errorf("open a connection to port %d: %w", f.port, err)
	}
	_ = problems.Close() // nothing is written to it
	headers.Set(corev1.StreamType, corev1.StreamTypeData)
	data, err := f.connection.CreateStream(headers)
	if err != nil {
		f.connection.RemoveStreams(problems)
		return nil, fmt.Errorf("open a connection to port %d: %w", f.port, err)
	}
	c := &forwarded{Stream: data, forwarder: f, problems: problems, told: make(chan struct{})}
	go c.listen()
	return c, nil
}

// forwarded is a data stream with its error stream, as a net.Conn.
type forwarded struct {
	httpstream.Stream
	forwarder *Forwarder
	problems  httpstream.Stream
	// told is closed when the other end has closed the error stream.
	told    chan struct{}
	problem string
	once    sync.Once

	mu    sync.Mutex
	timer *time.Timer
}

// listen ends with the stream, which Close or the end of the connection resets.
func (c *forwarded) listen() {
	defer close(c.told)
	text, _ := io.ReadAll(io.LimitReader(c.problems, 4096))
	c.problem = string(bytes.TrimSpace(text))
}

// Read reads the stream; at its end, it returns the reported error, if any.
func (c *forwarded) Read(p []byte) (int, error) {
	n, err := c.Stream.Read(p)
	if err == nil {
		return n, nil
	}
	select {
	case <-c.told:
	case <-time.After(time.Second): // a server that does not close the stream
		return n, err
	}
	if c.problem != "" {
		return n, errors.New(lastLine(c.problem))
	}
	return n, err
}

// lastLine is where kubelets report the cause.
func lastLine(text string) string {
	if i := strings.LastIndexByte(text, '\n'); i >= 0 {
		text = text[i+1:]
	}
	return fmt.Sprintf("error from the pod: %.300s", text)
}

// Close resets both streams.
func (c *forwarded) Close() error {
	var err error
	c.once.Do(func() {
		err = c.Reset()
		_ = c.problems.Reset()
		c.forwarder.connection.RemoveStreams(c.Stream, c.problems)
	})
	return err
}

func (c *forwarded) LocalAddr() net.Addr  { return forwardedAddr("this program") }
func (c *forwarded) RemoteAddr() net.Addr { return forwardedAddr("a pod") }

// SetDeadline resets the stream at the given time; a zero time means never.
func (c *forwarded) SetDeadline(t time.Time) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.timer != nil {
		c.timer.Stop()
	}
	if !t.IsZero() {
		c.timer = time.AfterFunc(time.Until(t), func() { _ = c.Reset() })
	}
	return nil
}

func (c *forwarded) SetReadDeadline(t time.Time) error  { return c.SetDeadline(t) }
func (c *forwarded) SetWriteDeadline(t time.Time) error { return c.SetDeadline(t) }

type forwardedAddr string

func (forwardedAddr) Network() string  { return "portforward" }
func (a forwardedAddr) String() string { return string(a) }
