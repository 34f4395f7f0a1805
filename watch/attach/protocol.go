package attach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// protocol is the version of the protocol.
const protocol = 1

// maxQuestion bounds a request, in bytes.
const maxQuestion = 64 << 10

// Host answers requests about its process. Its methods are safe for concurrent use;
// their context ends when the client disconnects.
type Host interface {
	Process() state.Process
	Queues(context.Context, QueueQuery) ([]state.QueueStats, error)
	Informers(context.Context) ([]state.StoreStats, error)
	Cache(context.Context, CacheQuery) (state.CacheView, error)
}

// QueueQuery requests queues.
type QueueQuery struct {
	// Keys is the maximum number of keys per queue; zero means none.
	Keys int `json:"keys,omitempty"`
}

// CacheQuery requests the contents of an informer.
type CacheQuery struct {
	// Type as the user typed it: "pods", "deploy", "deployments.apps".
	Type string `json:"type"`
	// Namespace and Name restrict it; empty means all.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Whole requests complete objects instead of metadata.
	Whole bool `json:"whole,omitempty"`
	// Compare also reads from the server; Wait is how long the store may take to catch
	// up with the server, in nanoseconds.
	Compare bool          `json:"compare,omitempty"`
	Wait    time.Duration `json:"wait,omitempty"`
	// Sync is how long the informer may take to sync, in nanoseconds.
	Sync time.Duration `json:"sync,omitempty"`
}

// NotFoundError means that nothing has the requested name: a result, as opposed to a
// failure.
type NotFoundError struct{ Text string }

func (e *NotFoundError) Error() string { return e.Text }

type question struct {
	Protocol int         `json:"protocol"`
	Ask      string      `json:"ask"`
	Queues   *QueueQuery `json:"queues,omitempty"`
	Cache    *CacheQuery `json:"cache,omitempty"`
}

type answer struct {
	Protocol  int                `json:"protocol"`
	Error     string             `json:"error,omitempty"`
	NotFound  bool               `json:"notFound,omitempty"`
	Process   state.Process      `json:"process"`
	Queues    []state.QueueStats `json:"queues,omitempty"`
	Informers []state.StoreStats `json:"informers,omitempty"`
	Cache     *state.CacheView   `json:"cache,omitempty"`
}

func (a *answer) err() error {
	switch {
	case a.NotFound:
		return &NotFoundError{a.Error}
	case a.Error != "":
		return errors.New(a.Error)
	}
	return nil
}

func reply(ctx context.Context, host Host, q question) answer {
	a := answer{Protocol: protocol, Process: host.Process()}
	if q.Protocol != protocol {
		a.Error = fmt.Sprintf("kctl-ctrl %s uses attach protocol %d, the request uses %d: use the same release for both", a.Process.Version, protocol, q.Protocol)
		return a
	}
	var err error
	switch {
	case q.Ask == "process":
	case q.Ask == "queues" && q.Queues != nil:
		a.Queues, err = host.Queues(ctx, *q.Queues)
	case q.Ask == "informers":
		a.Informers, err = host.Informers(ctx)
	case q.Ask == "cache" && q.Cache != nil:
		var view state.CacheView
		view, err = host.Cache(ctx, *q.Cache)
		a.Cache = &view
	default:
		err = fmt.Errorf("kctl-ctrl %s does not support the request %q", a.Process.Version, q.Ask)
	}
	if err != nil {
		var absent *NotFoundError
		a.Error, a.NotFound, a.Cache = err.Error(), errors.As(err, &absent), nil
	}
	return a
}
