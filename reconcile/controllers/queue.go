package controllers

import (
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/tap"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Queue is one work queue of a controller.
type Queue struct {
	// Spec has its name, the field that upstream keeps it in, the type of its keys
	// and what their retries mean. The name is the one in upstream's metrics. Where two
	// queues share one, or have none, it is made up after that pattern; no two queues
	// of all controllers have the same.
	tap.Spec
	// Loop is the loop that has it, where the controller has several.
	Loop string

	// Types, Prefixes, Any and Feeds say what its keys stand for, as in
	// state.QueueKeys.
	Types    []string
	Prefixes map[string]string
	Any      bool
	Feeds    bool
}

// Keys says what the queue's keys stand for, in the journal's terms.
func (q Queue) Keys() state.QueueKeys {
	return state.QueueKeys{Queue: q.Name(), Types: q.Types, Prefixes: q.Prefixes, Any: q.Any, Feeds: q.Feeds}
}

// queueNames are the names of the controller's queues, sorted.
func (d *Descriptor) queueNames() []string {
	names := []string{}
	for _, q := range d.Queues {
		names = append(names, q.Name())
	}
	slices.Sort(names)
	return names
}

// queueKeys says what the keys of the controller's queues stand for, by the queue's
// name.
func (d *Descriptor) queueKeys() []state.QueueKeys {
	var keys []state.QueueKeys
	for _, q := range d.Queues {
		keys = append(keys, q.Keys())
	}
	slices.SortFunc(keys, func(a, b state.QueueKeys) int { return strings.Compare(a.Queue, b.Queue) })
	return keys
}

// Loops are the names of the controller's loops: its own, or its parts.
func (d *Descriptor) Loops() []string {
	if d.Parts == nil {
		return []string{d.Name}
	}
	return d.Parts
}

// Specs are the queues of one of the controller's loops, for the pointer that
// upstream's constructor returns. Some loops have none.
func (d *Descriptor) Specs(loop string) ([]tap.Spec, error) {
	if !slices.Contains(d.Loops(), loop) {
		return nil, fmt.Errorf("%s has no part %q", d.Name, loop)
	}
	var specs []tap.Spec
	for _, q := range d.Queues {
		if d.Parts == nil || q.Loop == loop {
			specs = append(specs, q.Spec)
		}
	}
	return specs, nil
}

// KeysOf says what the keys of a queue stand for; false for a queue that no
// controller has.
func KeysOf(controller, queue string) (state.QueueKeys, bool) {
	keys, known := everyQueue()[queueID{controller, queue}]
	return keys, known
}

// everyQueue is asked for each key that a filter passes or holds back.
var everyQueue = sync.OnceValue(func() map[queueID]state.QueueKeys {
	all := map[queueID]state.QueueKeys{}
	for _, d := range Descriptors() {
		for _, q := range d.Queues {
			all[queueID{d.Name, q.Name()}] = q.Keys()
		}
	}
	return all
})

type queueID struct{ controller, queue string }

// DecidersOf are the controllers that decide about objects of a type,
// "deployments.apps".
func DecidersOf(typ string) []string {
	var names []string
	for _, d := range Descriptors() {
		if slices.Contains(d.Decides, typ) {
			names = append(names, d.Name)
		}
	}
	return names
}

// Expecting are the controllers that wait for the objects they have written; see
// Descriptor.Expects.
func Expecting() []string {
	var names []string
	for _, d := range Descriptors() {
		if d.Expects {
			names = append(names, d.Name)
		}
	}
	return names
}

// Confinable reports whether all of the controllers named stay correct when their
// informers see one namespace only.
func Confinable(controllers []string) bool {
	safe := map[string]bool{}
	for _, d := range Descriptors() {
		safe[d.Name] = d.NamespaceSafe
	}
	for _, name := range controllers {
		if !safe[name] {
			return false
		}
	}
	return true
}
