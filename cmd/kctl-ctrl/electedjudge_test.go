package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	auditv1 "k8s.io/apiserver/pkg/apis/audit/v1"

	"github.com/kctl-ctrl/kctl-ctrl/internal/testbed"
	"github.com/kctl-ctrl/kctl-ctrl/watch/recording"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// auditedWrite is a mutating request as the API server records it.
type auditedWrite struct {
	who, what      string
	lease          bool
	code           int32
	received, done time.Time
}

// requests reads on in the audit log: what the instances asked to change, in the order in
// which the API server received it.
func (c *contested) requests(t *testing.T) []auditedWrite {
	t.Helper()
	file, err := os.Open(c.AuditLogPath())
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	if _, err := file.Seek(c.read, io.SeekStart); err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReader(file)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break // a line that is being written is not read
		}
		c.read += int64(len(line))
		var event auditv1.Event
		if err := json.Unmarshal(line, &event); err != nil {
			t.Fatal(err)
		}
		if event.Stage != auditv1.StageResponseComplete || !testbed.Mutating(event) || event.ImpersonatedUser == nil {
			continue
		}
		r := auditedWrite{
			who: event.ImpersonatedUser.Username, what: event.Verb + " " + event.RequestURI,
			received: event.RequestReceivedTimestamp.Time, done: event.StageTimestamp.Time,
		}
		if event.ResponseStatus != nil {
			r.code = event.ResponseStatus.Code
		}
		if o := event.ObjectRef; o != nil && o.Resource == "leases" && o.Namespace == "kube-system" {
			r.lease = true
		}
		c.known = append(c.known, r)
	}
	slices.SortStableFunc(c.known, func(a, b auditedWrite) int { return a.received.Compare(b.received) })
	return c.known
}

// ruling is what the API server's records say about who wrote when.
type ruling struct {
	writes map[string]int // by instance
	// late were received more than the renew deadline after the last renewal that
	// the server had received from the same instance; stray after another instance
	// had been given the lease.
	late, stray []breach
	// terms are the instances that held the lease, in order.
	terms []string
}

// A breach is a write that was received later than it may have been sent.
type breach struct {
	auditedWrite
	renewed time.Time // as the server received it
}

func (b breach) String() string {
	return fmt.Sprintf("%s: %s at %s, %s after its renewal", b.who, b.what, b.received.Format("15:04:05.000000"), b.received.Sub(b.renewed))
}

// rule goes by the server's times alone. An instance counts from before a renewal
// leaves it, so that by the server's clock it must stop earlier than the bound here.
func rule(requests []auditedWrite, deadline time.Duration) ruling {
	v := ruling{writes: map[string]int{}}
	renewed := map[string]time.Time{}
	holder := ""
	for _, r := range requests {
		switch {
		case r.lease:
			if r.code < 300 {
				renewed[r.who] = r.received
				if holder != r.who {
					holder = r.who
					v.terms = append(v.terms, r.who)
				}
			}
			continue
		case r.who == "kcm" || r.who == "ks":
			continue // upstream's promises are not ours
		}
		v.writes[r.who]++
		if r.received.Sub(renewed[r.who]) > deadline {
			v.late = append(v.late, breach{r, renewed[r.who]})
		}
		if holder != r.who {
			v.stray = append(v.stray, breach{r, renewed[r.who]})
		}
	}
	return v
}

// A sent write is one in the recording of who made it, named as the audit log does.
type sent struct {
	what         string
	began, ended time.Time
	// answered: ended is when the answer came. What was given up may be received
	// later still.
	answered bool
	// brokenOff: the gate shut after the head of the request and before its body. The
	// server carries no such request out.
	brokenOff bool
}

// sentBy reads what the instances of a way recorded.
func sentBy(t *testing.T, w *way) []sent {
	t.Helper()
	var out []sent
	for _, path := range w.recordings {
		journal, err := recording.Open(path, recording.Bounds{})
		if err != nil {
			t.Fatal(err)
		}
		defer journal.Close()
		for {
			e, err := journal.Next()
			if err != nil {
				break // a process that was killed has left less
			}
			if w, ok := e.Event.(state.WriteFinished); ok {
				refused := w.Result == state.WriteRefused
				out = append(out, sent{what: audited(w), began: e.At.Add(-w.Duration), ended: e.At, answered: w.Status != 0 && !refused, brokenOff: refused})
			}
		}
	}
	return out
}

