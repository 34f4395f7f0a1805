package attach

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// protocol is the version of what is said over the socket.
const protocol = 1

// maxQuestion bounds a question, in bytes.
const maxQuestion = 64 << 10

// Host answers about the process it is in. Its methods are called on any
// goroutine, several at a time; their context ends when the asker goes away.
type Host interface {
	Process() state.Process
	Queues(context.Context, QueueQuery) ([]state.QueueStats, error)
	Informers(context.Context) ([]state.StoreStats, error)
	Cache(context.Context, CacheQuery) (state.CacheView, error)
}

// QueueQuery asks for queues.
type QueueQuery struct {
	// Keys is how many keys of each queue are wanted; zero is none.
	Keys int `json:"keys,omitempty"`
}

// CacheQuery asks what an informer holds.
type CacheQuery struct {
	// Type is as the user wrote it: "pods", "deploy", "deployments.apps".
	Type string `json:"type"`
	// Namespace and Name narrow it; empty is all.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
	// Whole asks for the objects and not only their metadata.
	Whole bool `json:"whole,omitempty"`
	// Compare asks the server too, and Wait is how long the store may take to
	// get where the server is, in nanoseconds.
	Compare bool          `json:"compare,omitempty"`
	Wait    time.Duration `json:"wait,omitempty"`
	// Sync is how long the informer may take to sync, in nanoseconds.
	Sync time.Duration `json:"sync,omitempty"`
}

// NotFoundError says that there is nothing under a name: a kind of answer, as
// opposed to a failure.
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
