package tui

import (
	"fmt"
	"strings"
	"testing"

	"github.com/kctl-ctrl/kctl-ctrl/tui/page"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// The title line says which rows are visible, and the filter, at any size.
func TestPlaceIsAlwaysVisible(t *testing.T) {
	snap := shop(t, 0)
	for _, size := range [][2]int{{60, 15}, {80, 24}, {200, 60}} {
		s := newScreen(t, shopOptions(snap), snap, size[0], size[1])
		for id, n := range map[page.ID]int{page.Controllers: snap.Controllers.Len(), page.Queues: 0, page.Writes: 0, page.Timeline: 0} {
			s.press(fmt.Sprint(int(id)), "g")
			line := strings.Split(s.text(), "\n")[2]
			want := "1–"
			if !strings.Contains(line, want) || n > 0 && !strings.Contains(line, fmt.Sprintf(" of %d", n)) {
				t.Errorf("page %d at %v: the title line is %q", id, size, line)
			}
			s.press("/", "type:web-5bd5d5fdbf-and-more", "enter")
			if line := strings.Split(s.text(), "\n")[2]; !strings.Contains(line, "/web-5bd5d5fdbf-and-more") {
				t.Errorf("page %d at %v: the filter is not in %q", id, size, line)
			}
			s.press("esc")
		}
	}
}

// What is sorted or filtered is read from its top.
func TestFilteredListsBeginAtTheirTop(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	for id := page.Controllers; id < page.Timeline; id++ { // a journal is read from its end
		s.press(fmt.Sprint(int(id)), "G", "/", "type:e")
		line := strings.Split(s.text(), "\n")[2]
		if !strings.Contains(line, "1–") && !strings.Contains(line, " 0 of") {
			t.Errorf("page %d: filtered, it shows %q", id, line)
		}
		s.press("esc")
	}
	s.press("1", "G", "o").has("> ")
	if line := strings.Split(s.text(), "\n")[2]; !strings.Contains(line, "1–") {
		t.Errorf("sorted, it shows %q", line)
	}
}

// A filter finds what a row shows.
func TestFilterFindsWhatRowsShow(t *testing.T) {
	all := shop(t, 0)
	snap := state.Fold(all, state.Entry{Seq: all.Seq + 1, At: all.At, Event: state.WriteFinished{
		Controller: "job-controller", Verb: "create", Object: state.Ref{Resource: "pods", Namespace: "shop", Name: "import-x"},
		Result: state.WriteFailed, Status: 403, Message: "quota",
	}})
	for _, c := range []struct {
		page page.ID
		text string
		want string
	}{
		{page.Writes, "403", "import-x"},
		{page.Queues, "failed", "failed"},
		{page.Timeline, "write update", "write update"},
		{page.Controllers, "deployment$", "> deployment"},
		{page.Informers, "synced", "synced"},
		{page.Leases, "expired", "EXPIRED"},
		{page.Tree, "^controller", "controller"},
	} {
		s := newScreen(t, shopOptions(snap), snap, 140, 40)
		s.press(fmt.Sprint(int(c.page)), "/", "type:"+c.text, "enter")
		body := strings.Join(strings.Split(s.text(), "\n")[3:], "\n")
		if !strings.Contains(body, c.want) || strings.Contains(body, "(esc clears)") {
			t.Errorf("page %d: /%s does not find %q:\n%s", c.page, c.text, c.want, s.text())
		}
	}
}

// A filter without a match says so, and does not claim that there is nothing.
func TestFilterWithoutAMatch(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	for id, things := range map[page.ID]string{
		page.Controllers: "controllers", page.Queues: "keys", page.Informers: "informers", page.Writes: "writes", page.Tree: "objects",
		page.Revisions: "histories", page.Leases: "leases", page.Timeline: "entries",
	} {
		s.press(fmt.Sprint(int(id)), "/", "type:no-such-thing", "enter").has(fmt.Sprintf("No %s match %q (esc clears)", things, "no-such-thing")).press("esc").hasNot("esc clears")
	}
}

// An invalid filter is an error beside the prompt, which stays open.
func TestInvalidFilterStaysInThePrompt(t *testing.T) {
	snap := shop(t, 0)
	s := newScreen(t, shopOptions(snap), snap, 80, 24)
	s.press("/", "type:web[")
	if line := s.footerText(); !strings.Contains(line, "/web[") || !strings.Contains(line, "missing closing ]") {
		t.Errorf("the prompt is %q", line)
	}
	s.press("enter", "type:a]").has("/web[a]").press("enter")
	if line := s.footerText(); strings.Contains(line, "/web") {
		t.Errorf("a valid filter is still in the prompt: %q", line)
	}
	s.has("/web[a]")
}
