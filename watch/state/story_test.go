package state

import (
	"encoding/json"
	"fmt"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/cockroachdb/datadriven"
)

type story struct {
	snapshot   *Snapshot
	at         time.Time
	seq        uint64
	controller string
}

func (st *story) run(t *testing.T, d *datadriven.TestData) string {
	s := st.snapshot
	var out []string
	switch d.Cmd {
	case "limits":
		var l Limits
		for _, arg := range d.CmdArgs {
			n, _ := strconv.Atoi(arg.Vals[0])
			field := reflect.ValueOf(&l).Elem().FieldByNameFunc(func(f string) bool { return strings.EqualFold(f, arg.Key) })
			field.SetInt(int64(n))
		}
		st.snapshot = NewSnapshot(l)
		return "ok\n"
	case "event":
		for text := range strings.Lines(d.Input) {
			e := st.parse(t, strings.TrimSpace(text))
			st.snapshot = Fold(st.snapshot, e)
			out = append(out, describeEntry(e))
		}
	case "keys":
		for _, k := range s.Keys.All() {
			out = append(out, describeKey(k))
		}
	case "done":
		for _, k := range s.Done.All() {
			out = append(out, describeKey(k))
		}
	case "attempts":
		k := s.Key(st.controller, st.controller, d.CmdArgs[0].Key)
		for _, a := range k.Attempts {
			out = append(out, describeSync(a))
		}
		out = append(out, fmt.Sprintf("%d in all", k.Syncs))
	case "syncs":
		for a := range s.Syncs.Backward() {
			out = append(out, a.Controller+" "+a.Key+": "+describeSync(a))
		}
	case "queues":
		for _, q := range s.Queues.All() {
			out = append(out, fmt.Sprintf("%s: %d ready, %d waiting, %d processing, %d dirty; %d adds, %d retries, %d syncs, %d errors",
				q.Controller, q.Ready, q.Waiting, q.Processing, q.Dirty, q.Adds, q.Retries, q.Syncs, q.Errors))
		}
	case "controllers":
		for _, c := range s.Controllers.All() {
			out = append(out, describeRow(c))
		}
	case "writes":
		for w := range s.Writes.Backward() {
			out = append(out, fmt.Sprintf("%d %s: %s", w.Seq, w.Controller, DescribeWrite(w.WriteFinished))+because(w.Cause))
		}
	case "objects":
		for _, o := range s.Objects.All() {
			out = append(out, fmt.Sprintf("%s uid=%s rv=%s %s %s", o.Ref, o.UID, o.ResourceVersion, o.Change, clock(o.Changed)))
		}
	case "owned":
		for o := range s.OwnedBy(d.CmdArgs[0].Key) {
			out = append(out, o.Ref.String())
		}
	case "informers":
		for _, i := range s.Informers.All() {
			out = append(out, fmt.Sprintf("%s: %s since %s, %d objects, rv %s, %d events, last %s, %d gaps %s",
				i.Name, i.Status, clock(i.Since), i.Objects, i.ResourceVersion, i.Events, clock(i.LastEvent), i.Gaps, i.LastGap))
		}
	case "leases":
		for _, l := range s.Leases.All() {
			out = append(out, fmt.Sprintf("%s: held by %s since %s, seen %s", l.Lease.Key(), l.Holder, clock(l.Since), clock(l.Seen)))
		}
	case "snapshot":
		out = append(out, fmt.Sprintf("seq %d at %s, %d entries, %d lost", s.Seq, clock(s.At), s.Entries, s.Lost))
		for where, n := range s.Dropped.All() {
			out = append(out, fmt.Sprintf("%d dropped at %s", n, where))
		}
		for n := range s.Notes.All() {
			out = append(out, describeEntry(n))
		}
	case "bounds":
		for _, b := range s.Bounds() {
			if b.Dropped > 0 {
				out = append(out, fmt.Sprintf("%s: %d of %d, %d dropped, history %v", b.Name, b.Used, b.Limit, b.Dropped, b.History))
			}
		}
	default:
		d.Fatalf(t, "no command %s", d.Cmd)
	}
	if len(out) == 0 {
		return "none\n"
	}
	return strings.Join(out, "\n") + "\n"
}

