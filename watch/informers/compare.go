package informers

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// grace is how long an event may take from the server to the store before an
// object counts as behind.
const grace = 2 * time.Second

// CompareList holds a store's resourceVersion against that of a list of the server. A
// store that is at the server's is current; one that is not may be of a quiet type,
// and gets there with the next bookmark.
func CompareList(ctx context.Context, config *rest.Config, t owners.Type, namespace string, wait time.Duration, now func() string) *state.ServerView {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return unasked(err, "")
	}
	asked := time.Now()
	list, err := client.Resource(gvrOf(t)).Namespace(namespace).List(ctx, metav1.ListOptions{Limit: 1})
	if err != nil {
		return unasked(err, "list "+t.String())
	}
	v := &state.ServerView{ResourceVersion: list.ResourceVersion, Asked: asked.UTC()}
	reached := func() bool { return AtLeast(now(), v.ResourceVersion) }
	patience := max(wait, grace/4)
	v.Freshness = state.Current
	if !Until(ctx, patience, reached) {
		v.Freshness = state.Undecided
		v.Reason = "a quiet type gets there with the server's next bookmark, about every minute; --wait=75s waits for it"
		if wait >= BookmarkPeriod {
			v.Freshness, v.Reason = state.Behind, fmt.Sprintf("a bookmark was due, and did not come in %s", state.Short(wait))
		}
	}
	return v
}

// BookmarkPeriod is a little more than the minute after which the server sends a
// bookmark (k8s.io/apiserver v0.37.1 pkg/storage/cacher: defaultBookmarkFrequency).
const BookmarkPeriod = 65 * time.Second

// CompareObject holds one object of a store against the server's. held gives the store's
// resourceVersion of it, and whether it is there.
func CompareObject(ctx context.Context, config *rest.Config, t owners.Type, namespace, name string, wait time.Duration, held func() (string, bool)) *state.ServerView {
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return unasked(err, "")
	}
	v := &state.ServerView{Asked: time.Now().UTC()}
	o, err := client.Resource(gvrOf(t)).Namespace(namespace).Get(ctx, name, metav1.GetOptions{})
	patience := max(wait, grace)
	switch {
	case apierrors.IsNotFound(err):
		v.Freshness = state.Current
		if !Until(ctx, patience, func() bool { _, there := held(); return !there }) {
			v.Freshness = state.Gone
		}
	case err != nil:
		return unasked(err, "get "+t.String()+" "+name)
	default:
		v.ResourceVersion, v.Freshness = o.ResourceVersion, state.Current
		if !Until(ctx, patience, func() bool {
			version, there := held()
			return there && AtLeast(version, o.ResourceVersion)
		}) {
			v.Freshness = state.Behind
			if _, there := held(); !there {
				v.Freshness = state.Missing
			}
		}
	}
	return v
}

func unasked(err error, what string) *state.ServerView {
	return &state.ServerView{Freshness: state.Unasked, Reason: explain.Error(err, what).Error(), Asked: time.Now().UTC()}
}

// AtLeast compares resourceVersions; those that are no numbers are equal or not.
func AtLeast(have, want string) bool {
	order, err := resourceversion.CompareResourceVersion(have, want)
	if err != nil {
		return have == want
	}
	return order >= 0
}

// Until looks until the condition holds or the time is over.
func Until(ctx context.Context, within time.Duration, holds func() bool) bool {
	deadline := time.NewTimer(within)
	defer deadline.Stop()
	ticker := time.NewTicker(50 * time.Millisecond)
	defer ticker.Stop()
	for {
		if holds() {
			return true
		}
		select {
		case <-ticker.C:
		case <-deadline.C:
			return holds()
		case <-ctx.Done():
			return false
		}
	}
}

func gvrOf(t owners.Type) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: t.Group, Version: t.Version, Resource: t.Resource}
}
