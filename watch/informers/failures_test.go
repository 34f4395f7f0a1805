package informers

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestForbidden(t *testing.T) {
	server := newServer(t, pod("shop", "web"))
	server.refuse = map[string]int{"list": http.StatusForbidden, "watch": http.StatusForbidden}
	set, j := newSet(t, server, Options{})
	h := open(t, set, pods, Metadata)
	until(t, "it failed at both", func() bool { return strings.Contains(h.Stats().Reason, "cannot list") })
	stats := h.Stats()
	if stats.Status != state.InformerFailed || !strings.Contains(stats.Reason, `list pods: pods is forbidden: User "eve" cannot list`) {
		t.Errorf("stats: %+v", stats)
	}
	// Watch, list and the first page.
	if n := server.asked("watch") + server.asked("list"); n > 4 {
		t.Errorf("%d requests", n)
	}
	if !h.refusals.holds("watch") || !h.refusals.holds("list") {
		t.Error("the next tries are not held back")
	}
	if c := set.Contact(); !c.Lost.IsZero() {
		t.Errorf("a server that says no is taken for lost: %+v", c)
	}
	server.change(func() { clear(server.refuse) })
	until(t, "it is let in", func() bool { set.Retry(); return synced(h)() })
	if got := names(t, h, Query{}); got != "web" {
		t.Errorf("rows: %s", got)
	}
	if got := j.lines(); got[1] != "pods failed" {
		t.Errorf("journal: %q", got)
	}
}

// What fails again and again is told once for each reason.
func TestFailuresAreToldOnce(t *testing.T) {
	server := newServer(t, pod("shop", "web"))
	set, j := newSet(t, server, Options{})
	h := open(t, set, pods, Metadata)
	until(t, "it synced", synced(h))
	for range 3 {
		h.fails("watch", errors.New("no"))
		h.fails("list", errors.New("no"))
	}
	h.turn(state.InformerSynced, "")
	h.fails("watch", errors.New("no"))
	want := []string{"pods failed", "pods failed", "pods synced", "pods failed"}
	if got := j.lines()[3:]; !slices.Equal(got, want) {
		t.Errorf("journal: %q", got)
	}
}

// Who may list and not watch sees what the list gave, and why it stands still.
func TestForbiddenWatch(t *testing.T) {
	server := newServer(t, pod("shop", "web"))
	server.refuse = map[string]int{"watch": http.StatusForbidden}
	set, _ := newSet(t, server, Options{})
	h := open(t, set, pods, Metadata)
	until(t, "it synced", func() bool { return h.Stats().Synced })
	if stats := h.Stats(); stats.Status != state.InformerFailed || !strings.Contains(stats.Reason, "cannot watch") || names(t, h, Query{}) != "web" {
		t.Errorf("stats: %+v", stats)
	}
}

func TestRefusalsAreSpaced(t *testing.T) {
	r := newRefusals()
	var total time.Duration
	for range 12 {
		r.note("list")
		total += r.pause["list"]
	}
	if r.pause["list"] != refusedMost || total < 20*time.Minute || r.holds("watch") || !r.holds("list") {
		t.Errorf("%v after %v", r.pause, total)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if err := r.wait(ctx, "list", 0); err == nil {
		t.Error("it does not wait")
	}
	r.clear("list")
	if err := r.wait(context.Background(), "list", 0); err != nil || r.holds("list") {
		t.Error("it waits still")
	}
}

// A server that goes away is noticed, and so is its return, without a restart.
func TestServerGone(t *testing.T) {
	server := newServer(t, pod("shop", "web"))
	set, j := newSet(t, server, Options{Heartbeat: -1})
	h := open(t, set, pods, Metadata)
	until(t, "it synced", synced(h))
	if c := set.Contact(); c.Last.IsZero() || !c.Lost.IsZero() {
		t.Errorf("contact: %+v", c)
	}
	server.stop()
	until(t, "it is lost", func() bool { c := set.Contact(); return !c.Lost.IsZero() && c.Probes > 1 })
	c := set.Contact()
	if c.Reason == "" || c.Last.After(time.Now()) {
		t.Errorf("contact: %+v", c)
	}
	until(t, "it says so", func() bool { return h.Stats().Status == state.InformerFailed })
	if got := names(t, h, Query{}); got != "web" {
		t.Errorf("rows: %s", got)
	}
	server.set("ADDED", pod("shop", "cache"))
	server.restart()
	back := time.Now()
	until(t, "it is back", func() bool { return synced(h)() && names(t, h, Query{}) == "cache web" })
	t.Logf("back after %v", time.Since(back))
	if c := set.Contact(); !c.Lost.IsZero() || c.Reason != "" {
		t.Errorf("contact: %+v", c)
	}
	// Whether the reflector goes on where it was or lists again depends on how
	// the connection broke. It is a gap if and only if it lists.
	want := []string{"pods listing", "listed shop/web", "pods synced", "pods failed"}
	if h.Stats().Relists > 0 {
		want = append(want, "gap pods", "pods relisted")
	}
	want = append(want, "pods synced", "added shop/cache")
	until(t, "it is told", func() bool { return len(j.lines()) == len(want) })
	got := j.lines()
	slices.Sort(got[4:])
	slices.Sort(want[4:])
	if !slices.Equal(got, want) {
		t.Errorf("journal: %q", j.lines())
	}
}

// A server that says nothing is noticed though no connection breaks. What hangs in
// it is asked again when it is back; what it was told of meanwhile is not lost.
func TestServerSilent(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for a connection that is silent for seconds")
	}
	server := newServer(t, pod("shop", "web"))
	set, j := newSet(t, server, Options{Heartbeat: 50 * time.Millisecond})
	h := open(t, set, pods, Metadata)
	until(t, "it synced", synced(h))
	server.change(func() { server.dead = true })
	late := open(t, set, pods, Whole)
	until(t, "it hangs", func() bool { return server.asked("watch") == 2 })
	until(t, "it is lost", func() bool { return !set.Contact().Lost.IsZero() })
	if stats := h.Stats(); stats.Status != state.InformerSynced || late.Stats().Status != state.InformerListing {
		t.Errorf("an open watch is not taken for ended: %+v", stats)
	}
	server.set("ADDED", pod("shop", "cache"))
	server.change(func() { server.dead = false })
	until(t, "it is back", func() bool { return set.Contact().Lost.IsZero() && synced(late)() })
	until(t, "both follow", func() bool { return names(t, h, Query{}) == "cache web" && names(t, late, Query{}) == "cache web" })
	if strings.Contains(strings.Join(j.lines(), "\n"), "gap") {
		t.Errorf("journal: %q", j.lines())
	}
}

// A server that is up and not ready is waited for.
func TestServerNotReady(t *testing.T) {
	server := newServer(t, pod("shop", "web"))
	server.refuse = map[string]int{"list": 503, "watch": 503}
	set, _ := newSet(t, server, Options{})
	h := open(t, set, pods, Metadata)
	until(t, "it failed", func() bool { return h.Stats().Status == state.InformerFailed })
	server.change(func() { clear(server.refuse) })
	until(t, "it synced", synced(h))
}
