package recording

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var base = time.Date(2026, 1, 2, 15, 4, 5, 0, time.UTC)

// shop is a recorded session; TestShopRecording in cmd/kctl-ctrl makes it.
var shop = filepath.Join("testdata", "shop.jsonl")

// picture is everything that a snapshot holds, as text.
func picture(t testing.TB, s *state.Snapshot) string {
	t.Helper()
	var out strings.Builder
	for piece := range s.Checkpoint() {
		line, err := state.EncodeEntry(state.Entry{Event: piece})
		if err != nil {
			t.Fatal(err)
		}
		out.Write(append(line, '\n'))
	}
	return out.String()
}

// same compares two snapshots and shows the first line that differs.
func same(t testing.TB, what string, got, want *state.Snapshot) {
	t.Helper()
	a, b := strings.Split(picture(t, got), "\n"), strings.Split(picture(t, want), "\n")
	for i := range max(len(a), len(b)) {
		line := func(s []string) string {
			if i < len(s) {
				return s[i]
			}
			return "nothing"
		}
		if line(a) != line(b) {
			t.Fatalf("%s: line %d is\n%s\nwant\n%s", what, i, line(a), line(b))
		}
	}
}

// readAll gives every entry of a reader.
func readAll(t testing.TB, r *Reader) []state.Entry {
	t.Helper()
	var entries []state.Entry
	for {
		e, err := r.Next()
		if errors.Is(err, io.EOF) {
			return entries
		}
		if err != nil {
			t.Fatal(err)
		}
		entries = append(entries, e)
	}
}

func readFile(t testing.TB, path string) (*Reader, []state.Entry) {
	t.Helper()
	r, err := Open(path, Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return r, readAll(t, r)
}

func mustRead(t testing.TB, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// busy is what a session with many objects leaves: of each sync an object's
// change, a key added, taken, a write, finished; some fail and are retried.
func busy(i int) []state.Event {
	key := fmt.Sprintf("shop/web-%d", i*7%5000)
	sync := uint64(i + 1)
	ref := state.Ref{Group: "apps", Version: "v1", Resource: "deployments", Namespace: "shop", Name: key[5:], UID: "uid-" + key}
	cause := state.Cause{Kind: state.CauseEvent, Controller: "deployment-controller", Object: &ref, Change: state.ChangeUpdated, OldRV: strconv.Itoa(i), NewRV: strconv.Itoa(i + 1)}
	inSync := state.Cause{Kind: state.CauseSync, Controller: "deployment-controller", Queue: "deployment", Key: key, Sync: sync}
	events := []state.Event{
		state.ObjectChanged{Informer: "deployments.apps", Change: state.ChangeUpdated, Object: ref, OldRV: strconv.Itoa(i), NewRV: strconv.Itoa(i + 1)},
		state.KeyAdded{Controller: "deployment-controller", Queue: "deployment", Key: key, How: "Add", Cause: cause},
		state.KeyTaken{Controller: "deployment-controller", Queue: "deployment", Key: key, Sync: sync, Waited: time.Millisecond, Cause: cause},
		state.WriteFinished{
			Write: sync, Controller: "deployment-controller", Cause: inSync, Verb: "update", Object: ref, Subresource: "status", Mode: state.ModeActive,
			Result: state.WriteDone, Status: 200, Duration: 3 * time.Millisecond, ResourceVersion: strconv.Itoa(i + 2),
			Diff: []state.FieldChange{{Path: "status.observedGeneration", Old: strconv.Itoa(i), New: strconv.Itoa(i + 1)}},
		},
		state.KeyFinished{Controller: "deployment-controller", Queue: "deployment", Key: key, Sync: sync, Duration: 5 * time.Millisecond, Writes: 1},
	}
	if i%100 == 99 {
		events[4] = state.KeyFinished{Controller: "deployment-controller", Queue: "deployment", Key: key, Sync: sync, Duration: 5 * time.Millisecond, Failed: true, Error: "the object has been modified"}
		events = append(events, state.KeyAdded{Controller: "deployment-controller", Queue: "deployment", Key: key, How: "AddRateLimited", Delay: 40 * time.Millisecond, Retries: 1, Cause: inSync})
	}
	return events
}
