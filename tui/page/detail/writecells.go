package detail

import (
	"strconv"
	"strings"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// WriteObject is what a write is about, short: "deployments/status shop/web".
func WriteObject(w state.WriteFinished) string {
	kind := w.Object.Resource
	if w.Subresource != "" {
		kind += "/" + w.Subresource
	}
	if w.Object.Name == "" && w.Object.Namespace != "" {
		return kind + " in " + w.Object.Namespace
	}
	return strings.TrimSpace(kind + " " + w.Object.Key())
}

// ResultWord says whether a write was real.
func ResultWord(w state.WriteFinished) string {
	switch w.Result {
	case state.WriteDone:
		return "real"
	case state.WriteDry:
		return "dry"
	}
	return string(w.Result)
}

// ResultStyle is the style of ResultWord.
func ResultStyle(r state.WriteResult) widget.Style {
	switch r {
	case state.WriteDone:
		return widget.Good
	case state.WriteDry:
		return widget.Warn
	}
	return widget.Bad
}

// VerbStyle is the style of a verb: what deletes stands out.
func VerbStyle(verb string) widget.Style {
	switch {
	case verb == "create":
		return widget.Good
	case strings.HasPrefix(verb, "delete"):
		return widget.Warn
	}
	return widget.Text
}

// StatusCode is an HTTP status for a column; nothing where there was no answer.
func StatusCode(n int) string {
	if n == 0 {
		return ""
	}
	return strconv.Itoa(n)
}

// WriteSubject is a write as a subject: an Event that is written stands for the
// object that it is about.
func WriteSubject(w state.WriteFinished, seq uint64) page.Subject {
	s := page.Subject{
		Kind: page.OnWrite, Controller: w.Controller, Queue: w.Cause.Queue, Key: w.Cause.Key, Sync: w.Cause.Sync,
		Object: w.Object, Seq: seq, Name: w.Verb + " " + WriteObject(w), Copy: func() string { return WriteText(w) },
	}
	if about, tells := w.About(); tells { // nobody wants the Event's own tree
		s.Explain, s.Object = "told", about
	} else if w.Result == state.WriteDry {
		s.Explain = "dry-write"
	}
	return s
}

// EventSubject is what an entry is about, as other pages know it.
func EventSubject(event state.Event, seq uint64) page.Subject {
	key := func(controller, queue, key string, sync uint64) page.Subject {
		return page.Subject{Kind: page.OnKey, Controller: controller, Queue: queue, Key: key, Sync: sync, Seq: seq, Name: key, Explain: "event"}
	}
	switch e := event.(type) {
	case state.WriteFinished:
		return WriteSubject(e, seq)
	case state.ObjectChanged:
		return page.Subject{Kind: page.OnObject, Object: e.Object, Informer: e.Object.Type(), Seq: seq, Name: e.Object.Name, Explain: "event"}
	case state.KeyAdded:
		s := key(e.Controller, e.Queue, e.Key, 0)
		s.Explain = "enqueue"
		return s
	case state.KeyReady:
		return key(e.Controller, e.Queue, e.Key, 0)
	case state.KeyTaken:
		s := key(e.Controller, e.Queue, e.Key, e.Sync)
		s.Explain = "sync"
		return s
	case state.KeyFinished:
		s := key(e.Controller, e.Queue, e.Key, e.Sync)
		s.Explain = "sync"
		return s
	case state.KeyForgotten:
		return key(e.Controller, e.Queue, e.Key, 0)
	case state.KeyDropped:
		return key(e.Controller, e.Queue, e.Key, 0)
	case state.ControllerChanged:
		return page.Subject{Kind: page.OnController, Controller: e.Controller, Seq: seq, Name: e.Controller}
	case state.InformerChanged:
		return page.Subject{Kind: page.OnInformer, Informer: e.Informer, Seq: seq, Name: e.Informer}
	case state.Gap:
		return page.Subject{Kind: page.OnInformer, Informer: e.Informer, Seq: seq, Name: e.Informer, Explain: "gap"}
	case state.LeaseChanged:
		return page.Subject{Kind: page.OnLease, Object: e.Lease, Seq: seq, Name: e.Lease.Name}
	}
	return page.Subject{Kind: page.OnEvent, Seq: seq, Name: state.Describe(event)}
}
