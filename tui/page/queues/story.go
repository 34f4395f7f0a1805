package queues

import (
	"cmp"
	"fmt"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/tui/widget"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// keyWrites are the writes of one key's syncs in one snapshot, so that they are
// looked for once and not for each picture.
type keyWrites struct {
	snap *state.Snapshot
	id   string
	by   map[uint64][]*state.Write // by the number of the sync, oldest first
}

// look looks for those of a key, where they are not known.
func (c *keyWrites) look(s *state.Snapshot, k *state.Key) {
	if c.snap != s || c.id != state.KeyID(k.Controller, k.Queue, k.Key) {
		*c = writesOf(s, k)
	}
}

// of gives those of a key: of another than was looked for it looks again.
func (c keyWrites) of(s *state.Snapshot, k *state.Key) map[uint64][]*state.Write {
	c.look(s, k)
	return c.by
}

func writesOf(s *state.Snapshot, k *state.Key) keyWrites {
	c := keyWrites{snap: s, id: state.KeyID(k.Controller, k.Queue, k.Key), by: map[uint64][]*state.Write{}}
	for w := range s.Writes.All() {
		if cause := w.Cause; cause.Kind == state.CauseSync && cause.Controller == k.Controller && cause.Queue == k.Queue && cause.Key == k.Key {
			c.by[cause.Sync] = append(c.by[cause.Sync], w)
		}
	}
	return c
}

// story is all that is known of one key: where it stands and why, and its last
// attempts with what each wrote.
func (p *Page) story(e *page.Env, k *state.Key, w int) []widget.Line {
	if k == nil {
		return nil
	}
	held := e.Snap.HoldOf(k.Controller, k.Queue, k.Key)
	out := []widget.Line{widget.Heading(k.Key)}
	out = append(out, widget.Fact("queue", k.Queue+" of "+k.Controller, widget.Text)...)
	out = append(out, widget.Fact("state", keyState(held, k)[0].Text+", for "+e.Ago(k.Since), widget.Text)...)
	if held != nil {
		out = append(out, heldLine(held))
	}
	if e.Snap.Paused(k.Controller) {
		out = append(out, widget.Line{widget.Warn.Of(" its controller is PAUSED: workers take no key, informers go on")})
	}
	if !k.Due.IsZero() {
		out = append(out, widget.Fact("due", fmt.Sprintf("%s (%s)", e.In(k.Due), e.Clock(k.Due)), widget.Accent)...)
	}
	if k.Retries > 0 {
		out = append(out, widget.Fact("retries", fmt.Sprintf("%d, by the count of the rate limiter", k.Retries), widget.Warn)...)
	}
	if !k.Added.IsZero() {
		out = append(out, widget.Fact("added", fmt.Sprintf("%s, %s ago", e.Clock(k.Added), e.Ago(k.Added)), widget.Text)...)
	}
	out = append(out, widget.WrappedFact("because of", k.Cause.String(), w, widget.Text)...)
	if k.Causes > 1 {
		out = append(out, widget.Fact("merged", fmt.Sprintf("added %d times, one sync pending", k.Causes), widget.Text)...)
	}
	if taken, at, ok := k.Running(); ok {
		out = append(out, widget.Fact("running", fmt.Sprintf("sync %d since %s, for %s; queued for %s", k.Sync, e.Clock(at), e.Ago(at), state.Short(taken.Waited)), widget.Good)...)
	}
	if k.LastError != "" {
		when := e.Ago(k.LastErrorAt) + " ago"
		if !k.LastErrorCleared.IsZero() {
			when += ", resolved " + e.Ago(k.LastErrorCleared) + " ago"
		}
		out = append(out, widget.WrappedFact("last error", when+": "+k.LastError, w, widget.BadIf(failing(k)))...)
	}
	writes := p.writes.of(e.Snap, k)
	if k.Sync != 0 && len(writes[k.Sync]) > 0 {
		out = append(out, widget.Line{}, widget.Heading("Writes of the sync under way"))
		out = append(out, writeLines(writes[k.Sync])...)
	}
	out = append(out, widget.Line{}, widget.Heading(fmt.Sprintf("Last attempts, newest first: %d of %s", len(k.Attempts), countOf(k.Syncs, "sync", "syncs"))))
	if len(k.Attempts) == 0 {
		out = append(out, widget.Line{widget.Dim.Of(" none is over yet")})
	}
	for i := len(k.Attempts) - 1; i >= 0; i-- {
		out = append(out, attemptLines(e, k.Attempts[i], writes[k.Attempts[i].Number], w)...)
	}
	return out
}

// attemptLines tell of one sync: when, how long, why, what it wrote, how it ended
// and when the next one is due.
func attemptLines(e *page.Env, s *state.Sync, writes []*state.Write, w int) []widget.Line {
	took := widget.Line{widget.Dim.Of(" " + e.Clock(s.Taken) + "–" + e.Clock(s.Finished)), widget.Bold.Of(fmt.Sprintf(" sync %d", s.Number)), widget.Text.Of(" took " + state.Short(s.Duration))}
	if s.Waited > 0 {
		took = append(took, widget.Dim.Of(", queued for "+state.Short(s.Waited)))
	}
	if s.Dirty {
		took = append(took, widget.Warn.Of(", added again meanwhile"))
	}
	out := []widget.Line{took}
	because := cmp.Or(s.Cause.String(), "the journal does not say why")
	if s.Causes > 1 {
		because += fmt.Sprintf(" (and %d more)", s.Causes-1)
	}
	out = append(out, widget.Indent(widget.Wrapped("because of "+because, max(w-4, 20), widget.Dim), 3)...)
	out = append(out, writeLines(writes)...)
	if missing := s.Writes - len(writes); missing > 0 {
		out = append(out, widget.Line{widget.Dim.Of(fmt.Sprintf("   %d of its %d writes were evicted from memory", missing, s.Writes))})
	}
	if s.Failed {
		out = append(out, widget.Indent(widget.Wrapped("failed: "+cmp.Or(s.Error, "no error reported"), max(w-4, 20), widget.Bad), 3)...)
	}
	if !s.RetryDue.IsZero() {
		out = append(out, widget.Line{widget.Text.Of(fmt.Sprintf("   next at %s, %s after it", e.Clock(s.RetryDue), state.Short(s.RetryDue.Sub(s.Finished))))})
	}
	return out
}

func writeLines(writes []*state.Write) []widget.Line {
	var out []widget.Line
	for _, w := range writes {
		bad := w.Result == state.WriteFailed || w.Result == state.WriteRefused
		out = append(out, widget.Line{widget.BadIf(bad).Of("   wrote " + state.DescribeWrite(w.WriteFinished))})
	}
	return out
}