func describeKey(k *Key) string {
	text := fmt.Sprintf("%s %s: %s since %s", k.Controller, k.Key, k.Phase, clock(k.Since))
	if !k.Due.IsZero() {
		text += ", due " + clock(k.Due)
	}
	if k.Retries > 0 {
		text += ", " + count(k.Retries, "retry", "retries")
	}
	if run, at, ok := k.Running(); ok {
		text += fmt.Sprintf(", sync %d since %s", run.Sync, clock(at)) + because(run.Cause)
	}
	text += prefixIf(k.Cause.Kind != "", ", because of ") + k.Cause.String()
	if k.LastError != "" {
		text += fmt.Sprintf(", last error %q at %s", k.LastError, clock(k.LastErrorAt))
	}
	return text
}

func describeSync(s *Sync) string {
	text := fmt.Sprintf("sync %d %s-%s waited %s took %s, %d writes", s.Number, clock(s.Taken), clock(s.Finished), s.Waited, s.Duration, s.Writes) +
		prefixIf(s.Cause.Kind != "", ", because of ") + s.Cause.String()
	if s.Failed {
		text += ", failed: " + s.Error
	}
	if !s.RetryDue.IsZero() {
		text += fmt.Sprintf(", retry %d due %s", s.Retries, clock(s.RetryDue))
	}
	return text
}

func describeRow(c *Controller) string {
	return fmt.Sprintf("%s: %s %s; now %+v; %d adds, %d retries, %d syncs, %d errors; writes %+v; last sync %s, p50 %s, p99 %s; last error %q of %s",
		c.Name, c.Status, c.Reason, c.Now, c.Adds, c.Retries, c.Syncs, c.Errors, c.Writes, clock(c.LastSync), c.P50(), c.P99(), c.LastError, c.LastErrorKey)
}

func (st *story) parse(t *testing.T, text string) Entry {
	t.Helper()
	words := strings.Fields(text)
	if passed, err := time.ParseDuration(strings.TrimPrefix(words[0], "+")); err == nil {
		st.at = st.at.Add(passed)
		words = words[1:]
	}
	what, words := words[0], words[1:]
	var name string
	fields := map[string]string{}
	for _, w := range words {
		if k, v, ok := strings.Cut(w, "="); ok {
			fields[k] = strings.ReplaceAll(v, "_", " ")
		} else {
			name = w
		}
	}
	st.seq++
	if skip, ok := fields["skip"]; ok {
		n, _ := strconv.ParseUint(skip, 10, 64)
		st.seq += n
	}
	return Entry{Seq: st.seq, At: st.at, Event: st.event(t, what, name, fields)}
}

