package state

import (
	"slices"
	"strings"
)

// QueueKeys says what the keys of a work queue stand for. A controller's are in the
// journal, so that a recording can be read without knowing the controller.
type QueueKeys struct {
	Queue string `json:"queue"`
	// Types are the types of the objects that the keys name, "deployments.apps"; in
	// nearly every queue it is one.
	Types []string `json:"types,omitempty"`
	// Prefixes are, by type, what stands before the object's name in a key. Where a
	// queue has several types, each has one.
	Prefixes map[string]string `json:"prefixes,omitempty"`
	// Any: the keys name objects of any type, as "Kind.group namespace/name".
	Any bool `json:"any,omitempty"`
	// Feeds: another queue, or a graph of the controller, is filled from it, and stays
	// empty where its keys are held back. They are done for no object of their own.
	Feeds bool `json:"feeds,omitempty"`
}

// Object is the type and the "namespace/name" of the object that a key names; false
// where the queue's types do not tell.
func (q QueueKeys) Object(key string) (typ, name string, ok bool) {
	for _, t := range q.Types {
		rest, has := strings.CutPrefix(key, q.Prefixes[t])
		if !has {
			continue
		}
		// Other keys stand for a selector, or for all there is.
		return t, rest, rest != "" && !strings.Contains(rest, "{")
	}
	return "", "", false
}

// Keys says what the keys of one of the controller's queues stand for; false where
// the journal does not have it.
func (c *Controller) Keys(queue string) (QueueKeys, bool) {
	i := slices.IndexFunc(c.QueueKeys, func(q QueueKeys) bool { return q.Queue == queue })
	if i < 0 {
		return QueueKeys{}, false
	}
	return c.QueueKeys[i], true
}

// KeyObject is the object that a key names: of the type that its queue's keys have,
// or otherwise the object of a cause that bears the same name. Its version and UID are
// those that the journal has; it is empty where nothing tells the type.
func (s *Snapshot) KeyObject(k *Key) Ref {
	typ, name := "", ""
	if c, known := s.Controllers.Get(k.Controller); known {
		if keys, known := c.Keys(k.Queue); known {
			typ, name, _ = keys.Object(k.Key)
		}
	}
	if typ == "" || name == "" {
		for c := range k.causes {
			if c.Object != nil && c.Object.Key() == k.Key {
				return *c.Object
			}
		}
		return Ref{}
	}
	ref := Ref{Name: name}
	ref.Resource, ref.Group, _ = strings.Cut(typ, ".")
	if namespace, name, ok := strings.Cut(name, "/"); ok {
		ref.Namespace, ref.Name = namespace, name
	}
	if o := s.Object(ref); o != nil {
		return o.Ref
	}
	for c := range k.causes {
		if c.Object != nil && c.Object.Type() == typ && c.Object.Key() == name {
			return *c.Object
		}
	}
	return ref
}

// causes yields the causes that are known of a key, the latest first.
func (k *Key) causes(yield func(Cause) bool) {
	if !yield(k.Cause) {
		return
	}
	for _, s := range slices.Backward(k.Attempts) {
		if !yield(s.Cause) {
			return
		}
	}
}

// maxKeyTypes bounds the types of one queue's keys.
const maxKeyTypes = 16

// queueKeys is what is kept of a controller's: a recording is not to be trusted.
func (f *folder) queueKeys(all []QueueKeys) []QueueKeys {
	if len(all) == 0 {
		return nil
	}
	kept := slices.Clone(all[:min(len(all), f.s.Limits.Queues)])
	for i, q := range kept {
		kept[i] = QueueKeys{Queue: f.name(q.Queue), Any: q.Any, Feeds: q.Feeds}
		for _, t := range q.Types[:min(len(q.Types), maxKeyTypes)] {
			kept[i].Types = append(kept[i].Types, f.name(t))
			prefix, has := q.Prefixes[t]
			if !has {
				continue
			}
			if kept[i].Prefixes == nil {
				kept[i].Prefixes = map[string]string{}
			}
			kept[i].Prefixes[f.name(t)] = f.name(prefix)
		}
	}
	return kept
}
