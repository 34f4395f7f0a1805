package informers

import (
	"context"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

const (
	// firstPage is how many objects are requested next to the first list.
	firstPage = 100

	refusedFirst = 2 * time.Second
	refusedMost  = 5 * time.Minute
	retryFirst   = 100 * time.Millisecond
	retryMost    = 5 * time.Second

	// aheadWithin is how long a reopened watch waits for the server's current version.
	aheadWithin = 5 * time.Second
)

// list is the reflector's List.
func (in *informer) list(ctx context.Context, o metav1.ListOptions) (runtime.Object, error) {
	list, err := attempt(ctx, in, "list", true, func(ctx context.Context) (runtime.Object, error) { return in.source.list(ctx, o) }, nil)
	if err != nil {
		return nil, err
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil, err
	}
	if o.Continue == "" {
		in.begins()
	}
	in.answers("list")
	n := 0
	err = meta.EachListItem(list, func(o runtime.Object) error {
		in.passes(o, shown)
		n++
		return nil
	})
	in.arrives(n, m.GetRemainingItemCount())
	if err == nil && m.GetContinue() == "" {
		in.listed(m.GetResourceVersion())
	}
	return list, err
}

// watch is the reflector's Watch.
func (in *informer) watch(ctx context.Context, o metav1.ListOptions) (watch.Interface, error) {
	initial := o.SendInitialEvents != nil && *o.SendInitialEvents
	again := in.goesOn()
	ctx, cancel := context.WithCancel(ctx)
	// A server that does not support streaming lists may respond with anything: the
	// reflector then requests a plain list.
	w, err := attempt(ctx, in, "watch", !initial, func(ctx context.Context) (watch.Interface, error) { return in.source.watch(ctx, o) }, watch.Interface.Stop)
	if err != nil {
		cancel()
		return nil, err
	}
	switch {
	case initial:
		in.begins()
	case again:
		if err := in.ahead(ctx); err != nil {
			w.Stop()
			cancel()
			return nil, err
		}
	}
	in.answers("watch")
	t := &tee{in: in, from: w, to: make(chan watch.Event, 64), done: make(chan struct{}), initial: initial}
	go func() {
		defer cancel()
		t.run()
	}()
	return t, nil
}

// ahead reads the server's current version, and fails if the cache has seen a later
// one. The watch would not report it: kube-apiserver sends neither events nor bookmarks
// up to the version that a watch starts with (k8s.io/apiserver v0.37.1
// pkg/storage/cacher/cache_watcher.go). Without a response nothing is known.
func (in *informer) ahead(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, aheadWithin)
	defer cancel()
	list, err := in.source.list(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return nil
	}
	m, err := meta.ListAccessor(list)
	if err != nil {
		return nil
	}
	if reason := in.wentBack(m.GetResourceVersion()); reason != "" {
		in.ended(reason)
		return apierrors.NewResourceExpired(reason)
	}
	return nil
}

// peek requests a first page, to display rows early and to know the total. Its failure
// is ignored.
func (in *informer) peek(ctx context.Context) {
	if in.contact.wait(ctx) != nil {
		return
	}
	list, err := in.source.list(ctx, metav1.ListOptions{Limit: firstPage})
	if err != nil {
		return
	}
	in.contact.heard()
	m, err := meta.ListAccessor(list)
	if err != nil {
		return
	}
	n := 0
	_ = meta.EachListItem(list, func(o runtime.Object) error {
		in.passes(o, spare)
		n++
		return nil
	})
	if rest := m.GetRemainingItemCount(); rest != nil {
		n += int(*rest)
	} else if m.GetContinue() != "" {
		return
	}
	in.expects(n)
}

// attempt repeats a request until it gets a response: success, or an error that the
// reflector has to handle. patient also repeats requests that the server rejects
// because it is not ready. drop receives a result that arrives after the request was
// given up.
func attempt[T any](ctx context.Context, in *informer, verb string, patient bool, request func(context.Context) (T, error), drop func(T)) (T, error) {
	var none T
	pause := time.Duration(0)
	for {
		if err := in.contact.wait(ctx); err != nil {
			return none, err
		}
		if err := in.refusals.wait(ctx, verb, pause); err != nil {
			return none, err
		}
		pause = min(max(2*pause, retryFirst), retryMost)
		// The context of a watch is its lifetime: it is not canceled once the watch
		// exists.
		once, cancel := context.WithCancel(ctx)
		forget := in.contact.onFound(cancel)
		result, err := request(once)
		inTime := forget()
		switch {
		case err == nil && !inTime && once.Err() != nil:
			if drop != nil {
				drop(result)
			}
			continue
		case err == nil:
			context.AfterFunc(ctx, cancel)
			in.contact.heard()
			in.refusals.clear(verb)
			return result, nil
		}
		cancel()
		switch {
		case ctx.Err() != nil:
			return none, err
		case answered(err):
			in.contact.heard()
			if apierrors.IsResourceExpired(err) || apierrors.IsGone(err) {
				in.ended(err.Error())
				return none, err
			}
			if refused(err) {
				in.refusals.note(verb)
			}
			if unready(err) && patient {
				in.fails(verb, err)
				continue
			}
			if verb == "list" || patient || refused(err) {
				in.fails(verb, err)
			}
			return none, err
		case unanswered(err):
			if !inTime {
				continue // canceled, because the server is reachable again
			}
			in.fails(verb, err)
			in.contact.lost(err)
		default:
			in.fails(verb, err)
			return none, err
		}
	}
}

