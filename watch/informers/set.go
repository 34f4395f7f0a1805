package informers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Contents is how much of each object an informer stores.
type Contents string

const (
	// Metadata is the zero Contents as well.
	Metadata Contents = "metadata"
	// Whole is the complete object. The values of Secrets are hidden.
	Whole Contents = "whole"
)

// Options of a Set. Recorder is required; the zero value of the rest suits a TUI.
type Options struct {
	// Recorder receives what the informers observe.
	Recorder state.Recorder
	// Silent reports the types of which nothing must be recorded, because another
	// informer records them in the same journal. It is called with a Ref without a
	// name, about once a second while there is something to record.
	Silent func(state.Ref) bool
	// Listed is the number of objects up to which a first list is recorded one by one;
	// 10,000 if zero. Of a longer list, only the number is recorded, because its rows
	// would evict everything else.
	Listed int
	// Name is the name under which handlers are registered; "screen" if empty.
	Name string
	// Grace is how long an informer runs after its last Handle was closed; 30 seconds
	// if zero, not at all if negative.
	Grace time.Duration
	// Heartbeat is the silence after which the server is probed; 5 seconds if zero,
	// never if negative.
	Heartbeat time.Duration
	// Now is the clock; time.Now where it is nil.
	Now func() time.Time
}

// Set has the informers of one API server. It is safe for concurrent use.
type Set struct {
	options Options
	clients *clients
	contact *contact
	cancel  context.CancelFunc
	running sync.WaitGroup

	mu     sync.Mutex
	open   map[scope]*informer
	closed bool
}

// scope is what an informer watches.
type scope struct {
	group, version, resource, namespace string
	contents                            Contents
}

// ErrClosed is returned by a closed Set.
var ErrClosed = errors.New("start an informer: the informers of this TUI were stopped")

// numbered gives every informer of the process a unique name, as client-go requires.
var numbered atomic.Uint64

// New returns a Set. It sends no requests except for probes.
func New(config *rest.Config, options Options) (*Set, error) {
	options.Listed = cmp.Or(options.Listed, 10_000)
	options.Name = cmp.Or(options.Name, "screen")
	options.Grace = cmp.Or(options.Grace, 30*time.Second)
	options.Heartbeat = cmp.Or(options.Heartbeat, 5*time.Second)
	if options.Now == nil {
		options.Now = time.Now
	}
	clients, err := newClients(config)
	if err != nil {
		return nil, err
	}
	signs, err := clients.rest(schema.GroupVersion{Version: "v1"}, false)
	if err != nil {
		return nil, fmt.Errorf("create a client for %s: %w", config.Host, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Set{
		options: options, clients: clients, contact: newContact(signs, options.Heartbeat, options.Now),
		cancel: cancel, open: map[scope]*informer{},
	}
	s.running.Go(func() { s.contact.run(ctx) })
	return s, nil
}

// Contact reports whether the server is reachable.
func (s *Set) Contact() Contact { return s.contact.state() }

// Open returns a Handle on the informer of a type, in one namespace or, if it is empty,
// in all. It starts an informer unless a suitable one runs: an informer of complete
// objects also serves metadata. It does not wait for the server.
func (s *Set) Open(t owners.Type, namespace string, contents Contents) (*Handle, error) {
	contents = cmp.Or(contents, Metadata)
	if !t.Namespaced {
		namespace = ""
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil, ErrClosed
	}
	wanted := scope{t.Group, t.Version, t.Resource, namespace, contents}
	in := s.open[wanted]
	if contents == Metadata {
		whole := wanted
		whole.contents = Whole
		if better := s.open[whole]; better != nil {
			in, wanted = better, whole
		}
	}
	if in == nil {
		var err error
		if in, err = s.start(t, namespace, contents); err != nil {
			return nil, err
		}
		s.open[wanted] = in
	}
	if in.ending != nil {
		in.ending.Stop()
		in.ending = nil
	}
	in.users++
	return &Handle{informer: in, set: s, scope: wanted}, nil
}

func (s *Set) start(t owners.Type, namespace string, contents Contents) (*informer, error) {
	source, err := s.clients.source(t, namespace, contents)
	if err != nil {
		return nil, err
	}
	in := &informer{
		typ: t, namespace: namespace, contents: contents, options: &s.options,
		kind:   state.Ref{Group: t.Group, Version: t.Version, Resource: t.Resource},
		source: source, contact: s.contact, refusals: newRefusals(), index: newIndex(), told: map[string]bool{},
	}
	if err := in.start(fmt.Sprintf("%s-%d", s.options.Name, numbered.Add(1))); err != nil {
		return nil, fmt.Errorf("start an informer for %s: %w", t, err)
	}
	return in, nil
}

// leave releases a user and stops the informer after the grace period if it was the
// last one.
func (s *Set) leave(in *informer, of scope) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if in.users--; in.users > 0 || s.closed {
		return
	}
	if s.options.Grace < 0 {
		s.end(in, of)
		return
	}
	var timer *time.Timer
	timer = time.AfterFunc(s.options.Grace, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if in.ending == timer && !s.closed {
			s.end(in, of)
		}
	})
	in.ending = timer
}

// end is called with the lock held.
func (s *Set) end(in *informer, of scope) {
	delete(s.open, of)
	in.ending = nil
	in.cancel()
	s.running.Go(in.stop)
}

// Stats returns the statistics of all running informers, by type.
func (s *Set) Stats() []state.StoreStats {
	s.mu.Lock()
	all := make([]*informer, 0, len(s.open))
	for _, in := range s.open {
		all = append(all, in)
	}
	s.mu.Unlock()
	stats := make([]state.StoreStats, len(all))
	for i, in := range all {
		stats[i] = in.stats()
	}
	slices.SortFunc(stats, func(a, b state.StoreStats) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), cmp.Compare(a.Version, b.Version), cmp.Compare(a.Namespace, b.Namespace))
	})
	return stats
}

// Retry immediately retries what the server has rejected.
func (s *Set) Retry() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, in := range s.open {
		in.refusals.retry()
	}
}

// Close ends all informers and waits for them.
func (s *Set) Close() {
	s.mu.Lock()
	if !s.closed {
		for of, in := range s.open {
			if in.ending != nil {
				in.ending.Stop()
			}
			s.end(in, of)
		}
	}
	s.closed = true
	s.mu.Unlock()
	s.cancel()
	s.running.Wait()
}
