package queues

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/cli-runtime/pkg/genericiooptions"

	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/exit"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/look"
	"github.com/kctl-ctrl/kctl-ctrl/cmd/kctl-ctrl/internal/printing"
	"github.com/kctl-ctrl/kctl-ctrl/watch/metrics"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// exposition serves a metrics text that is made anew for each request.
func exposition(t *testing.T, text func(request int) (int, string)) string {
	t.Helper()
	var requests atomic.Int64
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		code, body := text(int(requests.Add(1)))
		w.WriteHeader(code)
		_, _ = w.Write([]byte(body))
	}))
	t.Cleanup(s.Close)
	return s.URL + "/stats/prometheus"
}

// Names of queues are whatever a process says they are.
func TestHostileMetrics(t *testing.T) {
	url := exposition(t, func(int) (int, string) {
		return http.StatusOK, "workqueue_depth{controller=\"c\x1b]0;title\x07\",name=\"evil\x1b[31m\u202e\u009b2J\\nsecond line\"} 7\n"
	})
	for _, format := range []string{"", "wide", "json", "yaml", "kyaml", "name", "jsonpath={.items[*].name}", "custom-columns=N:.name", "go-template={{range .items}}{{.name}}{{end}}"} {
		args := []string{"--metrics-url", url, "--interval=0", "--check", "depth=5"}
		if format != "" {
			args = append(args, "-o", format)
		}
		code, stdout, stderr := ask(t.Context(), args...)
		if code != exit.Changed || !strings.Contains(stdout, "evil") || !strings.Contains(stderr, "depth is 7, more than 5") {
			t.Errorf("-o %s: code %d, %q, %q", format, code, stdout, stderr)
		}
		if strings.ContainsAny(stdout+stderr, "\x1b\x07\u202e\u009b") {
			t.Errorf("-o %s: not inert: %q %q", format, stdout, stderr)
		}
	}
}

func TestProbe(t *testing.T) {
	good := func(n int) (int, string) {
		return http.StatusOK, fmt.Sprintf("# TYPE workqueue_adds_total counter\nworkqueue_adds_total{name=\"q\"} %d\nworkqueue_depth{name=\"q\"} 3\nworkqueue_longest_running_processor_seconds{name=\"q\"} 400\n", n*10)
	}
	for _, test := range []struct {
		name   string
		text   func(int) (int, string)
		check  string
		code   int
		stderr string
	}{
		{"within", good, "depth=3,oldest=400s", exit.OK, ""},
		{"over", good, "depth=100,oldest=5m", exit.Changed, "q: oldest is 6m40s, more than 5m0s"},
		{"not measured", good, "work=1s", exit.Failed, "none of these queues tells that"},
		{"no queues at all", func(int) (int, string) { return http.StatusOK, "go_goroutines 7\n" }, "depth=1", exit.Failed, "none of these queues tells that"},
		{"no metrics", func(int) (int, string) { return http.StatusOK, "<html>\n" }, "depth=1", exit.Failed, "not in the Prometheus text format"},
		{"not found", func(int) (int, string) { return http.StatusNotFound, "nope\x1b[31m" }, "depth=1", exit.Failed, `404 Not Found ("nope\x1b[31m")`},
		{"unauthorised", func(int) (int, string) { return http.StatusUnauthorized, "" }, "depth=1", exit.Failed, "401 Unauthorized"},
		{"gone the second time", func(n int) (int, string) {
			if n > 1 {
				return http.StatusServiceUnavailable, "over"
			}
			return good(n)
		}, "depth=1", exit.Failed, "503"},
	} {
		code, stdout, stderr := ask(t.Context(), "--metrics-url", exposition(t, test.text), "--interval=1ms", "--check", test.check)
		if code != test.code || !strings.Contains(stderr, test.stderr) || test.stderr == "" && stderr != "" {
			t.Errorf("%s: code %d, %q, %q", test.name, code, stdout, stderr)
		}
		if strings.Count(strings.TrimSpace(stderr), "\n") > 0 && test.name != "no queues at all" {
			t.Errorf("%s: more than a line: %q", test.name, stderr)
		}
	}
}

