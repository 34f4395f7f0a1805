package guard_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard"
	"github.com/kctl-ctrl/kctl-ctrl/reconcile/guard/request"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// local takes leases, answers with what it was made with, and counts.
type local struct {
	status  int
	answers int
	// send, if set, is sent through read before answering.
	send func(*http.Request) *http.Request
	err  error
}

func (*local) Takes(r request.Request) bool { return r.Object.Resource == "leases" && r.Verb != "list" }

func (l *local) Answer(req *http.Request, _ request.Request, read func(*http.Request) (*http.Response, error)) (*http.Response, error) {
	l.answers++
	if l.send != nil {
		_, l.err = read(l.send(req))
	}
	return &http.Response{
		StatusCode: l.status, Header: http.Header{"Content-Type": {"application/json"}}, Request: req,
		Body: io.NopCloser(strings.NewReader(`{"kind":"Lease","apiVersion":"coordination.k8s.io/v1","metadata":{"name":"op","namespace":"a","uid":"u"}}`)),
	}, nil
}

// What Local takes is answered there in dry runs, reads too, recorded like any
// write, and never leaves; in other modes Local is not asked.
func TestLocalAnswersDryRunsOnly(t *testing.T) {
	const lease = "/apis/coordination.k8s.io/v1/namespaces/a/leases/op"
	for _, test := range []struct {
		mode  state.Mode
		local bool
	}{
		{state.ModeDryRunClient, true}, {state.ModeDryRunServer, true}, {state.ModeReadOnly, false}, {state.ModeActive, false},
	} {
		t.Run(string(test.mode), func(t *testing.T) {
			s := newServer(t)
			l := &local{status: http.StatusOK}
			var records []state.WriteFinished
			o := guard.Options{
				Mode: test.mode, Server: s.URL, Local: l,
				Writer: func(r *http.Request) string { return "by " + r.UserAgent() },
				Recorder: state.RecorderFunc(func(e state.Event) {
					if w, ok := e.(state.WriteFinished); ok {
						records = append(records, w)
					}
				}),
			}
			if test.mode == state.ModeActive {
				o.Grant = s.grant(t)
			}
			g, err := guard.New(o)
			if err != nil {
				t.Fatal(err)
			}
			rt := g.Wrap(s.Client().Transport)
			do := func(method, path string) *http.Response {
				t.Helper()
				req, err := http.NewRequestWithContext(t.Context(), method, s.URL+path, strings.NewReader(`{}`))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("User-Agent", "op")
				resp, err := rt.RoundTrip(req)
				if err != nil {
					t.Fatal(err)
				}
				resp.Body.Close()
				return resp
			}
			do(http.MethodGet, lease)
			do(http.MethodPut, lease)
			do(http.MethodGet, "/apis/coordination.k8s.io/v1/namespaces/a/leases") // a list: not taken
			if want := 2; test.local && l.answers != want || !test.local && l.answers != 0 {
				t.Errorf("Local answered %d requests", l.answers)
			}
			if test.local && len(s.arrivals) != 1 {
				t.Errorf("what was answered here left all the same: %v", s.arrivals)
			}
			if len(records) != 1 || records[0].Controller != "by op" {
				t.Fatalf("the record is %+v", records)
			}
			if test.local && (records[0].Result != state.WriteDry || records[0].Mode != test.mode || records[0].Status != http.StatusOK) {
				t.Errorf("the record says %s", state.Describe(records[0]))
			}
		})
	}
}

// Whatever Local does, nothing but reads of the one server leaves.
func TestLocalOnlyReads(t *testing.T) {
	const lease = "/apis/coordination.k8s.io/v1/namespaces/a/leases/op"
	for _, mode := range []state.Mode{state.ModeDryRunClient, state.ModeDryRunServer} {
		for name, send := range map[string]func(*http.Request) *http.Request{
			"the write itself": func(r *http.Request) *http.Request { return r },
			"a dry run of it": func(r *http.Request) *http.Request {
				out := r.Clone(r.Context())
				out.URL.RawQuery = "dryRun=All"
				return out
			},
			"a read elsewhere": func(r *http.Request) *http.Request {
				out, _ := http.NewRequestWithContext(r.Context(), http.MethodGet, "https://192.0.2.1"+lease, nil)
				return out
			},
		} {
			s := newServer(t)
			l := &local{status: http.StatusOK, send: send}
			g, err := guard.New(guard.Options{Mode: mode, Server: s.URL, Local: l})
			if err != nil {
				t.Fatal(err)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPut, s.URL+lease, strings.NewReader(`{}`))
			if err != nil {
				t.Fatal(err)
			}
			resp, err := g.Wrap(s.Client().Transport).RoundTrip(req)
			if err != nil {
				t.Fatal(err)
			}
			resp.Body.Close()
			if l.err == nil || len(s.arrivals) != 0 {
				t.Errorf("%s, %s: it left: %v, %d arrivals", mode, name, l.err, len(s.arrivals))
			}
		}
	}
}
