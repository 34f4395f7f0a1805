package render

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// checkGolden compares with a file of testdata; go test -update rewrites it.
func checkGolden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("testdata", name)
	if *update {
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("%s: if the change is meant, run go test with -update\ngot:\n%s\nwant:\n%s", file, got, want)
	}
}

func TestTable(t *testing.T) {
	table := Table{
		Columns: []Column{{Title: "NAME"}, {Title: "COUNT", Right: true}, {Title: "NOTE", Max: 12}},
		Rows: [][]string{
			{"web", "3", "short"},
			{"拳闘", "12000", "a note that is too long"},
			{"evil\x1b]0;x\x07\u202e", "1", "two\nlines"},
			{"few"},
			{"many", "1", "", "not shown"},
		},
	}
	for name, opts := range map[string]TableOptions{
		"plain": {}, "bare": {NoHeaders: true}, "narrow": {Width: 20}, "color": {Color: true},
	} {
		checkGolden(t, "table/"+name+".txt", strings.ReplaceAll(table.Text(opts), "\x1b", "^["))
	}
	if got := (Table{Columns: table.Columns}).Text(TableOptions{}); got != "NAME   COUNT   NOTE\n" {
		t.Errorf("without rows: %q", got)
	}
}

func TestTableIsInertAndStraight(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rows := rapid.SliceOfN(rapid.SliceOfN(anyText, 0, 4), 0, 6).Draw(t, "rows")
		width := rapid.IntRange(0, 60).Draw(t, "width")
		table := Table{Columns: []Column{{Title: "A"}, {Title: "B", Right: true}, {Title: "C", Max: 9}}, Rows: rows}
		text := table.Text(TableOptions{Width: width})
		checkInert(t, text, true)
		lines := strings.Split(strings.TrimSuffix(text, "\n"), "\n")
		if len(lines) != len(rows)+1 {
			t.Errorf("%d lines for %d rows", len(lines), len(rows))
		}
		for _, l := range lines {
			if strings.TrimRight(l, " ") != l || (width > 0 && Width(l) > width) {
				t.Errorf("line %q of width %d", l, Width(l))
			}
		}
	})
}

