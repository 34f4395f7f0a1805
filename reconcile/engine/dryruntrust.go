package engine

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/connect"
	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// localGroupsAt is LocalGroups for a target.
func localGroupsAt(ctx context.Context, target connect.Target) (func(string) bool, error) {
	readOnly, err := guard.New(guard.Options{Mode: state.ModeReadOnly, Server: target.Server(), BasePath: target.Path()})
	if err != nil {
		return nil, err
	}
	config, err := target.Config(readOnly.Wrap, connect.Limits{})
	if err != nil {
		return nil, err
	}
	return LocalGroups(ctx, config)
}

// LocalGroups asks which API groups kube-apiserver serves itself, its
// CustomResourceDefinitions included: those honour dryRun. An aggregated API
// server may not. Where the user may not ask, only the built-in groups count. The
// answer is asked for again as it grows old.
func LocalGroups(ctx context.Context, config *rest.Config) (func(string) bool, error) {
	client, err := discovery.NewDiscoveryClientForConfig(connect.ForQuestions(config))
	if err != nil {
		return nil, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	t := &dryRunTrust{now: time.Now, read: func(ctx context.Context) (func(string) bool, error) {
		raw, err := client.RESTClient().Get().AbsPath("/apis/apiregistration.k8s.io/v1/apiservices").DoRaw(ctx)
		if err != nil {
			if apierrors.IsForbidden(err) {
				return request.BuiltinGroup, nil
			}
			return nil, explain.Error(err, "ask "+config.Host+" which API groups it serves itself")
		}
		groups, err := trustedGroups(raw)
		return groups, explain.Error(err, "read what "+config.Host+" says of its API groups")
	}}
	if err := t.renew(ctx); err != nil {
		return nil, err
	}
	return t.trusts, nil
}

// An answer about API groups is believed for trustFor, and an unanswered question
// given up after trustWithin.
const (
	trustFor    = 5 * time.Second
	trustWithin = 5 * time.Second
)

// dryRunTrust is what is known of API groups. A group that an aggregated API server
// takes over is trusted for trustFor at most.
type dryRunTrust struct {
	read func(context.Context) (func(string) bool, error)
	now  func() time.Time

	mu     sync.Mutex
	groups func(string) bool
	since  time.Time // when groups was asked for
}

// trusts may ask the server, once for all writes that wait for it. Where the server
// does not answer, the built-in groups are trusted and no other.
func (t *dryRunTrust) trusts(group string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if age := t.now().Sub(t.since); age < 0 || age >= trustFor {
		ctx, cancel := context.WithTimeout(context.Background(), trustWithin)
		defer cancel()
		if err := t.renew(ctx); err != nil {
			t.groups, t.since = request.BuiltinGroup, t.now()
		}
	}
	return t.groups(group)
}

// renew is called with the lock held, or before anybody else knows of t.
func (t *dryRunTrust) renew(ctx context.Context) error {
	asked := t.now()
	groups, err := t.read(ctx)
	if err != nil {
		return err
	}
	t.groups, t.since = groups, asked
	return nil
}

// trustedGroups reads a list of APIServices: a group is trusted if none of its
// versions is served by a Service.
func trustedGroups(raw []byte) (func(string) bool, error) {
	var list struct {
		Items []struct {
			Spec struct {
				Group   string
				Service *struct{ Name string }
			}
		}
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		return nil, fmt.Errorf("read the list of APIServices: %w", err)
	}
	local := map[string]bool{}
	for _, item := range list.Items {
		before, seen := local[item.Spec.Group]
		local[item.Spec.Group] = item.Spec.Service == nil && (before || !seen)
	}
	return func(group string) bool { return local[group] }, nil
}
