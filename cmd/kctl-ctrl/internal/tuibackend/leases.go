package tuibackend

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/about"
	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/leases"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// screenLeases follows the leases of a cluster for the screen. Those of the
// control plane it follows from the start, for the header; all others from the
// first question on.
type screenLeases struct {
	ctx      context.Context
	recorder state.Recorder
	reader   *leases.Reader
	resolver *leases.Resolver
	clock    *leases.Clock
	running  sync.WaitGroup
	everyone sync.Once
	// narrow ends the following of the control plane's leases alone.
	narrow context.CancelFunc

	mu         sync.Mutex
	items      map[string]state.LeaseStatus
	candidates []state.LeaseCandidate
	failed     error
	number     int
	news       chan struct{} // closed and replaced with every change
	given      time.Time     // when Next gave a list
}

var _ port.Leases = (*screenLeases)(nil)

// systemNamespace is where the control plane's leases are.
const systemNamespace = "kube-system"

// newScreenLeases begins to follow the control plane's leases, until ctx ends;
// wait returns when that has ended.
func newScreenLeases(ctx context.Context, config *rest.Config, recorder state.Recorder) (*screenLeases, error) {
	l := &screenLeases{
		ctx: ctx, recorder: recorder, clock: leases.NewClock(time.Now),
		items: map[string]state.LeaseStatus{}, news: make(chan struct{}),
	}
	config = rest.CopyConfig(config)
	config.Wrap(l.clock.Wrap)
	config.AcceptContentTypes = "application/vnd.kubernetes.protobuf,application/json"
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	l.reader = leases.NewReader(client)
	l.resolver = leases.NewResolver(l.reader)
	var first context.Context
	first, l.narrow = context.WithCancel(ctx)
	l.running.Go(func() { l.follow(first, leases.Query{Namespace: systemNamespace}) })
	return l, nil
}

func (l *screenLeases) wait() { l.running.Wait() }

// follow reads and follows what a query chooses, and tries again for as long as
// the server does not answer.
func (l *screenLeases) follow(ctx context.Context, q leases.Query) {
	for ctx.Err() == nil {
		items, version, err := l.reader.List(ctx, q)
		if err == nil {
			l.candidatesOf(q)
			l.replace(q, items)
			err = l.reader.Follow(ctx, q, items, version, leases.FollowOptions{
				Now: l.clock.Now, After: time.After, Lost: func(err error) { l.fail(explain.Error(err, "watch leases "+explain.Scope(q.Namespace))) },
			}, func(change leases.Change) error {
				l.change(change)
				return nil
			})
		}
		if err != nil && ctx.Err() == nil {
			l.fail(explain.Error(err, "list leases "+explain.Scope(q.Namespace)))
		}
		select {
		case <-ctx.Done():
		case <-time.After(leaseRetry):
		}
	}
}

// leaseRetry is the pause after the server refused, or did not answer.
const leaseRetry = 5 * time.Second

func (l *screenLeases) candidatesOf(q leases.Query) {
	found, err := l.reader.Candidates(l.ctx, q)
	if err != nil {
		return // old servers have none, and some users may not read them
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.candidates = found
}

func (l *screenLeases) replace(q leases.Query, items []state.LeaseStatus) {
	l.resolver.Resolve(l.ctx, items)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = nil
	for key, had := range l.items {
		if q.Namespace == "" || had.Namespace == q.Namespace {
			delete(l.items, key)
		}
	}
	for _, item := range items {
		l.items[item.Ref().Key()] = item
		l.record(item, false)
	}
	l.tell()
}

func (l *screenLeases) change(c leases.Change) {
	resolved := []state.LeaseStatus{c.Lease}
	if had, ok := l.had(c.Lease); ok && had.Identity == c.Lease.Identity {
		resolved[0].Holder = had.Holder // a renewal changes nobody
	} else if !c.Deleted {
		l.resolver.Resolve(l.ctx, resolved)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = nil
	if c.Deleted {
		delete(l.items, c.Lease.Ref().Key())
	} else {
		l.items[c.Lease.Ref().Key()] = resolved[0]
	}
	l.record(resolved[0], c.Deleted)
	l.tell()
}

func (l *screenLeases) had(lease state.LeaseStatus) (state.LeaseStatus, bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	had, ok := l.items[lease.Ref().Key()]
	return had, ok
}

// record puts a lease into the journal, but for the heartbeats of nodes.
func (l *screenLeases) record(s state.LeaseStatus, deleted bool) {
	if s.Class == state.LeaseOfNode {
		return
	}
	l.recorder.Record(state.LeaseChanged{
		Lease: s.Ref(), Holder: s.Identity, RenewTime: s.RenewTime, Duration: s.Duration, Transitions: s.Transitions, Deleted: deleted,
	})
}

func (l *screenLeases) fail(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.failed = err
	l.tell()
}

// tell is called with the lock held.
func (l *screenLeases) tell() {
	l.number++
	close(l.news)
	l.news = make(chan struct{})
}

// leasePace is the least time between two lists, per lease: the nodes of a large
// cluster renew hundreds a second.
const leasePace = 200 * time.Microsecond

// Next gives the leases, judged by the API server's clock, once they are others
// than those numbered, and not too often.
func (l *screenLeases) Next(ctx context.Context, after int) (state.LeaseList, int, error) {
	l.everyone.Do(func() {
		l.narrow()
		l.running.Go(func() { l.follow(l.ctx, leases.Query{}) })
	})
	for {
		l.mu.Lock()
		number, news := l.number, l.news
		rest := leasePace*time.Duration(len(l.items)) - time.Since(l.given)
		if number != after && rest <= 0 {
			l.given = time.Now()
			items, candidates, failed := slices.Collect(maps.Values(l.items)), slices.Clone(l.candidates), l.failed
			l.mu.Unlock()
			return l.judge(items, candidates), number, failed
		}
		l.mu.Unlock()
		var rested <-chan time.Time
		if number != after {
			news, rested = nil, time.After(rest)
		}
		select {
		case <-news:
		case <-rested:
		case <-ctx.Done():
			return state.LeaseList{}, number, ctx.Err()
		}
	}
}

func (l *screenLeases) judge(items []state.LeaseStatus, candidates []state.LeaseCandidate) state.LeaseList {
	now := l.clock.Now()
	for i := range items {
		items[i] = items[i].At(now)
	}
	leases.Sort(items)
	return state.LeaseList{APIVersion: about.APIVersion, Kind: "LeaseList", Items: items, Candidates: candidates}
}
