package metrics

import (
	"encoding/json"
	"errors"
	"flag"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func read(t testing.TB, name string, at time.Time) *Scrape {
	t.Helper()
	text, err := os.Open(filepath.Join("testdata", name+".metrics"))
	if err != nil {
		t.Fatal(err)
	}
	defer text.Close()
	s, err := Read(text, at)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

var noon = time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)

func golden(t *testing.T, name string, rows []state.QueueStats) {
	t.Helper()
	got, err := json.MarshalIndent(rows, "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join("testdata", name+".json")
	if *update {
		if err := os.WriteFile(path, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(want) != string(got)+"\n" {
		t.Errorf("%s: got\n%s", path, got)
	}
}

// The excerpts are of upstream's loops at work, of a controller-runtime operator
// with a priority queue, and of kube-scheduler.
func TestGolden(t *testing.T) {
	before := read(t, "kube-controller-manager", noon)
	after := read(t, "kube-controller-manager-later", noon.Add(3*time.Second))
	golden(t, "kube-controller-manager", before.Queues(nil))
	golden(t, "kube-controller-manager-rates", after.Queues(before))
	golden(t, "controller-runtime", read(t, "controller-runtime", noon).Queues(nil))
	golden(t, "scheduler", read(t, "scheduler", noon).Queues(nil))
}

func find(t testing.TB, rows []state.QueueStats, name string) state.QueueStats {
	t.Helper()
	for _, q := range rows {
		if Name(&q) == name {
			return q
		}
	}
	t.Fatalf("no queue %q in %d", name, len(rows))
	return state.QueueStats{}
}

func TestWhatFollows(t *testing.T) {
	shop := find(t, read(t, "controller-runtime", noon).Queues(nil), "shop")
	if *shop.Depth != 16 {
		t.Errorf("depth %d: the priorities do not add up to 16", *shop.Depth)
	}
	if *shop.InFlight != 2 || *shop.Workers != 4 || shop.Errors.Total != 7 || shop.Syncs.Total != 102 {
		t.Errorf("controller-runtime's own figures are not used: %+v", shop)
	}
	if shop.Work.P50.AtMost != state.Duration(10*time.Millisecond) || shop.Work.P99.AtMost != 0 || shop.Work.P99.Above != state.Duration(time.Minute) {
		t.Errorf("work: %+v", shop.Work)
	}
	// The excerpt caught a ReplicaSet in the hands of a worker: 2 − 0 − 1.
	rs := find(t, read(t, "kube-controller-manager", noon).Queues(nil), "replicaset")
	if *rs.InFlight != 1 {
		t.Errorf("in flight %d, want 1", *rs.InFlight)
	}
	active := find(t, read(t, "scheduler", noon).Queues(nil), "kube-scheduler/active")
	if *active.Depth != 3 || active.Adds.Total != 54 || active.Syncs.Total != 51 || active.Errors.Total != 1 || *active.InFlight != 2 || active.Work.Count != 50 {
		t.Errorf("scheduler: %+v", active)
	}
	if s := read(t, "controller-runtime", noon); !s.Leader["shop-operator"] || s.Started.Unix() != 1.7e9 {
		t.Errorf("leader %v, started %v", s.Leader, s.Started)
	}
}

func TestRates(t *testing.T) {
	text := func(adds string, started string) *Scrape {
		s, err := Read(strings.NewReader("# TYPE workqueue_adds_total counter\nworkqueue_adds_total{name=\"q\"} "+adds+"\nprocess_start_time_seconds "+started+"\n"), noon)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for _, test := range []struct {
		name          string
		before, after *Scrape
		elapsed       time.Duration
		want          float64
		none          bool
	}{
		{"rising", text("10", "5"), text("16", "5"), 2 * time.Second, 3, false},
		{"still", text("10", "5"), text("10", "5"), 2 * time.Second, 0, false},
		{"restarted in between", text("10", "5"), text("16", "6"), 2 * time.Second, 0, true},
		{"fallen", text("10", "5"), text("2", "5"), 2 * time.Second, 0, true},
		{"no time went by", text("10", "5"), text("16", "5"), 0, 0, true},
		{"read once", nil, text("16", "5"), 0, 0, true},
	} {
		test.after.At = noon.Add(test.elapsed)
		adds := test.after.Queues(test.before)[0].Adds
		if (adds.PerSecond == nil) != test.none || !test.none && *adds.PerSecond != test.want {
			t.Errorf("%s: %v", test.name, adds.PerSecond)
		}
	}
}

// inMemory takes the metrics of one queue.
type inMemory struct{ depth, adds, work float64 }

type gauge struct{ v *float64 }

func (g gauge) Inc()            { *g.v++ }
func (g gauge) Dec()            { *g.v-- }
func (g gauge) Set(v float64)   {}
func (g gauge) Observe(float64) { *g.v++ }

func (m *inMemory) NewDepthMetric(string) workqueue.GaugeMetric            { return gauge{&m.depth} }
func (m *inMemory) NewAddsMetric(string) workqueue.CounterMetric           { return gauge{&m.adds} }
func (m *inMemory) NewWorkDurationMetric(string) workqueue.HistogramMetric { return gauge{&m.work} }
func (m *inMemory) NewLatencyMetric(string) workqueue.HistogramMetric      { return gauge{new(float64)} }
func (m *inMemory) NewRetriesMetric(string) workqueue.CounterMetric        { return gauge{new(float64)} }
func (m *inMemory) NewUnfinishedWorkSecondsMetric(string) workqueue.SettableGaugeMetric {
	return gauge{new(float64)}
}
func (m *inMemory) NewLongestRunningProcessorSecondsMetric(string) workqueue.SettableGaugeMetric {
	return gauge{new(float64)}
}

// What the package comment says follows from a queue's metrics is held against
// client-go's queue, over additions of all kinds: merged, while processing, twice.
func TestInFlightIsWhatTheQueueSays(t *testing.T) {
	m := &inMemory{}
	q := workqueue.NewTypedWithConfig(workqueue.TypedQueueConfig[int]{Name: "q", MetricsProvider: m})
	defer q.ShutDown()
	random := rand.New(rand.NewPCG(1, 2))
	processing := map[int]bool{}
	for step := range 20_000 {
		switch key := random.IntN(8); {
		case random.IntN(2) == 0:
			q.Add(key)
		case random.IntN(2) == 0 && q.Len() > 0:
			taken, _ := q.Get()
			processing[taken] = true
		case processing[key]:
			q.Done(key)
			delete(processing, key)
		}
		row := (&measured{
			depth: number{m.depth, true}, adds: number{m.adds, true}, work: &histogram{count: uint64(m.work)},
		}).row(nil, 0)
		if *row.InFlight != int64(len(processing)) || *row.Depth < int64(q.Len()) {
			t.Fatalf("step %d: in flight %d, depth %d; the queue has %d and %d", step, *row.InFlight, *row.Depth, len(processing), q.Len())
		}
	}
}

func TestHistogramsOfOtherBounds(t *testing.T) {
	a := &histogram{count: 10, buckets: []bucket{{0.1, 4}, {0.5, 6}, {1, 9}}}
	s, err := Read(strings.NewReader(`# TYPE workqueue_work_duration_seconds histogram
workqueue_work_duration_seconds_bucket{name="q",le="0.1"} 1
workqueue_work_duration_seconds_bucket{name="q",le="1"} 2
workqueue_work_duration_seconds_bucket{name="q",le="+Inf"} 3
workqueue_work_duration_seconds_sum{name="q"} 3
workqueue_work_duration_seconds_count{name="q"} 3
`), noon)
	if err != nil {
		t.Fatal(err)
	}
	b := s.queues[id{"", "q"}].work
	if b.since(a) != nil || (*histogram)(nil).since(b) != nil {
		t.Error("histograms that do not belong together have a difference")
	}
	d := (&histogram{count: 13, buckets: []bucket{{0.1, 4}, {0.5, 7}, {1, 12}}}).since(a)
	if d.count != 3 || d.quantile(0.5) != (state.Quantile{Above: state.Duration(500 * time.Millisecond), AtMost: state.Duration(time.Second)}) {
		t.Errorf("difference: %+v", d)
	}
}

// A text may come from a process that lies, is broken, or is no controller.
func TestHostileTexts(t *testing.T) {
	for name, text := range map[string]string{
		"empty":     "",
		"HTML":      "<html>\n<body>login</body></html>\n",
		"JSON":      "{\"kind\":\"Status\",\n\"code\":403}\n",
		"only text": "some words\nand more\n",
	} {
		if _, err := Read(strings.NewReader(text), noon); !errors.Is(err, ErrNoMetrics) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Read(strings.NewReader("workqueue_depth{name=\"q\"} 1\n"+strings.Repeat("x", maxLine+1)), noon); !errors.Is(err, ErrTooLarge) {
		t.Errorf("a line without end: %v", err)
	}
	if _, err := Read(strings.NewReader("workqueue_depth{name=\"q\" 1\n"), noon); err == nil {
		t.Error("a broken line of a queue passes")
	}
	// What is not about queues may be broken.
	s, err := Read(strings.NewReader("broken{{{ 1\n\x00\xff 3\nworkqueue_depth{name=\"a\\nb\x1b[31m\\\"\"} 1\n"), noon)
	if err != nil {
		t.Fatal(err)
	}
	if rows := s.Queues(nil); len(rows) != 1 || rows[0].Name != "a\nb\x1b[31m\"" || *rows[0].Depth != 1 {
		t.Errorf("%+v", rows)
	}
	// Numbers that make no sense are not known; nothing overflows.
	s, err = Read(strings.NewReader(`# TYPE workqueue_depth gauge
workqueue_depth{name="nan"} NaN
workqueue_depth{name="negative"} -5
workqueue_depth{name="huge"} 1e300
workqueue_adds_total{name="huge"} 1e300
workqueue_longest_running_processor_seconds{name="huge"} 1e300
workqueue_longest_running_processor_seconds{name="inf"} +Inf
workqueue_depth{nameless="yes"} 3
process_start_time_seconds 1e300
`), noon)
	if err != nil {
		t.Fatal(err)
	}
	for _, q := range s.Queues(nil) {
		if q.Depth != nil || q.Adds != nil || q.Name == "" {
			t.Errorf("%+v", q)
		}
		if q.Longest != nil && time.Duration(*q.Longest) < 0 {
			t.Errorf("%s: %v", q.Name, *q.Longest)
		}
	}
}

// fewer keeps the first two lines of each metric: of a seed of a whole page most
// executions go into making inputs smaller.
func fewer(page string) string {
	var b strings.Builder
	seen := map[string]int{}
	for line := range strings.Lines(page) {
		name, _, _ := strings.Cut(strings.TrimPrefix(line, "# TYPE "), "{")
		name, _, _ = strings.Cut(name, " ")
		if seen[name]++; name != "#" && seen[name] <= 2 && (strings.Contains(name, "workqueue") || strings.HasPrefix(name, "process_start")) {
			b.WriteString(line)
		}
	}
	return b.String()
}

func FuzzRead(f *testing.F) {
	for _, name := range []string{"kube-controller-manager", "controller-runtime", "scheduler"} {
		text, err := os.ReadFile(filepath.Join("testdata", name+".metrics"))
		if err != nil {
			f.Fatal(err)
		}
		f.Add(fewer(string(text)))
	}
	f.Fuzz(func(t *testing.T, text string) {
		s, err := Read(strings.NewReader(text), noon)
		if err != nil {
			return
		}
		before := *s
		before.At = noon.Add(-time.Second)
		for _, q := range s.Queues(&before) {
			if q.Adds != nil && q.Adds.PerSecond != nil && *q.Adds.PerSecond != 0 {
				t.Errorf("%q: a rate of %v without a change", q.Name, *q.Adds.PerSecond)
			}
		}
	})
}

// Of the loops of this program, whose counters are totals, two looks give the rates
// that a check is of.
func TestRatesOfTwoLooks(t *testing.T) {
	checks, err := ParseChecks("retries=5")
	if err != nil {
		t.Fatal(err)
	}
	depth, err := ParseChecks("depth=5,oldest=1s")
	if err != nil || !NeedRates(checks) || NeedRates(depth) || NeedRates(nil) {
		t.Fatalf("%v; retries need rates: %v, depth: %v", err, NeedRates(checks), NeedRates(depth))
	}
	look := func(retries uint64) []state.QueueStats {
		return []state.QueueStats{{Controller: "c", Name: "q", Retries: &state.Counter{Total: retries}, Adds: &state.Counter{Total: 7}}}
	}
	for name, test := range map[string]struct {
		before  []state.QueueStats
		now     uint64
		elapsed time.Duration
		want    []string
		blind   bool
	}{
		"over the bound":    {look(20), 40, 2 * time.Second, []string{"c/q: retries is 10/s, more than 5/s"}, false},
		"at the bound":      {look(20), 30, 2 * time.Second, nil, false},
		"from the start":    {nil, 20, 2 * time.Second, []string{"c/q: retries is 10/s, more than 5/s"}, false},
		"no time between":   {look(20), 40, 0, nil, true},
		"a counter is back": {look(20), 3, 2 * time.Second, nil, true},
	} {
		rows := WithRates(test.before, look(test.now), test.elapsed)
		if got := checks[0].Exceeded(rows); !slices.Equal(got, test.want) || checks[0].Measured(rows) == test.blind {
			t.Errorf("%s: %q, measured: %v", name, got, checks[0].Measured(rows))
		}
		if rows[0].Retries.Total != test.now || rows[0].Adds.Total != 7 || rows[0].Syncs != nil {
			t.Errorf("%s: %+v", name, rows[0])
		}
	}
}

func TestChecks(t *testing.T) {
	rows := read(t, "controller-runtime", noon).Queues(nil)
	for text, want := range map[string][]string{
		"depth=15":                {"shop: depth is 16, more than 15"},
		"depth=16":                nil,
		"depth=100,oldest=5m":     {"shop: oldest is 6m40s, more than 5m0s"},
		"longest=400s,inflight=1": {"shop: longest is 6m40s, more than 6m40s", "shop: inflight is 2, more than 1"},
		"work=30s":                {"shop: work is 1m0s, more than 30s"},
		"wait=1ms":                nil,
	} {
		checks, err := ParseChecks(text)
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		var got []string
		for _, c := range checks {
			got = append(got, c.Exceeded(rows)...)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %q, want %q", text, got, want)
		}
	}
	for _, text := range []string{"", "depth", "depth=", "depth=-1", "depth=NaN", "oldest=5", "oldest=-5m", "size=3", "depth=1,,"} {
		if _, err := ParseChecks(text); err == nil {
			t.Errorf("--check %q is accepted", text)
		}
	}
	rates, err := ParseChecks("retries=1")
	if err != nil || rates[0].Measured(rows) {
		t.Errorf("after one reading there are rates: %v", err)
	}
	own := []state.QueueStats{{Name: "q", Longest: new(state.Duration(time.Second)), Oldest: new(state.Duration(time.Hour))}}
	if oldest, _ := ParseChecks("oldest=1m"); len(oldest[0].Exceeded(own)) != 1 {
		t.Error("a key that has stood ready for an hour does not count")
	}
}

func TestStalled(t *testing.T) {
	stalled := &state.QueueStalled{Controller: "deployment-controller", Queue: "deployment", Key: "shop/web", Ready: 1, Idle: 5}
	got := Stalled([]state.QueueStats{{Name: "job"}, {Controller: "deployment-controller", Name: "deployment", Stalled: stalled}})
	want := []string{"deployment-controller/deployment: stalled: 1 key is ready while 5 workers are idle"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
