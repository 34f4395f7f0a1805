package page

import (
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/tui/internal/tuitest"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// What a ring no longer holds goes from the page too, and the rest stays.
func TestKeptFollowsItsRing(t *testing.T) {
	snap := state.NewSnapshot(state.Limits{Recent: 3})
	k := Kept[state.Entry]{Seq: func(e state.Entry) uint64 { return e.Seq }}
	for seq := uint64(1); seq <= 10; seq++ {
		snap = state.Fold(snap, state.Entry{Seq: seq, At: tuitest.Now().Add(time.Duration(seq)), Event: state.Note{Text: "n"}})
		k.Look(snap, snap.Recent, func(e state.Entry) bool { return e.Seq%2 == 0 })
	}
	var got []uint64
	for _, e := range k.items {
		got = append(got, e.Seq)
	}
	if len(got) != 2 || got[0] != 8 || got[1] != 10 {
		t.Errorf("kept %v, want 8 and 10", got)
	}
}
