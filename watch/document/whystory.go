package document

import (
	"reflect"
	"regexp"
	"slices"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Bounds of a WhyStory.
const (
	maxStorySyncs  = 100
	maxStoryCauses = 5
	maxStoryDiff   = 12
)

// StoryTeller builds a WhyStory from the entries of a journal.
type StoryTeller struct {
	concerns func(controller, queue, key string) bool
	waiting  map[queueKey][]state.Cause
	counts   map[queueKey]int
	running  map[uint64]*StorySync
	// order has the syncs in the order in which they started.
	order []*StorySync
	left  int
}

type queueKey struct{ controller, queue, key string }

// NewStoryTeller returns one that follows the keys for which concerns returns true.
func NewStoryTeller(concerns func(controller, queue, key string) bool) *StoryTeller {
	return &StoryTeller{
		concerns: concerns, waiting: map[queueKey][]state.Cause{}, counts: map[queueKey]int{}, running: map[uint64]*StorySync{},
	}
}

// Add processes the next entry of the journal.
func (t *StoryTeller) Add(e state.Entry) {
	switch e := e.Event.(type) {
	case state.KeyAdded:
		t.added(queueKey{e.Controller, e.Queue, e.Key}, e.Cause)
	case state.KeyTaken:
		t.taken(e)
	case state.WriteFinished:
		if s := t.running[e.Cause.Sync]; s != nil && e.Cause.Kind == state.CauseSync {
			s.write(e)
		}
	case state.KeyFinished:
		if s := t.running[e.Sync]; s != nil {
			s.Failed, s.Error = e.Failed, e.Error
		}
	}
}

func (t *StoryTeller) added(k queueKey, cause state.Cause) {
	if !t.concerns(k.controller, k.queue, k.key) {
		return
	}
	t.counts[k]++
	if len(t.waiting[k]) < maxStoryCauses && !slices.ContainsFunc(t.waiting[k], func(c state.Cause) bool { return reflect.DeepEqual(c, cause) }) {
		t.waiting[k] = append(t.waiting[k], cause)
	}
}

func (t *StoryTeller) taken(e state.KeyTaken) {
	k := queueKey{e.Controller, e.Queue, e.Key}
	if !t.concerns(k.controller, k.queue, k.key) {
		return
	}
	s := &StorySync{Controller: e.Controller, Queue: e.Queue, Key: e.Key, Causes: t.waiting[k], CauseCount: t.counts[k]}
	delete(t.waiting, k)
	delete(t.counts, k)
	if len(t.order) >= maxStorySyncs {
		t.left++
		return
	}
	t.order = append(t.order, s)
	t.running[e.Sync] = s
}

func (s *StorySync) write(e state.WriteFinished) {
	w := StoryWrite{
		Verb: e.Verb, Object: e.Object, Subresource: e.Subresource, Count: 1,
		Result: e.Result, Status: e.Status, Message: e.Message, FirstHop: e.Result == state.WriteDry,
	}
	if e.Verb != "create" && e.Verb != "delete" {
		w.Diff = e.Diff[:min(len(e.Diff), maxStoryDiff)]
	}
	for i := range s.Writes {
		if s.Writes[i].like(w) {
			s.Writes[i].Count += w.Count
			return
		}
	}
	s.Writes = append(s.Writes, w)
}

// like reports whether two writes differ only in the object's name.
func (w StoryWrite) like(o StoryWrite) bool {
	return w.Verb == o.Verb && w.Object.Type() == o.Object.Type() && w.Object.Namespace == o.Object.Namespace &&
		w.Subresource == o.Subresource && w.Result == o.Result && w.Status == o.Status && anyName(w.Message) == anyName(o.Message) &&
		reflect.DeepEqual(w.Diff, o.Diff) && (w.Verb == "create" || w.Object.Name == o.Object.Name)
}

// Story returns the story so far. Consecutive syncs of one key with the same result are
// merged.
func (t *StoryTeller) Story() WhyStory {
	s := WhyStory{Syncs: []StorySync{}, Left: t.left}
	last := map[queueKey]int{}
	for _, sync := range t.order {
		k := queueKey{sync.Controller, sync.Queue, sync.Key}
		if i, again := last[k]; again && s.Syncs[i].sameAs(*sync) {
			s.Syncs[i].Repeat++
			continue
		}
		last[k] = len(s.Syncs)
		s.Syncs = append(s.Syncs, *sync)
	}
	return s
}

// generated matches a generated suffix of a name: five characters of
// k8s.io/apimachinery's alphabet.
var generated = regexp.MustCompile(`-[bcdfghjklmnpqrstvwxz2456789]{5}\b`)

// anyName removes generated suffixes from a message: attempts that failed the same way
// differ in them.
func anyName(message string) string { return generated.ReplaceAllString(message, "-*") }

func (s StorySync) sameAs(o StorySync) bool {
	return s.Failed == o.Failed && anyName(s.Error) == anyName(o.Error) && slices.EqualFunc(s.Writes, o.Writes, func(a, b StoryWrite) bool {
		return a.Count == b.Count && a.like(b)
	})
}