// audited is how the audit log names a write.
func audited(w state.WriteFinished) string {
	path := "/apis/" + w.Object.Group + "/" + w.Object.Version
	if w.Object.Group == "" {
		path = "/api/" + w.Object.Version
	}
	path += "/namespaces/" + w.Object.Namespace + "/" + w.Object.Resource
	if w.Verb != "create" { // which goes to the collection
		path += "/" + w.Object.Name
	}
	if w.Subresource != "" {
		path += "/" + w.Subresource
	}
	return w.Verb + " " + path
}

// underWay takes from writes the one that is a request, if it was begun before a
// moment: then the request was on its way at that moment.
func underWay(writes *[]sent, r auditedWrite, at time.Time) (began time.Time, found bool) {
	i := slices.IndexFunc(*writes, func(w sent) bool {
		return w.what == r.what && !(w.brokenOff && r.code < http.StatusBadRequest) && w.began.Before(at) && !w.began.After(r.received) && (!w.answered || !w.ended.Before(r.received))
	})
	if i < 0 {
		return time.Time{}, false
	}
	began = (*writes)[i].began
	*writes = slices.Delete(*writes, i, i+1)
	return began, true
}

// checkLate judges the writes of processes that were not stopped. None may come while
// another leads, nor end after the lease has expired. One that came after the deadline
// is named, and has to have been sent before it.
func checkLate(t *testing.T, v ruling, ways ...*way) {
	t.Helper()
	checkLateBy(t, v, shortLease, shortDeadline, ways...)
}

// checkLateBy is checkLate for another election.
func checkLateBy(t *testing.T, v ruling, lease, deadline time.Duration, ways ...*way) {
	t.Helper()
	for _, w := range ways {
		writes, under := sentBy(t, w), map[time.Time]int{}
		for _, b := range v.stray {
			if b.who == w.name {
				t.Errorf("while another led: %s", b)
			}
		}
		for _, b := range v.late {
			if b.who != w.name {
				continue
			}
			if b.done.Sub(b.renewed) > lease {
				t.Errorf("done after the lease had expired: %s", b)
			}
			if began, found := underWay(&writes, b.auditedWrite, b.renewed.Add(deadline)); found {
				if under[b.renewed]++; under[b.renewed] > writers {
					t.Errorf("more requests are under way than there are writers: %s", b)
				}
				t.Logf("under way when the deadline passed, sent %s after the renewal: %s", began.Sub(b.renewed), b)
			} else {
				t.Errorf("sent late: %s", b)
			}
		}
	}
}

// The judge must see what it is there for.
func TestJudge(t *testing.T) {
	at := func(s float64) time.Time { return time.Unix(1000, int64(s*1e9)) }
	lease := func(who string, s float64) auditedWrite {
		return auditedWrite{who: who, lease: true, code: 200, received: at(s), what: "update lease"}
	}
	write := func(who string, s float64) auditedWrite {
		return auditedWrite{who: who, code: 200, received: at(s), what: "update rs"}
	}
	refused := lease("b", 3)
	refused.code = 409
	for name, c := range map[string]struct {
		requests    []auditedWrite
		late, stray int
	}{
		"in time":              {[]auditedWrite{lease("a", 0), write("a", 1.9)}, 0, 0},
		"late":                 {[]auditedWrite{lease("a", 0), write("a", 2.1)}, 1, 0},
		"renewed":              {[]auditedWrite{lease("a", 0), lease("a", 2), write("a", 3)}, 0, 0},
		"never led":            {[]auditedWrite{write("a", 0)}, 1, 1},
		"the other leads":      {[]auditedWrite{lease("a", 0), lease("b", 1), write("a", 1.5)}, 0, 1},
		"the other only tried": {[]auditedWrite{lease("a", 2), refused, write("a", 3.5)}, 0, 0},
	} {
		if v := rule(c.requests, 2*time.Second); len(v.late) != c.late || len(v.stray) != c.stray {
			t.Errorf("%s: %+v", name, v)
		}
	}
}
