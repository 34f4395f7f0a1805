package main

import (
	"context"
	"fmt"

	"github.com/kctl-ctrl/kctl-ctrl/watch/explain"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// stillMay asks again, when the lease is held and before any loop runs, what was
// asked before the wait for it: that may have lasted for days, in which the server
// was upgraded, a right was taken away or the context protected. After an error the
// lease is to be given back.
func (o *runOptions) stillMay(ctx context.Context, s *session, c standing, before string) error {
	err := o.unprotected(c.context)
	now := before
	if err == nil {
		var said answered
		said, err = o.preflight(ctx, c)
		now = said.version
	}
	if err != nil {
		return explain.Cause(ctx, fmt.Errorf("the lease was acquired, and is given back: %w", err))
	}
	if now != before {
		s.hub.Record(state.Note{Source: "election", Text: state.OneLine(fmt.Sprintf("the API server is %s now; it was %s before the wait for the lease", now, before))})
	}
	return nil
}