func (st *story) event(t *testing.T, what, name string, f map[string]string) Event {
	t.Helper()
	number := func(field string) int {
		n, _ := strconv.Atoi(f[field])
		return n
	}
	duration := func(field string) time.Duration {
		d, _ := time.ParseDuration(f[field])
		return d
	}
	c := st.controller
	cause := Cause{}
	if by := f["by"]; by != "" {
		ref := parseRef(by, "")
		cause = Cause{Kind: CauseEvent, Controller: c, Object: &ref, Change: ChangeUpdated, NewRV: f["rv"]}
	}
	if sync := number("for"); sync != 0 {
		cause = Cause{Kind: CauseSync, Controller: c, Queue: c, Key: name, Sync: uint64(sync)}
	}
	if about := f["about"]; about != "" {
		ref := parseRef(about, "")
		cause = Cause{Kind: CauseUnknown, Controller: c, Object: &ref}
	}
	switch what {
	case "controller":
		st.controller = name
		return ControllerChanged{Controller: name, Status: ControllerStatus(f["status"]), Reason: f["reason"], Queues: []string{name}}
	case "added", "later", "retry":
		e := KeyAdded{Controller: c, Queue: c, Key: name, How: "Add", Delay: duration("in"), Retries: number("retries"), Cause: cause}
		if e.Delay > 0 {
			e.How, e.Due = "AddAfter", st.at.Add(e.Delay)
		}
		if what == "retry" {
			e.How = "AddRateLimited"
		}
		return e
	case "ready":
		return KeyReady{Controller: c, Queue: c, Key: name}
	case "taken":
		return KeyTaken{Controller: c, Queue: c, Key: name, Sync: uint64(number("sync")), Waited: duration("waited"), Cause: cause}
	case "finished":
		return KeyFinished{Controller: c, Queue: c, Key: name, Sync: uint64(number("sync")), Duration: duration("took"), Writes: number("writes"),
			Failed: f["error"] != "", Error: f["error"], Dirty: f["dirty"] == "true"}
	case "forgotten":
		return KeyForgotten{Controller: c, Queue: c, Key: name, Retries: number("retries")}
	case "dropped":
		return KeyDropped{Controller: c, Queue: c, Key: name, By: ByUser}
	case "create", "delete", "update":
		w := WriteFinished{Controller: c, Verb: what, Object: parseRef(name, ""), Cause: cause, Mode: ModeActive, Result: WriteResult(f["result"]),
			ResourceVersion: f["rv"], Status: number("status"), Message: f["message"], Duration: duration("took")}
		if f["reason"] != "" {
			w.Tells = &EventText{Type: f["type"], Reason: f["reason"], Message: f["says"], Count: number("count")}
		}
		return w
	case "object":
		e := ObjectChanged{Object: parseRef(name, f["uid"]), Change: Change(f["change"]), NewRV: f["rv"]}
		e.Informer = e.Object.Type()
		if f["informer"] != "" {
			e.Informer = f["informer"]
		}
		if owner := f["owner"]; owner != "" {
			e.Owner = &Ref{Group: "apps", Resource: "replicasets", Name: "owner", UID: owner}
			if strings.Contains(owner, "/") {
				ref := parseRef(owner, "")
				e.Owner = &ref
			}
		}
		return e
	case "informer":
		return InformerChanged{Informer: name, Status: InformerStatus(f["status"]), ResourceVersion: f["rv"], Objects: number("objects")}
	case "gap":
		return Gap{Informer: name, Reason: f["reason"]}
	case "lease":
		return LeaseChanged{Lease: parseRef("leases.coordination.k8s.io/"+name, ""), Holder: f["holder"], Deleted: f["deleted"] == "true"}
	case "note":
		return Note{Source: name, Text: f["text"]}
	case "lost":
		return Dropped{Where: name, Count: uint64(number("count"))}
	}
	t.Fatalf("no event %s", what)
	return nil
}

// parseRef reads "deployments.apps/shop/web".
func parseRef(text, uid string) Ref {
	parts := strings.Split(text, "/")
	resource, group, _ := strings.Cut(parts[0], ".")
	r := Ref{Group: group, Resource: resource, UID: uid, Name: parts[len(parts)-1]}
	if len(parts) == 3 {
		r.Namespace = parts[1]
	}
	return r
}

// picture is everything that a snapshot tells, as text.
func picture(t fataler, s *Snapshot) string {
	t.Helper()
	text, err := json.Marshal(s)
	if err != nil {
		t.Fatalf("%v", err)
	}
	out := string(text)
	for _, k := range s.Keys.All() {
		run, at, ok := k.Running()
		out += fmt.Sprintf("\n%s %v %v %v %d %v %v %v %s %v", k.Key, k.ready, k.processing, k.dirty, k.last, Describe(run), at, ok, k.delayed.cause, k.delayed.at)
	}
	for _, c := range s.Controllers.All() {
		for _, h := range []*Histogram{c.Durations, c.Waits} {
			out += fmt.Sprintf("\n%d:", h.Count())
			for i, n := range h.counts {
				if n > 0 {
					out += fmt.Sprintf(" %d=%d", i, n)
				}
			}
		}
	}
	for id := range s.owned.All() {
		out += fmt.Sprintf("\n%q", id)
	}
	for where, n := range s.Dropped.All() {
		out += fmt.Sprintf("\n%s %d", where, n)
	}
	for name, n := range s.Unknown.All() {
		out += fmt.Sprintf("\n%s %d", name, n)
	}
	for e := range s.Recent.All() {
		out += fmt.Sprintf("\n%s", describeEntry(e))
	}
	return out + fmt.Sprintf("\n%v\n%v", s.Bounds(), slices.Collect(s.order.All()))
}
