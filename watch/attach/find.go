package attach

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	suffix = ".sock"
	// greeting is how long a process may take to identify itself. A stopped process
	// (SIGSTOP, a debugger) does not respond and is skipped.
	greeting = 2 * time.Second
)

// ownName is the name of a socket that Listen created; others in the directory are not
// touched.
var ownName = regexp.MustCompile(`^[0-9]+-[a-z0-9]{4}\.sock$`)

// sweep removes the sockets of processes that no longer exist: those that nobody
// listens on.
func sweep(dir string) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		if e.Type() != os.ModeSocket || !ownName.MatchString(e.Name()) {
			continue
		}
		c, err := net.DialTimeout("unix", path, greeting)
		if err == nil {
			_ = c.Close()
		} else if errors.Is(err, syscall.ECONNREFUSED) {
			_ = os.Remove(path)
		}
	}
}

// Peer is a process that can be queried. It is a Host that opens a connection per
// request.
type Peer struct {
	path    string
	process state.Process
}

var _ Host = (*Peer)(nil)

// Find returns the processes that respond, the one started last first, and removes the
// sockets of processes that no longer exist. silent explains, one sentence each, which
// listening processes do not respond.
func Find(ctx context.Context, directories []string) (peers []*Peer, silent []string) {
	for _, dir := range directories {
		if checkDirectory(dir) != nil {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			continue
		}
		for _, e := range entries {
			if e.Type() != os.ModeSocket || !strings.HasSuffix(e.Name(), suffix) {
				continue
			}
			p := &Peer{path: filepath.Join(dir, e.Name())}
			switch err := p.greet(ctx); {
			case err == nil:
				peers = append(peers, p)
			case errors.Is(err, syscall.ECONNREFUSED):
				if ownName.MatchString(e.Name()) {
					_ = os.Remove(p.path)
				}
			case errors.Is(err, os.ErrNotExist): // it just ended
			default:
				silent = append(silent, fmt.Sprintf("process %s does not respond: %v", strings.SplitN(e.Name(), "-", 2)[0], err))
			}
		}
	}
	slices.SortStableFunc(peers, func(a, b *Peer) int {
		return cmp.Or(b.process.Started.Compare(a.process.Started), cmp.Compare(a.process.PID, b.process.PID))
	})
	return peers, silent
}

func (p *Peer) greet(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, greeting)
	defer cancel()
	a, err := p.ask(ctx, question{Ask: "process"})
	if err == nil {
		p.process = a.Process
	}
	return err
}

// Process is how it identified itself when it was found.
func (p *Peer) Process() state.Process { return p.process }

// Queues requests the process's queues.
func (p *Peer) Queues(ctx context.Context, q QueueQuery) ([]state.QueueStats, error) {
	a, err := p.ask(ctx, question{Ask: "queues", Queues: &q})
	return a.Queues, err
}

// Informers requests the process's informers.
func (p *Peer) Informers(ctx context.Context) ([]state.StoreStats, error) {
	a, err := p.ask(ctx, question{Ask: "informers"})
	return a.Informers, err
}

// Cache requests the contents of an informer. The error is a *NotFoundError if it has
// none for the type.
func (p *Peer) Cache(ctx context.Context, q CacheQuery) (state.CacheView, error) {
	a, err := p.ask(ctx, question{Ask: "cache", Cache: &q})
	if err != nil || a.Cache == nil {
		return state.CacheView{}, err
	}
	return *a.Cache, nil
}

func (p *Peer) ask(ctx context.Context, q question) (answer, error) {
	q.Protocol = protocol
	var dialer net.Dialer
	c, err := dialer.DialContext(ctx, "unix", p.path)
	if err != nil {
		return answer{}, err
	}
	defer c.Close()
	defer context.AfterFunc(ctx, func() { _ = c.SetDeadline(time.Unix(1, 0)) })()

	if err := json.NewEncoder(c).Encode(q); err != nil {
		return answer{}, p.failed(ctx, err)
	}
	var a answer
	if err := json.NewDecoder(bufio.NewReaderSize(c, 1<<16)).Decode(&a); err != nil {
		return answer{}, p.failed(ctx, err)
	}
	return a, a.err()
}

func (p *Peer) failed(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return fmt.Errorf("query kctl-ctrl process %d: %w", p.process.PID, err)
}