// What could not be seen is not well; what is over a bound is, whatever else there is.
func TestProbeOfWhatIsMissing(t *testing.T) {
	depth := int64(7)
	queues := []state.QueueStats{{Name: "q", Depth: &depth}}
	for name, c := range map[string]struct {
		check           string
		missing, unread int
		names           []string
		want            int
	}{
		"all seen":                {"depth=7", 0, 0, nil, exit.OK},
		"loops missing":           {"depth=7", 3, 0, nil, exit.Failed},
		"loops missing, over":     {"depth=6", 3, 0, nil, exit.Changed},
		"others than those named": {"depth=7", 3, 0, []string{"q"}, exit.OK},
		"no check":                {"", 3, 1, nil, exit.OK},
		"a context missing":       {"depth=7", 0, 1, []string{"q"}, exit.Failed},
		"a context missing, over": {"depth=6", 0, 1, nil, exit.Changed},
	} {
		var words bytes.Buffer
		o := &Options{IOStreams: genericiooptions.IOStreams{ErrOut: &words}, names: c.names, unread: c.unread, attach: look.Flags{Missing: c.missing}}
		if c.check != "" {
			var err error
			if o.checks, err = metrics.ParseChecks(c.check); err != nil {
				t.Fatal(err)
			}
		}
		if code := exit.Code(o.checked(queues), &words); code != c.want || code == exit.Failed && !strings.Contains(words.String(), "what was seen is within its bounds") {
			t.Errorf("%s: code %d, %q", name, code, words.String())
		}
	}
}

// The user's Ctrl-C between two readings ends the wait.
func TestQueuesInterrupted(t *testing.T) {
	ctx, cancel := context.WithCancelCause(t.Context())
	url := exposition(t, func(int) (int, string) {
		cancel(exit.ErrInterrupted)
		return http.StatusOK, "workqueue_depth{name=\"q\"} 3\n"
	})
	code, out, words := ask(ctx, "--metrics-url", url, "--interval=1h")
	if code != exit.Interrupted || out != "" {
		t.Errorf("code %d, %q, %q", code, out, words)
	}
}

// The deepest queue is read first; what a process does not tell is last.
func TestQueueOrder(t *testing.T) {
	depth := func(name string, n ...int64) state.QueueStats {
		q := state.QueueStats{Name: name}
		if len(n) > 0 {
			q.Depth = &n[0]
		}
		return q
	}
	queues := []state.QueueStats{depth("unknown"), depth("none", 0), depth("deep", 7), depth("also none", 0)}
	for by, want := range map[string]string{
		"":      "deep, none, also none, unknown",
		"depth": "deep, none, also none, unknown",
		"name":  "also none, deep, none, unknown",
		"adds":  "unknown, none, deep, also none",
	} {
		o := &Options{printer: printing.New(), sortBy: by}
		got, err := o.arrange(queues)
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, q := range got {
			names = append(names, q.Name)
		}
		if text := strings.Join(names, ", "); text != want {
			t.Errorf("--sort-by=%s: %s, want %s", by, text, want)
		}
	}
	if queues[0].Name != "unknown" {
		t.Error("the caller's queues were put in order")
	}
}

// A line of --watch is a key's doing; that time goes by is none.
func TestChangedQueues(t *testing.T) {
	second, rate, one := state.Duration(time.Second), 1.5, int64(1)
	before := []state.QueueStats{{Name: "q", Controller: "a", Adds: &state.Counter{Total: 1}}, {Name: "q", Controller: "b"}}
	aged := []state.QueueStats{{Name: "q", Controller: "a", Adds: &state.Counter{Total: 1, PerSecond: &rate}, Oldest: &second}, {Name: "q", Controller: "b", Longest: &second}}
	if got := changedQueues(before, aged); len(got) > 0 {
		t.Errorf("time alone: %+v", got)
	}
	moved := []state.QueueStats{before[0], {Name: "q", Controller: "b", InFlight: &one}, {Name: "q", Controller: "c"}}
	if got := changedQueues(before, moved); len(got) != 2 || got[0].Controller != "b" || got[1].Controller != "c" {
		t.Errorf("changed: %+v", got)
	}
	if aged[0].Adds.PerSecond == nil {
		t.Error("the caller's counters were changed")
	}
}

// A key that is ready while workers are idle is over any bound.
func TestStalledQueueFailsProbes(t *testing.T) {
	stalled := state.QueueStalled{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Since: time.Now(), Ready: 1, Idle: 5}
	file := filepath.Join(t.TempDir(), "stalled.jsonl")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	encoder := state.NewEncoder(out, state.Header{Version: "v0", Started: time.Now()})
	for i, e := range []state.Event{
		state.ControllerChanged{Controller: "deployment-controller", Status: state.ControllerRunning, Queues: []string{"deployment"}, Workers: 5},
		stalled,
	} {
		entry := state.Entry{Seq: uint64(i + 1), At: time.Now(), Event: e}
		if err := encoder.Encode(entry); err != nil {
			t.Fatal(err)
		}
	}
	if err := out.Close(); err != nil {
		t.Fatal(err)
	}
	code, _, stderr := ask(t.Context(), "--from", file, "--check", "depth=100")
	if code != exit.Changed || !strings.Contains(stderr, "deployment-controller/deployment: stalled: 1 key is ready while 5 workers are idle") {
		t.Errorf("code %d, %q", code, stderr)
	}
}