func summaryOf(t *testing.T, s *state.Snapshot, opts SummaryOptions) string {
	t.Helper()
	var out strings.Builder
	if err := Summarise(s).Write(&out, opts); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// What the guard has answered no admission has seen, and what a later success cleared is
// marked.
func TestSummaryOfADryRun(t *testing.T) {
	write := state.WriteFinished{Controller: "replicaset-controller", Verb: "create", Object: state.Ref{Version: "v1", Resource: "pods", Namespace: "n", Name: "p"}, Result: state.WriteDry, Cause: state.Cause{Kind: state.CauseSync}}
	failed := state.WriteFinished{Controller: "replicaset-controller", Verb: "update", Object: write.Object, Result: state.WriteFailed, Message: "conflict", Cause: state.Cause{Kind: state.CauseTimer}}
	again := failed
	again.Result, again.Message = state.WriteDry, ""
	for mode, noted := range map[state.Mode]bool{state.ModeDryRunClient: true, state.ModeDryRunServer: false} {
		s := state.Fold(nil, state.Entry{Seq: 1, At: noon, Event: state.SessionStarted{Mode: mode}}, state.Entry{Seq: 2, At: noon, Event: write}, state.Entry{Seq: 3, At: noon, Event: failed})
		text := summaryOf(t, s, SummaryOptions{})
		if got := strings.Contains(text, "quotas and admission were not checked"); got != noted {
			t.Errorf("%s: the note on admission is there: %v\n%s", mode, got, text)
		}
		if !strings.Contains(text, "   pods n/p: conflict") {
			t.Errorf("%s: %s", mode, text)
		}
		if text = summaryOf(t, state.Fold(s, state.Entry{Seq: 4, At: noon, Event: again}), SummaryOptions{}); !strings.Contains(text, "   resolved: pods n/p: conflict") {
			t.Errorf("%s: the error is not marked: %s", mode, text)
		}
	}
}

func TestSummary(t *testing.T) {
	later := func(key string, d time.Duration, retries int) state.Event {
		return state.KeyAdded{Controller: "job-controller", Queue: "job", Key: key, How: "AddAfter", Delay: d, Due: noon.Add(d), Retries: retries}
	}
	entries := append(story(),
		state.Entry{Seq: 40, At: noon, Event: later("shop/report", 10*time.Minute, 0)},
		state.Entry{Seq: 41, At: noon, Event: later("shop/evil\x1b]0;x\x07", time.Minute, 0)},
		state.Entry{Seq: 42, At: noon, Event: state.KeyAdded{Controller: "job-controller", Queue: "job", Key: "shop/again", How: "AddRateLimited", Delay: time.Second, Due: noon.Add(time.Second), Retries: 4}},
		state.Entry{Seq: 43, At: noon, Event: state.ControllerChanged{Controller: "statefulset-controller", Status: state.ControllerRunning}},
		state.Entry{Seq: 44, At: noon, Event: state.WriteFinished{Controller: "simulated-nodes", Result: state.WriteDone, Verb: "patch"}},
	)
	s := state.Fold(state.NewSnapshot(state.Limits{Objects: 1}), entries...)
	checkGolden(t, "summary/full.txt", summaryOf(t, s, SummaryOptions{Now: noon}))
	checkGolden(t, "summary/narrow.txt", strings.ReplaceAll(summaryOf(t, s, SummaryOptions{Now: noon.Add(5 * time.Second), Width: 60, MaxTimers: 1, Color: true}), "\x1b", "^["))
	if got := summaryOf(t, s, SummaryOptions{}); !strings.Contains(got, "shop/report due in 9m53s") {
		t.Errorf("without a Now, due times do not relate to the last entry:\n%s", got)
	}
	asJSON, err := json.MarshalIndent(Summarise(s), "", "  ")
	if err != nil {
		t.Fatal(err)
	}
	checkGolden(t, "summary/full.json", string(asJSON)+"\n")
	idle := state.Fold(nil, state.Entry{Seq: 1, Event: state.ControllerChanged{Controller: "ttl-controller", Status: state.ControllerRunning}})
	checkGolden(t, "summary/idle.txt", summaryOf(t, idle, SummaryOptions{}))
	never := state.NewSnapshot(state.Limits{})
	never.Session.Elected = true
	checkGolden(t, "summary/not-elected.txt", summaryOf(t, never, SummaryOptions{}))
	held := state.Fold(never, state.Entry{Seq: 1, Event: state.ElectionChanged{Phase: state.ElectionReleased}})
	checkGolden(t, "summary/led-idle.txt", summaryOf(t, held, SummaryOptions{}))
	unsynced := state.Fold(nil,
		state.Entry{Seq: 1, Event: state.ControllerChanged{Controller: "ttl-controller", Status: state.ControllerRunning}},
		state.Entry{Seq: 2, Event: state.InformerChanged{Informer: "nodes", Status: state.InformerListing}},
		state.Entry{Seq: 3, Event: state.InformerChanged{Informer: "pods", Status: state.InformerFailed, Reason: "list pods: \x1b[31mgone"}},
		state.Entry{Seq: 4, Event: state.InformerChanged{Informer: "jobs.batch", Status: state.InformerSynced, ResourceVersion: "7"}},
		state.Entry{Seq: 5, Event: state.InformerChanged{Informer: "jobs.batch", Status: state.InformerFailed, Reason: "watch: gone"}},
	)
	checkGolden(t, "summary/unsynced.txt", summaryOf(t, unsynced, SummaryOptions{}))
	checkGolden(t, "summary/empty.txt", summaryOf(t, state.NewSnapshot(state.Limits{}), SummaryOptions{}))
}

func TestRoughly(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0s", 1024: "1µs", 4063232: "4.1ms", 130 * time.Millisecond: "130ms", 1349 * time.Millisecond: "1.3s", 3 * time.Minute: "3m0s",
	} {
		if got := roughly(d); got != want {
			t.Errorf("roughly(%s) = %s, want %s", d, got, want)
		}
	}
}
