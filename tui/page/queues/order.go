package queues

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/render"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// keySort is what the keys are sorted by.
type keySort string

const (
	byState      keySort = "state"
	byKey        keySort = "key"
	byAge        keySort = "age"
	byRetries    keySort = "retries"
	byController keySort = "controller"
)

func keySorts() []keySort { return []keySort{byState, byKey, byAge, byRetries, byController} }

// keyQuery says which keys are shown, in which order.
type keyQuery struct {
	controller string // empty for all
	failures   bool   // those whose last attempt failed, only
	noDone     bool
	// renewals: keys that are done and were added because a lease was renewed are
	// shown too.
	renewals bool
	sort     keySort
	reverse  bool
	filter   string
}

// keyOrder is the answer to a query of one snapshot. It is immutable.
type keyOrder struct {
	snap  *state.Snapshot
	query keyQuery
	ids   []string
	keys  []*state.Key
	// counts are by phase, of what is shown; failing counts all whose last attempt
	// failed, shown or not.
	counts  map[state.Phase]int
	failing int
	// renewals counts the keys of renewed leases that are left out.
	renewals int
}

// idKey is a key before it is sorted; at is its place then.
type idKey struct {
	id  string
	key *state.Key
	at  int
}

// orderKeys walks all keys of a snapshot and sorts those asked for. With many
// keys it takes tenths of a second: it is run in a command then.
func orderKeys(s *state.Snapshot, q keyQuery, f widget.Filter) *keyOrder {
	o := &keyOrder{snap: s, query: q, counts: map[state.Phase]int{}}
	var rows []idKey
	take := func(id string, k *state.Key) {
		if q.controller != "" && k.Controller != q.controller {
			return
		}
		failing := failing(k)
		if failing {
			o.failing++
		}
		if !q.renewals && !failing && k.Phase == state.PhaseDone && k.Cause.Renewal() {
			o.renewals++
			return
		}
		if q.failures && !failing || !f.MatchesAll() && !f.Matches(keyFields(k)...) {
			return
		}
		o.counts[k.Phase]++
		rows = append(rows, idKey{id, k, len(rows)})
	}
	for id, k := range s.Keys.All() {
		take(id, k)
	}
	if !q.noDone {
		for id, k := range s.Done.All() {
			take(id, k)
		}
	}
	// With the places it is stable, and three times as fast as SortStableFunc.
	compare := compareKeys(q.sort)
	slices.SortFunc(rows, func(a, b idKey) int {
		if c := compare(a, b); c != 0 {
			return c
		}
		return a.at - b.at
	})
	if q.reverse {
		slices.Reverse(rows)
	}
	o.ids, o.keys = make([]string, len(rows)), make([]*state.Key, len(rows))
	for i, r := range rows {
		o.ids[i], o.keys[i] = r.id, r.key
	}
	return o
}

// failing reports whether the last that is known of a key is a failure.
func failing(k *state.Key) bool {
	n := len(k.Attempts)
	return k.Retries > 0 || n > 0 && k.Attempts[n-1].Failed
}

// keyFields are what the row of a key shows, apart from what changes with the time.
func keyFields(k *state.Key) []string {
	last, _ := lastAttempt(k)
	return []string{
		k.Key, k.Controller, render.ShortName(k.Controller), k.Queue, string(k.Phase), last, k.Cause.String(),
		render.Resolved(k.LastError, k.LastErrorCleared), widget.Count(k.Retries), widget.Count(k.Syncs),
	}
}

func compareKeys(by keySort) func(a, b idKey) int {
	switch by {
	case byKey:
		return func(a, b idKey) int { return strings.Compare(a.key.Key, b.key.Key) }
	case byAge:
		return func(a, b idKey) int { return a.key.Since.Compare(b.key.Since) }
	case byRetries:
		return func(a, b idKey) int { return cmp.Compare(b.key.Retries, a.key.Retries) }
	case byController:
		return func(a, b idKey) int { return strings.Compare(a.id, b.id) }
	}
	return func(a, b idKey) int {
		if c := cmp.Compare(phaseOrder(a.key.Phase), phaseOrder(b.key.Phase)); c != 0 {
			return c
		}
		switch a.key.Phase {
		case state.PhaseWaiting:
			return a.key.Due.Compare(b.key.Due)
		case state.PhaseDone, state.PhaseDropped:
			return b.key.Since.Compare(a.key.Since)
		}
		return a.key.Since.Compare(b.key.Since)
	}
}

func phaseOrder(p state.Phase) int {
	switch p {
	case state.PhaseProcessing:
		return 0
	case state.PhaseReady:
		return 1
	case state.PhaseDirty:
		return 2
	case state.PhaseWaiting:
		return 3
	}
	return 4
}

// keyRows are the rows of an order, as the keys are now.
type keyRows struct {
	order *keyOrder
	snap  *state.Snapshot
	cells func(id string, k *state.Key) []widget.Cell
}

func (r keyRows) Len() int        { return len(r.order.ids) }
func (r keyRows) ID(i int) string { return r.order.ids[i] }

func (r keyRows) Cells(i int) []widget.Cell { return r.cells(r.order.ids[i], r.at(i)) }

func (r keyRows) Find(id string) int { return r.order.find(id) }

// find is the place of a key, or -1. It is asked for once where the row under the
// cursor has moved: an index would cost more than this walk.
func (o *keyOrder) find(id string) int { return slices.Index(o.ids, id) }

// at is a key as the snapshot shown has it; one that the snapshot has forgotten
// is as it was.
func (r keyRows) at(i int) *state.Key {
	if r.snap == r.order.snap {
		return r.order.keys[i]
	}
	if k, ok := r.snap.Keys.Get(r.order.ids[i]); ok {
		return k
	}
	if k, ok := r.snap.Done.Get(r.order.ids[i]); ok {
		return k
	}
	return r.order.keys[i]
}
