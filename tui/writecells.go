package tui

import (
	"strconv"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// writeObject is what a write is about, short: "deployments/status shop/web".
func writeObject(w state.WriteFinished) string {
	kind := w.Object.Resource
	if w.Subresource != "" {
		kind += "/" + w.Subresource
	}
	if w.Object.Name == "" && w.Object.Namespace != "" {
		return kind + " in " + w.Object.Namespace
	}
	return strings.TrimSpace(kind + " " + w.Object.Key())
}

// resultWord says whether a write was real.
func resultWord(w state.WriteFinished) string {
	switch w.Result {
	case state.WriteDone:
		return "real"
	case state.WriteDry:
		return "dry"
	}
	return string(w.Result)
}

func resultStyle(r state.WriteResult) widget.Style {
	switch r {
	case state.WriteDone:
		return widget.Good
	case state.WriteDry:
		return widget.Warn
	}
	return widget.Bad
}

func verbStyle(verb string) widget.Style {
	switch {
	case verb == "create":
		return widget.Good
	case strings.HasPrefix(verb, "delete"):
		return widget.Warn
	}
	return widget.Text
}

func statusCode(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func writeSubject(w state.WriteFinished, seq uint64) subject {
	s := subject{
		kind: onWrite, controller: w.Controller, queue: w.Cause.Queue, key: w.Cause.Key, sync: w.Cause.Sync,
		object: w.Object, seq: seq, name: w.Verb + " " + writeObject(w), copy: func() string { return writeText(w) },
	}
	if about, tells := w.About(); tells { // nobody wants the Event's own tree
		s.explain, s.object = "told", about
	} else if w.Result == state.WriteDry {
		s.explain = "dry-write"
	}
	return s
}

// eventSubject is what an entry is about, as other pages know it.
func eventSubject(event state.Event, seq uint64) subject {
	key := func(controller, queue, key string, sync uint64) subject {
		return subject{kind: onKey, controller: controller, queue: queue, key: key, sync: sync, seq: seq, name: key, explain: "event"}
	}
	switch e := event.(type) {
	case state.WriteFinished:
		return writeSubject(e, seq)
	case state.ObjectChanged:
		return subject{kind: onObject, object: e.Object, informer: e.Object.Type(), seq: seq, name: e.Object.Name, explain: "event"}
	case state.KeyAdded:
		s := key(e.Controller, e.Queue, e.Key, 0)
		s.explain = "enqueue"
		return s
	case state.KeyReady:
		return key(e.Controller, e.Queue, e.Key, 0)
	case state.KeyTaken:
		s := key(e.Controller, e.Queue, e.Key, e.Sync)
		s.explain = "sync"
		return s
	case state.KeyFinished:
		s := key(e.Controller, e.Queue, e.Key, e.Sync)
		s.explain = "sync"
		return s
	case state.KeyForgotten:
		return key(e.Controller, e.Queue, e.Key, 0)
	case state.KeyDropped:
		return key(e.Controller, e.Queue, e.Key, 0)
	case state.ControllerChanged:
		return subject{kind: onController, controller: e.Controller, seq: seq, name: e.Controller}
	case state.InformerChanged:
		return subject{kind: onInformer, informer: e.Informer, seq: seq, name: e.Informer}
	case state.Gap:
		return subject{kind: onInformer, informer: e.Informer, seq: seq, name: e.Informer, explain: "gap"}
	case state.LeaseChanged:
		return subject{kind: onLease, object: e.Lease, seq: seq, name: e.Lease.Name}
	}
	return subject{kind: onEvent, seq: seq, name: state.Describe(event)}
}
