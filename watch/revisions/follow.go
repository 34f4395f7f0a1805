package revisions

import (
	"context"
	"fmt"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/watch"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// FollowOptions control a Follow.
type FollowOptions struct {
	// After waits as time.After does.
	After func(time.Duration) <-chan time.Time
	// Lost is called when the server becomes unreachable, once until it is reachable
	// again.
	Lost func(error)
}

const (
	// settleTime merges the events of one rollout step into one reading.
	settleTime = 200 * time.Millisecond
	// retryAfter is the pause before everything is read again after an error.
	retryAfter = 2 * time.Second
)

// Follow calls changed with the history whenever it may have changed, until ctx ends,
// which is not an error, the object is deleted or the server rejects the request. It
// watches the object, its revisions and its pods, and reads them again: the rollout of
// thousands of pods costs at most a few readings per second.
func (r *Reader) Follow(ctx context.Context, h *History, options FollowOptions, changed func(*History) error) error {
	for {
		err := r.await(ctx, h, options)
		if ctx.Err() != nil {
			return nil
		}
		pause, told := settleTime, false
		if err != nil {
			if refused(err) {
				return err
			}
			if !expired(err) {
				options.Lost(err)
				told = true
			}
		}
		for {
			select {
			case <-ctx.Done():
				return nil
			case <-options.After(pause):
			}
			next, err := r.Read(ctx, h.target)
			switch {
			case ctx.Err() != nil:
				return nil
			case err == nil:
				h = next
			case refused(err) || apierrors.IsNotFound(err):
				return err
			default:
				if !told {
					options.Lost(err)
					told = true
				}
				pause = retryAfter
				continue
			}
			break
		}
		if err := changed(h); err != nil {
			return err
		}
	}
}

func expired(err error) bool { return apierrors.IsResourceExpired(err) || apierrors.IsGone(err) }

func refused(err error) bool { return apierrors.IsForbidden(err) || apierrors.IsUnauthorized(err) }

// await returns nil at the first event since the history was read.
func (r *Reader) await(ctx context.Context, h *History, options FollowOptions) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	selector, err := selectorOf(h.object)
	if err != nil {
		return err
	}
	one := fields.OneTermEqualSelector("metadata.name", h.target.Name).String()
	records := metav1.ListOptions{}
	if h.isDeployment() || h.isStatefulSet() || h.isDaemonSet() {
		records.LabelSelector = selector.String()
	}
	namespace := h.target.Namespace
	watches := []watching{
		{"object", metav1.ListOptions{FieldSelector: one}, r.objects.Resource(h.target.Resource).Namespace(namespace).Watch},
		{"records", records, r.objects.Resource(h.recordType()).Namespace(namespace).Watch},
	}
	if h.podsKnown {
		pods := metav1.ListOptions{LabelSelector: selector.String()}
		watches = append(watches, watching{"pods", pods, r.metadata.Resource(podsResource).Namespace(namespace).Watch})
	}
	first := make(chan error, len(watches))
	for _, w := range watches {
		w.options.ResourceVersion = h.versions[w.what]
		watcher, err := w.watch(ctx, w.options)
		if err != nil {
			return err
		}
		defer watcher.Stop()
		go func() {
			event, open := <-watcher.ResultChan()
			if open && event.Type == watch.Error {
				first <- apierrors.FromObject(event.Object)
			} else {
				first <- nil // an event, or the server closed the watch
			}
		}()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case err := <-first:
		return err
	}
}

// watching is one watch with its selectors.
type watching struct {
	what    string
	options metav1.ListOptions
	watch   func(context.Context, metav1.ListOptions) (watch.Interface, error)
}

// Change is the change of one revision.
type Change struct {
	Revision state.Revision
	// What describes it: "new", "now the update revision", "2 pods, was 3", "gone".
	What string
}

// Changes compares two readings of a history.
func Changes(old, new state.RevisionList) []Change {
	var out []Change
	at := func(list []state.Revision, r state.Revision) int {
		return slices.IndexFunc(list, func(o state.Revision) bool { return o.Object.Same(r.Object) })
	}
	for _, r := range old.Items {
		if at(new.Items, r) < 0 {
			r.Pods, r.PodCount, r.Current, r.Update = nil, 0, false, false
			out = append(out, Change{r, "gone"})
		}
	}
	for _, r := range new.Items {
		i := at(old.Items, r)
		if i < 0 {
			out = append(out, Change{r, "new"})
			continue
		}
		was := old.Items[i]
		switch {
		case r.Revision != was.Revision:
			out = append(out, Change{r, fmt.Sprintf("was revision %d", was.Revision)})
		case r.Update && !was.Update:
			out = append(out, Change{r, "now the update revision"})
		case r.Current && !was.Current:
			out = append(out, Change{r, "now the current revision"})
		case r.PodCount != was.PodCount:
			out = append(out, Change{r, fmt.Sprintf("%d pods, was %d", r.PodCount, was.PodCount)})
		case !slices.Equal(r.Pods, was.Pods):
			out = append(out, Change{r, "pods replaced"})
		case r.Current != was.Current || r.Update != was.Update:
			out = append(out, Change{r, "status changed"})
		}
	}
	return out
}