// tee is a watch that reports what passes.
type tee struct {
	in      *informer
	from    watch.Interface
	to      chan watch.Event
	done    chan struct{}
	once    sync.Once
	initial bool // the list is still under way
	failed  bool // it ends with an error
}

func (t *tee) ResultChan() <-chan watch.Event { return t.to }

func (t *tee) Stop() {
	t.once.Do(func() { close(t.done) })
	t.from.Stop()
}

func (t *tee) run() {
	defer close(t.to)
	defer t.from.Stop()
	for e := range t.from.ResultChan() {
		e = t.see(e)
		select {
		case t.to <- e:
		case <-t.done:
			return
		}
	}
	if !t.failed {
		t.in.ended("watch closed by the API server")
	}
}

// see records an event and returns what the reflector receives.
func (t *tee) see(e watch.Event) watch.Event {
	t.in.contact.heard()
	switch e.Type {
	case watch.Error:
		t.failed = true
		t.in.ended(apierrors.FromObject(e.Object).Error())
	case watch.Bookmark:
		m, err := meta.Accessor(e.Object)
		if err != nil {
			return e
		}
		if t.initial && m.GetAnnotations()[metav1.InitialEventsAnnotationKey] == "true" {
			t.initial = false
			t.in.listed(m.GetResourceVersion())
			return e
		}
		if reason := t.in.wentBack(m.GetResourceVersion()); reason != "" && !t.initial {
			// As far as the server knows, the cached state may never have existed, and
			// no watch will correct it. It is reported as expired, so that the
			// reflector relists.
			t.failed = true
			t.in.ended(reason)
			expired := apierrors.NewResourceExpired(reason).Status()
			return watch.Event{Type: watch.Error, Object: &expired}
		}
		t.in.bookmarked(m.GetResourceVersion())
	case watch.Added, watch.Modified, watch.Deleted:
		as := hidden
		switch {
		case t.initial && e.Type == watch.Deleted:
			as = unshown
		case t.initial:
			as = shown
		}
		o := t.in.passes(e.Object, as)
		switch {
		case t.initial && e.Type == watch.Added:
			t.in.arrives(1, nil)
		case !t.initial && o != nil:
			t.in.happens(o)
		}
	}
	return e
}

// conceal removes the values of a Secret before it is stored. managedFields stay: they
// contain only field names.
func conceal(u *unstructured.Unstructured) {
	managed, found, _ := unstructured.NestedFieldNoCopy(u.Object, "metadata", "managedFields")
	u.Object = redact.Redact(state.Ref{Version: "v1", Resource: "secrets"}, u.Object)
	if m, ok := u.Object["metadata"].(map[string]any); ok && found {
		m["managedFields"] = managed
	}
}

// refusals delays retries of requests that the server rejects.
type refusals struct {
	mu    sync.Mutex
	until map[string]time.Time
	pause map[string]time.Duration
	again chan struct{} // closed to try at once
}

func newRefusals() *refusals {
	return &refusals{until: map[string]time.Time{}, pause: map[string]time.Duration{}, again: make(chan struct{})}
}

func (r *refusals) note(verb string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	pause := min(max(2*r.pause[verb], refusedFirst), refusedMost)
	r.pause[verb], r.until[verb] = pause, time.Now().Add(pause)
}

func (r *refusals) clear(verb string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.pause, verb)
	delete(r.until, verb)
}

// holds reports whether the last response to a verb was a rejection.
func (r *refusals) holds(verb string) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	_, held := r.pause[verb]
	return held
}

// retry allows the next attempts immediately.
func (r *refusals) retry() {
	r.mu.Lock()
	defer r.mu.Unlock()
	clear(r.until)
	clear(r.pause)
	close(r.again)
	r.again = make(chan struct{})
}

// wait waits for the end of a rejection's delay, and at least for a pause.
func (r *refusals) wait(ctx context.Context, verb string, pause time.Duration) error {
	r.mu.Lock()
	again := r.again
	if until, refused := r.until[verb]; refused {
		pause = max(pause, time.Until(until))
	}
	r.mu.Unlock()
	if pause <= 0 {
		return ctx.Err()
	}
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-again:
	case <-ctx.Done():
	}
	return ctx.Err()
}
