package render

import (
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Verbosity is how much of the journal is printed.
type Verbosity int

const (
	// Essential prints writes, except the heartbeats of nodes and leaders; syncs that
	// wrote, failed or were slow; retries; controllers that failed; notes, warnings and
	// losses.
	Essential Verbosity = iota
	// Everything prints every entry.
	Everything
)

// JournalOptions control the lines of a Journal. The zero value is suitable for a pipe.
type JournalOptions struct {
	Verbosity Verbosity
	// Color adds SGR sequences; no information depends on them.
	Color bool
	// Width cuts lines to a number of cells; zero leaves them whole.
	Width int
	// Diffs prints the field changes of a write below it.
	Diffs bool
	// Slow is the duration from which a sync is printed even if it wrote nothing; one
	// second if zero.
	Slow time.Duration
	// Location is the time zone of times of day; UTC if nil.
	Location *time.Location
	// NameWidth is the width of the controller column; 20 if zero. Longer names shift
	// their line.
	NameWidth int
}

// maxOpen bounds the syncs in flight that a Journal tracks.
const maxOpen = 4096

// Journal prints entries as lines for people:
//
//	15:04:05.204 deployment  shop/web  create replicasets.apps shop/web-7c9 201 in 6ms
//	15:04:05.211 deployment  shop/web  sync took 13ms, 1 write ← deployments.apps shop/web updated (rv 412→418)
//	15:04:05.310 replicaset  shop/web-7c9  retry 3, due in 40ms
//
// It is fed the entries in their order, by one goroutine.
type Journal struct {
	opts JournalOptions
	// open has the causes of the syncs in flight.
	open map[uint64]state.Cause
	// loops has the names of the controllers seen, as against other writers,
	// which have no causes to tell.
	loops map[string]bool
	// renewed has the leases that each writer has written, so that its next update is
	// recognised as a renewal.
	renewed map[leaseKept]bool
}

// leaseKept is a lease and its holder.
type leaseKept struct{ controller, namespace, name string }

// NewJournal returns a Journal that has seen no entry.
func NewJournal(opts JournalOptions) *Journal {
	if opts.Slow <= 0 {
		opts.Slow = time.Second
	}
	if opts.Location == nil {
		opts.Location = time.UTC
	}
	if opts.NameWidth <= 0 {
		opts.NameWidth = 20
	}
	return &Journal{opts: opts, open: map[uint64]state.Cause{}, loops: map[string]bool{}, renewed: map[leaseKept]bool{}}
}

// Write prints an entry to w if its verbosity asks for it, in one call of w.Write.
func (j *Journal) Write(w io.Writer, e state.Entry) error {
	lines := j.Lines(e)
	if len(lines) == 0 {
		return nil
	}
	_, err := io.WriteString(w, strings.Join(lines, "\n")+"\n")
	return err
}

// Lines returns the text of an entry: no line, one line, or more with Diffs. Lines have
// no newline and no control characters except for colours.
func (j *Journal) Lines(e state.Entry) []string {
	cause := j.follow(e.Event)
	if j.opts.Verbosity < Everything && !j.essential(e.Event) {
		return nil
	}
	what := j.words(e.Event, cause)
	if len(what) == 0 {
		return nil
	}
	lines := []string{append(j.head(e), what...).draw(j.opts.Width, j.opts.Color)}
	if write, ok := e.Event.(state.WriteFinished); ok && j.opts.Diffs {
		for _, c := range write.Diff {
			lines = append(lines, change(c).draw(j.opts.Width, j.opts.Color))
		}
		if write.Approximate && len(write.Diff) > 0 {
			lines = append(lines, line{{diffIndent + "(before the server's defaulting and admission)", dim}}.draw(j.opts.Width, j.opts.Color))
		}
	}
	return lines
}

// follow tracks why syncs started and returns the cause of one that ends.
func (j *Journal) follow(e state.Event) state.Cause {
	switch e := e.(type) {
	case state.Checkpoint:
		return j.resume(e)
	case state.KeyTaken:
		if len(j.open) < maxOpen {
			j.open[e.Sync] = e.Cause
		}
	case state.ControllerChanged:
		j.loops[e.Controller] = true
	case state.KeyFinished:
		cause := j.open[e.Sync]
		delete(j.open, e.Sync)
		return cause
	}
	return state.Cause{}
}

// resume restores what earlier entries contained from the state at the start of a
// recording.
func (j *Journal) resume(e state.Checkpoint) state.Cause {
	switch {
	case e.Controller != nil && e.Controller.Status != "":
		j.loops[e.Controller.Name] = true
	case e.Key != nil:
		if run, _, running := e.Key.Running(); running {
			j.follow(run)
		}
	}
	return state.Cause{}
}

func (j *Journal) essential(e state.Event) bool {
	switch e := e.(type) {
	case state.KeyAdded:
		return e.How == "AddRateLimited" && e.Retries > 0
	case state.KeyFinished:
		return e.Failed || e.Error != "" || e.Writes > 0 || e.Duration >= j.opts.Slow
	case state.InformerChanged:
		return e.Status == state.InformerFailed || e.Status == state.InformerRelisted
	case state.ControllerChanged:
		return e.Status == state.ControllerFailed
	case state.WriteFinished:
		return !e.Heartbeat() && !j.renews(e)
	case state.Checkpoint:
		return e.Head != nil
	case state.KeyReady, state.KeyTaken, state.KeyForgotten, state.BreakpointReleased, state.ActiveChanged, state.ObjectChanged, state.LeaseChanged, state.Unknown:
		return false
	}
	return true
}

// renews recognises the renewals of a leader: the same writer has written the same
// lease before. It must see every write that is printed.
func (j *Journal) renews(e state.WriteFinished) bool {
	if e.Object.Group != "coordination.k8s.io" || e.Object.Resource != "leases" || e.Result != state.WriteDone && e.Result != state.WriteDry {
		return false
	}
	this := leaseKept{e.Controller, e.Object.Namespace, e.Object.Name}
	if e.Verb == "delete" {
		delete(j.renewed, this)
		return false
	}
	if !j.renewed[this] && len(j.renewed) < maxOpen {
		j.renewed[this] = true
		return false
	}
	return e.Verb == "update" || e.Verb == "patch" || e.Verb == "apply"
}

func (j *Journal) head(e state.Entry) line {
	d := state.DescribeParts(e.Event)
	l := line{
		{j.time(e.At) + " ", dim},
		{Pad(Sanitise(ShortName(d.Source)), j.opts.NameWidth) + " ", nameStyle(e.Event)},
	}
	if d.Subject != "" {
		l = append(l, span{d.Subject + "  ", bold})
	}
	return l
}

func (j *Journal) time(at time.Time) string {
	return at.In(j.opts.Location).Format("15:04:05.000")
}

// ShortName is a controller's name without the suffix that all of them share.
func ShortName(controller string) string { return state.ShortName(controller) }

func nameStyle(e state.Event) style {
	switch e.(type) {
	case state.Note, state.SessionStarted, state.InformerChanged, state.ObjectChanged, state.LeaseChanged:
		return dim
	case state.Gap, state.Dropped:
		return yellow
	case state.QueueStalled:
		return red
	}
	return cyan
}

// words describes an event. Most events have the text of state.Describe; events that
// are printed with a colour or cause are handled here.
func (j *Journal) words(e state.Event, cause state.Cause) line {
	switch e := e.(type) {
	case state.KeyFinished:
		return finished(e, cause)
	case state.WriteFinished:
		return write(e, j.loops[e.Controller])
	case state.QueueStalled:
		if !e.Resumed {
			return line{{state.DescribeParts(e).Text, red}}
		}
	case state.KeyAdded:
		if e.How == "AddRateLimited" && e.Retries > 0 {
			return line{{fmt.Sprintf("retry %d, due in %s", e.Retries, state.Short(e.Delay)), yellow}}
		}
	case state.ControllerChanged:
		text := state.DescribeParts(e).Text
		switch e.Status {
		case state.ControllerFailed:
			return line{{text, red}}
		case state.ControllerRunning:
			return line{{text, green}}
		}
		return line{{text, dim}}
	case state.ClientRead:
		style := dim
		if e.Failed() {
			style = yellow
		}
		return line{{state.DescribeParts(e).Text, style}}
	case state.Note:
		if e.Warning {
			return line{{state.DescribeParts(e).Text, yellow}}
		}
	case state.ElectionChanged:
		if e.Phase == state.ElectionLost || e.Phase == state.ElectionRenewedLate {
			return line{{state.DescribeParts(e).Text, yellow}}
		}
	case state.Gap, state.Dropped, state.InformerChanged:
		return line{{state.DescribeParts(e).Text, noticeStyle(e)}}
	}
	if state.Alarming(e) {
		return line{{state.DescribeParts(e).Text, yellow}}
	}
	return line{{state.DescribeParts(e).Text, plain}}
}

func noticeStyle(e state.Event) style {
	if i, ok := e.(state.InformerChanged); ok && i.Status != state.InformerFailed && i.Status != state.InformerRelisted {
		return plain
	}
	return yellow
}

func finished(e state.KeyFinished, cause state.Cause) line {
	did, failed := e.Ended()
	l := line{{"sync " + did, plain}}
	switch {
	case e.Failed:
		l = append(l, span{failed, red})
	case failed != "":
		l = append(l, span{failed, yellow})
	}
	if cause.Kind != "" {
		l = append(l, span{" ← " + cause.String(), dim})
	}
	return l
}

// write omits a sync as the cause, because the line's subject is its key. For a
// controller, it also prints that the cause is unknown.
func write(e state.WriteFinished, byLoop bool) line {
	l := line{{state.DescribeWrite(e), verbStyle(e)}}
	if _, ok := e.About(); ok { // the text contains it already
		return l
	}
	switch kind := e.Cause.Kind; {
	case kind == state.CauseTimer, kind == state.CauseUser, kind == state.CauseEvent, kind == state.CauseUnknown && byLoop:
		l = append(l, span{" ← " + e.Cause.String(), dim})
	}
	return l
}

func verbStyle(e state.WriteFinished) style {
	switch {
	case e.Result == state.WriteFailed || e.Result == state.WriteRefused:
		return red
	case e.Verb == "create":
		return green
	case strings.HasPrefix(e.Verb, "delete"):
		return yellow
	}
	return plain
}

const diffIndent = "    "

// change is one field change: "~ spec.replicas: 2 → 3".
func change(c state.FieldChange) line {
	path := diffIndent + " " + c.Path
	switch {
	case c.Old == "" && c.New == "":
		return line{{path, dim}}
	case c.Old == "":
		return line{{diffIndent + "+ " + c.Path + ": " + c.New, green}}
	case c.New == "":
		return line{{diffIndent + "- " + c.Path + ": " + c.Old, red}}
	}
	return line{{diffIndent + "~ " + c.Path + ": ", plain}, {c.Old, red}, {" → ", dim}, {c.New, green}}
}
