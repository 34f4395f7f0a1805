package attach

import (
	"bufio"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// maxAskers bounds the connections served concurrently; others wait.
	maxAskers = 8
	// patience is how long a request may take to arrive, and how long a slow reader may
	// block the next part of a response.
	patience = 10 * time.Second
)

// Server responds on this process's socket.
type Server struct {
	host     Host
	path     string
	listener *net.UnixListener
	cancel   context.CancelFunc
	ctx      context.Context
	slots    chan struct{}
	serving  sync.WaitGroup

	mu     sync.Mutex
	open   map[net.Conn]struct{}
	closed bool
}

// Listen starts responding on a socket in the first usable directory, which it creates
// if necessary and from which it removes the sockets of killed processes. Close ends
// it.
func Listen(host Host, directories []string) (*Server, error) {
	var errs []error
	for _, dir := range directories {
		s, err := listenIn(host, dir)
		if err == nil {
			return s, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("listen for other kctl-ctrl processes: %w", errors.Join(errs...))
}

func listenIn(host Host, dir string) (*Server, error) {
	if err := makeDirectory(dir); err != nil {
		return nil, err
	}
	sweep(dir)
	name := strconv.Itoa(os.Getpid()) + "-" + strings.ToLower(rand.Text()[:4])
	path, making := filepath.Join(dir, name+suffix), filepath.Join(dir, "."+name)
	if max(len(path), len(making)) > maxSocketPath {
		return nil, fmt.Errorf("%s: path too long for a unix socket", dir)
	}
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: making, Net: "unix"})
	if err != nil {
		return nil, err
	}
	listener.SetUnlinkOnClose(false) // it is renamed below
	if err = os.Chmod(making, 0o600); err == nil {
		err = os.Rename(making, path)
	}
	if err != nil {
		return nil, errors.Join(err, listener.Close(), os.Remove(making))
	}
	s := &Server{host: host, path: path, listener: listener, slots: make(chan struct{}, maxAskers), open: map[net.Conn]struct{}{}}
	s.ctx, s.cancel = context.WithCancel(context.Background())
	s.serving.Go(s.accept)
	return s, nil
}

// Close removes the socket, ends the connections and waits until no request is being
// processed. Closing again does nothing.
func (s *Server) Close() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	for c := range s.open {
		_ = c.Close()
	}
	s.mu.Unlock()
	err := os.Remove(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	err = errors.Join(err, s.listener.Close())
	s.cancel()
	s.serving.Wait()
	return err
}

func (s *Server) accept() {
	for {
		c, err := s.listener.Accept()
		if err != nil {
			return // closed; accepting on a unix socket has no transient errors except for a lack of file descriptors
		}
		select {
		case s.slots <- struct{}{}:
		case <-s.ctx.Done():
			_ = c.Close()
			return
		}
		if !s.keep(c) {
			_ = c.Close()
			return
		}
		s.serving.Go(func() {
			defer func() { <-s.slots }()
			defer s.drop(c)
			s.serve(c)
		})
	}
}

func (s *Server) keep(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closed {
		s.open[c] = struct{}{}
	}
	return !s.closed
}

func (s *Server) drop(c net.Conn) {
	s.mu.Lock()
	delete(s.open, c)
	s.mu.Unlock()
	_ = c.Close()
}

// serve processes one request. Invalid requests get a response, too, if the client can
// understand one.
func (s *Server) serve(c net.Conn) {
	_ = c.SetReadDeadline(time.Now().Add(patience))
	line, err := bufio.NewReaderSize(io.LimitReader(c, maxQuestion), 4096).ReadBytes('\n')
	if err != nil {
		return
	}
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	go func() { // the client sends nothing more: the end of reading means that it disconnected
		_ = c.SetReadDeadline(time.Time{})
		_, _ = io.Copy(io.Discard, c)
		cancel()
	}()
	var q question
	if err := json.Unmarshal(line, &q); err != nil {
		q = question{Protocol: protocol, Ask: "?"}
	}
	_ = json.NewEncoder(&patientWriter{c}).Encode(reply(ctx, s.host, q))
}

// patientWriter applies the timeout to each part of a response.
type patientWriter struct{ c net.Conn }

func (w *patientWriter) Write(p []byte) (int, error) {
	written := 0
	for written < len(p) {
		_ = w.c.SetWriteDeadline(time.Now().Add(patience))
		n, err := w.c.Write(p[written:min(len(p), written+1<<16)])
		written += n
		if err != nil {
			return written, err
		}
	}
	return written, nil
}
