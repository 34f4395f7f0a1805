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

// Contents is what an informer holds of each object.
type Contents string

const (
	// Metadata is the zero Contents as well.
	Metadata Contents = "metadata"
	// Whole is everything. Of Secrets the values are hidden.
	Whole Contents = "whole"
)

// Options of a Set. Recorder must be set; the zero value of the rest is right for
// a screen.
type Options struct {
	// Recorder gets what the informers observe.
	Recorder state.Recorder
	// Silent reports the types of which nothing is to be recorded, because
	// another informer records them in the same journal. It is asked with a Ref
	// without a name, about once a second while there is something to record.
	Silent func(state.Ref) bool
	// Listed is up to how many objects of a first list are recorded one by one;
	// 10,000 where it is zero. Of a longer one the journal gets the number only:
	// the rows themselves would drive out everything else.
	Listed int
	// Name is who registers the handlers; "screen" where it is empty.
	Name string
	// Grace is how long an informer goes on after its last Handle was closed;
	// 30 seconds where it is zero, not at all where it is negative.
	Grace time.Duration
	// Heartbeat is after how long a silence the server is asked for a sign; 5
	// seconds where it is zero, never where it is negative.
	Heartbeat time.Duration
	// Now is the clock; time.Now where it is nil.
	Now func() time.Time
}

// Set is the informers of one API server. It is safe for concurrent use.
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

// ErrClosed is given by a Set that was closed.
var ErrClosed = errors.New("start an informer: the informers of this TUI were stopped")

// numbered gives every informer of the process its own name, as client-go wants.
var numbered atomic.Uint64

// New makes a Set. Nothing is asked of the server but for signs of life.
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

// Contact tells whether the server answers.
func (s *Set) Contact() Contact { return s.contact.state() }

// Open gives a Handle on the informer of a type, in one namespace or, where it is
// empty, in all. It starts one where none does what is asked: for metadata, one
// that holds whole objects does. It does not wait for the server.
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

// leave counts a user less, and has the informer end after the grace if it was
// the last one.
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

// Stats gives every informer that runs, by type.
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

// Retry tries at once what the server has refused.
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
