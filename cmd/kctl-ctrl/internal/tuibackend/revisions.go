package tuibackend

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/rest"

	"github.com/kctl-ctrl/kctl-ctrl/tui/port"
	"github.com/kctl-ctrl/kctl-ctrl/watch/revisions"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Bounds of the list of all histories: whole objects are read for it.
const (
	mostHistories     = 10_000
	mostHistoryPods   = 20_000
	mostHistoryErrors = 3
)

// Revisions reads histories for the screen.
type Revisions struct {
	config    *rest.Config
	namespace func() string
}

var _ port.Revisions = (*Revisions)(nil)

// NewRevisions makes the reader; an empty namespace is all.
func NewRevisions(config *rest.Config, namespace func() string) *Revisions {
	return &Revisions{config: config, namespace: namespace}
}

// List gives all histories; its error beside them says what could not be read.
func (v *Revisions) List(ctx context.Context) ([]state.RevisionList, error) {
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	reader, err := revisions.ForConfig(v.config)
	if err != nil {
		return nil, err
	}
	histories, gaps, err := reader.ReadAll(ctx, v.namespace(), revisions.AllLimits{Objects: mostHistories, Pods: mostHistoryPods})
	if err != nil {
		return nil, revisions.Explain(err)
	}
	lists := make([]state.RevisionList, len(histories))
	for i, h := range histories {
		lists[i] = h.List()
	}
	return lists, gapsError(gaps)
}

// gapsError puts what could not be read into one line.
func gapsError(gaps []error) error {
	var words []string
	for i, gap := range gaps {
		if i == mostHistoryErrors {
			words = append(words, fmt.Sprintf("and %d more", len(gaps)-i))
			break
		}
		words = append(words, revisions.Explain(gap).Error())
	}
	if words == nil {
		return nil
	}
	return errors.New(strings.Join(words, "; "))
}

func (v *Revisions) history(ctx context.Context, object state.Ref) (*revisions.History, error) {
	resource, kind, known := revisions.WellKnown(object.Type())
	if !known {
		return nil, fmt.Errorf("%s keep no revisions that this screen reads: try 'kctl-ctrl revisions'", object.Type())
	}
	reader, err := revisions.ForConfig(v.config)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, readTimeout)
	defer cancel()
	h, err := reader.Read(ctx, revisions.Target{Resource: resource, Kind: kind, Namespace: object.Namespace, Name: object.Name})
	if err != nil {
		return nil, revisions.Explain(err)
	}
	return h, nil
}

// Of reads one history.
func (v *Revisions) Of(ctx context.Context, object state.Ref) (state.RevisionList, error) {
	h, err := v.history(ctx, object)
	if err != nil {
		return state.RevisionList{}, err
	}
	return h.List(), nil
}

// Diff compares two revisions, or one with the object as it is.
func (v *Revisions) Diff(ctx context.Context, object state.Ref, from, to string) (state.RevisionDiff, error) {
	h, err := v.history(ctx, object)
	if err != nil {
		return state.RevisionDiff{}, err
	}
	return h.Diff(from, to)
}

// Undo previews a rollback.
func (v *Revisions) Undo(ctx context.Context, object state.Ref, to int64) (state.RevisionUndo, error) {
	h, err := v.history(ctx, object)
	if err != nil {
		return state.RevisionUndo{}, err
	}
	return h.Undo(to)
}
