package informers

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/kctl-ctrl/kctl-ctrl/watch/owners"
	"github.com/kctl-ctrl/kctl-ctrl/watch/redact"
	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

func TestInformerFollows(t *testing.T) {
	for _, contents := range []Contents{Metadata, Whole} {
		t.Run(string(contents), func(t *testing.T) {
			server := newServer(t, pod("shop", "db"), pod("shop", "web"))
			set, j := newSet(t, server, Options{})
			h := open(t, set, pods, contents)
			until(t, "it synced", synced(h))
			if got := names(t, h, Query{}); got != "db web" {
				t.Errorf("rows: %s", got)
			}
			server.set("ADDED", pod("shop", "cache"))
			server.set("MODIFIED", pod("shop", "web", labelled("app", "web")))
			server.set("DELETED", pod("shop", "db"))
			until(t, "it followed", func() bool { return names(t, h, Query{}) == "cache web" })

			w, _ := h.Window(Query{Sort: ByChange}, 0, 1)
			if r := w.Rows[0]; r.Name != "web" || r.Labels["app"] != "web" || r.Changed.IsZero() || (r.Status != nil) != (contents == Whole) {
				t.Errorf("row: %+v", r)
			}
			stats := h.Stats()
			if stats.Objects != 2 || stats.ResourceVersion != "105" || stats.Events != 5 || stats.LastEvent.IsZero() || stats.Metadata == (contents == Whole) ||
				stats.FIFODepth == nil || *stats.FIFODepth != 0 || stats.Handlers[0] != (state.HandlerStats{Controller: "screen", Synced: true, ResourceVersion: "105"}) {
				t.Errorf("stats: %+v", stats)
			}
			server.bookmark()
			until(t, "the bookmark came", func() bool { return h.Stats().ResourceVersion == "106" })
			if h.Stats().LastBookmark.IsZero() {
				t.Error("it has no time")
			}
			want := []string{
				"pods listing", "listed shop/db", "listed shop/web", "pods synced", "added shop/cache", "updated shop/web", "deleted shop/db",
			}
			got := j.lines()
			slices.Sort(got[1:min(4, len(got))])
			slices.Sort(want[1:4])
			if !slices.Equal(got, want) {
				t.Errorf("journal: %q", got)
			}
		})
	}
}

// What has arrived is shown while the rest is under way, with how much there is.
func TestFirstRows(t *testing.T) {
	var all []object
	for i := range 250 {
		all = append(all, pod("shop", fmt.Sprintf("web-%03d", i)))
	}
	server := newServer(t, all...)
	hold := make(chan struct{})
	server.hold = hold
	set, _ := newSet(t, server, Options{Listed: 100})
	h := open(t, set, pods, Whole)
	until(t, "all are shown", func() bool { w, _ := h.Window(Query{}, 0, 10); return w.Total == 250 })
	w, err := h.Window(Query{Text: "WEB-24", Descending: true}, 0, 3)
	if err != nil {
		t.Fatal(err)
	}
	if w.Synced {
		t.Error("it says that the list is complete")
	}
	until(t, "the number is known", func() bool { w, _ := h.Window(Query{}, 0, 1); return w.Expected == 250 })
	if stats := h.Stats(); stats.Status != state.InformerListing || stats.Arrived != 250 || stats.Expected != 250 || stats.Synced {
		t.Errorf("stats: %+v", stats)
	}
	// One goes before the list is complete; nobody tells of it.
	server.change(func() { delete(server.objects, "shop/web-007") })
	server.stop()
	server.change(func() { server.hold = nil })
	server.restart()
	until(t, "it synced", synced(h))
	if w, _ := h.Window(Query{}, 0, 10); w.Total != 249 || !w.Synced || h.Stats().Arrived != 0 {
		t.Errorf("%+v", w)
	}
	until(t, "the view is built", func() bool { w, err = h.Window(Query{Text: "WEB-24", Descending: true}, 0, 3); return w.Built })
	if w.Total != 10 || w.Rows[0].Name != "web-249" || w.Rows[2].Name != "web-247" {
		t.Errorf("%+v", w)
	}
}

// The objects of a long list are counted in the journal, not told.
func TestLongListIsNotTold(t *testing.T) {
	server := newServer(t, pod("shop", "a"), pod("shop", "b"), pod("shop", "c"))
	set, j := newSet(t, server, Options{Listed: 2})
	h := open(t, set, pods, Metadata)
	until(t, "it synced", synced(h))
	server.set("ADDED", pod("shop", "d"))
	until(t, "it is told", func() bool { return len(j.lines()) == 3 })
	if got := j.lines(); !slices.Equal(got, []string{"pods listing", "pods synced", "added shop/d"}) {
		t.Errorf("journal: %q", got)
	}
	if e := j.events[1].(state.InformerChanged); e.Objects != 3 {
		t.Errorf("it counts %d", e.Objects)
	}
}

// A server that cannot stream a list is asked for a plain one.
func TestPlainList(t *testing.T) {
	server := newServer(t, pod("shop", "db"), pod("shop", "web"))
	server.plain = true
	set, j := newSet(t, server, Options{})
	h := open(t, set, pods, Whole)
	until(t, "it synced", synced(h))
	server.set("MODIFIED", pod("shop", "web"))
	until(t, "it followed", func() bool { return h.Stats().Events == 3 })
	for _, line := range j.lines() {
		if strings.Contains(line, "gap") || strings.Contains(line, "failed") {
			t.Errorf("journal: %q", j.lines())
		}
	}
}

// A list after the first is a gap, and what it brings is right.
func TestRelistIsAGap(t *testing.T) {
	server := newServer(t, pod("shop", "db"), pod("shop", "web"))
	set, j := newSet(t, server, Options{})
	h := open(t, set, pods, Metadata)
	until(t, "it synced", synced(h))
	server.change(func() { delete(server.objects, "shop/db") })
	server.forget()
	until(t, "it listed again", func() bool { return h.Stats().Relists == 1 && synced(h)() && names(t, h, Query{}) == "web" })
	stats := h.Stats()
	if !strings.Contains(stats.LastRelist, "too old") || stats.LastRelistAt.IsZero() {
		t.Errorf("stats: %+v", stats)
	}
	until(t, "it is told", func() bool { return len(j.lines()) == 8 })
	got := j.lines()[4:]
	slices.Sort(got)
	if !slices.Equal(got, []string{"deleted shop/db", "gap pods", "pods relisted", "pods synced"}) {
		t.Errorf("journal: %q", j.lines())
	}
}

// A server that was restored from a backup knows nothing of what came after it: that
// goes from the cache, and the gap is told.
func TestRestoredServer(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for the back-off of client-go")
	}
	// Where a watch had nothing to tell, client-go lists again by itself.
	for _, c := range []struct{ plain, told, frank bool }{
		{}, {plain: true}, {told: true}, {plain: true, told: true}, {told: true, frank: true}, {plain: true, told: true, frank: true},
	} {
		server := newServer(t, pod("shop", "db"), pod("shop", "web"))
		server.plain, server.frank = c.plain, c.frank
		set, j := newSet(t, server, Options{})
		h := open(t, set, pods, Metadata)
		until(t, "it synced", synced(h))
		if c.told {
			until(t, "it watches", func() bool { return server.asked("watch") > 0 })
			until(t, "a bookmark came", func() bool { server.bookmark(); return !h.Stats().LastBookmark.IsZero() })
		}
		version := "20"
		if c.frank {
			server.restore(20, "shop/db")
			server.bookmark()
			version = "21"
		} else {
			server.stop()
			server.restore(20, "shop/db")
			server.restart()
		}
		until(t, "it listed again", func() bool { return h.Stats().Relists == 1 && synced(h)() && names(t, h, Query{}) == "web" })
		if got := h.Stats(); !strings.Contains(got.LastRelist, "regressed") || got.ResourceVersion != version {
			t.Errorf("stats: %+v", got)
		}
		until(t, "the gap is told", func() bool { return slices.Contains(j.lines(), "gap pods") })
		if c.told && h.Stats().LastBookmark.IsZero() {
			t.Error("no bookmark was seen")
		}
	}
}

// Types that this program has no Go type for, with and without namespaces.
func TestCustomResources(t *testing.T) {
	for _, contents := range []Contents{Metadata, Whole} {
		server := newServer(t, object{
			"apiVersion": "example.com/v1", "kind": "Widget", "metadata": object{
				"name": "one", "uid": "1", "deletionTimestamp": "2026-01-02T03:04:05Z", "finalizers": []any{"example.com/a", "example.com/b"},
				"ownerReferences": []any{object{"apiVersion": "example.com/v1", "kind": "Gadget", "name": "g", "uid": "2", "controller": true}},
			},
			"status": object{"phase": "Ready"},
		})
		set, _ := newSet(t, server, Options{})
		h, err := set.Open(owners.Type{Group: "example.com", Version: "v1", Resource: "widgets", Kind: "Widget"}, "ignored", contents)
		if err != nil {
			t.Fatal(err)
		}
		until(t, "it synced", synced(h))
		w, err := h.Window(Query{}, 0, 5)
		if err != nil || len(w.Rows) != 1 {
			t.Fatalf("%+v %v", w, err)
		}
		r := w.Rows[0]
		if r.Type() != "widgets.example.com" || r.Finalizers != 2 || r.Deleting.IsZero() || r.Owner.String() != "gadgets.example.com g" || (r.Status != nil) != (contents == Whole) {
			t.Errorf("%+v", r)
		}
		o, _ := h.Object("", "one")
		if o.Content["kind"] != "Widget" || o.Content["apiVersion"] != "example.com/v1" {
			t.Errorf("%v", o.Content)
		}
		if c, err := h.Compare(t.Context(), "", "one"); err != nil || c.Freshness != state.Current || len(c.Changes) > 0 {
			t.Errorf("%+v %v", c, err)
		}
	}
}

// Informers are shared, outlive their last user by the grace, and end.
func TestShared(t *testing.T) {
	server := newServer(t, pod("shop", "web"))
	set, j := newSet(t, server, Options{Grace: time.Hour})
	one, two := open(t, set, pods, Whole), open(t, set, pods, Metadata)
	if one.informer != two.informer {
		t.Error("whole objects do for who wants metadata")
	}
	until(t, "it synced", synced(one))
	other, err := set.Open(pods, "shop", Metadata)
	if err != nil || other.informer == one.informer {
		t.Errorf("another namespace: %v", err)
	}
	one.Close()
	one.Close()
	two.Close()
	again := open(t, set, pods, Whole)
	if again.informer != two.informer || len(set.Stats()) != 2 {
		t.Error("it ended before the grace was over")
	}
	set.Close()
	if _, err := set.Open(pods, "", Metadata); err != ErrClosed {
		t.Errorf("open after the end: %v", err)
	}
	if n := strings.Count(strings.Join(j.lines(), "\n"), "pods stopped"); n != 2 {
		t.Errorf("%d have stopped: %q", n, j.lines())
	}
}

func TestNoGrace(t *testing.T) {
	server := newServer(t, pod("shop", "web"))
	set, j := newSet(t, server, Options{Grace: -1})
	h := open(t, set, pods, Metadata)
	until(t, "it synced", synced(h))
	h.Close()
	until(t, "it stopped", func() bool { return slices.Contains(j.lines(), "pods stopped") })
	if len(set.Stats()) != 0 {
		t.Error("it is still there")
	}
}

func TestSilent(t *testing.T) {
	server := newServer(t, pod("shop", "db"), pod("shop", "web"))
	var asked atomic.Int64
	set, j := newSet(t, server, Options{Silent: func(r state.Ref) bool { asked.Add(1); return r.Type() == "pods" }})
	h := open(t, set, pods, Metadata)
	until(t, "it synced", synced(h))
	if got := j.lines(); len(got) > 0 {
		t.Errorf("journal: %q", got)
	}
	known := *h.silence.Load()
	before := asked.Load()
	for range 100 {
		h.silence.Store(&silence{asked: time.Now(), silent: known.silent})
		h.silent()
	}
	if asked.Load() != before {
		t.Error("it is asked for each event")
	}
	h.silence.Store(&silence{asked: known.asked.Add(-2 * silentFor), silent: known.silent})
	if h.silent(); asked.Load() != before+1 {
		t.Error("it is not asked again")
	}
}

const canary = "Y2FuYXJ5"

// The values of a Secret reach neither the store nor anybody.
func TestSecrets(t *testing.T) {
	secret := object{
		"apiVersion": "v1", "kind": "Secret", "type": "Opaque", "data": object{"password": canary},
		"metadata": object{
			"name": "db", "namespace": "shop", "uid": "1",
			"annotations":   object{"kubectl.kubernetes.io/last-applied-configuration": canary},
			"managedFields": []any{object{"manager": "kubectl", "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": object{"f:data": object{"f:password": object{}}}}},
		},
	}
	for _, plain := range []bool{false, true} {
		server := newServer(t, secret)
		server.plain = plain
		set, _ := newSet(t, server, Options{})
		h := open(t, set, owners.Type{Version: "v1", Resource: "secrets", Kind: "Secret", Namespaced: true}, Whole)
		until(t, "it synced", synced(h))
		o, found := h.Object("shop", "db")
		if !found || o.Content["data"].(object)["password"] != redact.Hidden || len(o.Owners) != 1 || o.Owners[0].Path != "data.password" {
			t.Errorf("object: %+v", o)
		}
		changed := pod("shop", "db")["metadata"].(object)
		changed["annotations"] = object{"kubectl.kubernetes.io/last-applied-configuration": canary}
		server.set("MODIFIED", object{"apiVersion": "v1", "kind": "Secret", "data": object{"password": canary + "2"}, "metadata": changed})
		compared, err := h.Compare(context.Background(), "shop", "db")
		if err != nil || compared.Freshness != state.Current {
			t.Errorf("compared: %+v %v", compared, err)
		}
		for _, o := range append(h.real.GetStore().List(), o, compared) {
			text, err := json.Marshal(o)
			if err != nil || strings.Contains(string(text), canary) {
				t.Errorf("a value: %s %v", text, err)
			}
		}
	}
}

func TestObjectAndCompare(t *testing.T) {
	managed := func(meta object) {
		meta["managedFields"] = []any{
			object{"manager": "kubectl", "operation": "Apply", "time": "2026-01-02T03:04:05Z", "fieldsType": "FieldsV1", "fieldsV1": object{
				"f:spec":     object{"f:containers": object{`k:{"name":"web"}`: object{".": object{}, "f:image": object{}}}},
				"f:metadata": object{"f:labels": object{"f:example.com/app": object{}}, "f:finalizers": object{`v:"orphan"`: object{}}},
			}},
			object{"manager": "kubelet", "operation": "Update", "subresource": "status", "fieldsType": "FieldsV1", "fieldsV1": object{"f:status": object{"f:phase": object{}}}},
			object{"manager": "odd", "operation": "Update", "fieldsType": "FieldsV1", "fieldsV1": object{"nonsense": 1}},
		}
	}
	server := newServer(t, pod("shop", "web", managed, labelled("example.com/app", "web")))
	set, _ := newSet(t, server, Options{})
	h := open(t, set, pods, Whole)
	until(t, "it synced", synced(h))
	o, found := h.Object("shop", "web")
	if !found || o.Content["kind"] != "Pod" || o.Content["metadata"].(object)["managedFields"] != nil || o.Status == nil {
		t.Errorf("object: %+v", o)
	}
	var got []string
	for _, f := range o.Owners {
		got = append(got, f.Path+" "+f.Manager+" "+f.Operation+f.Subresource)
	}
	want := []string{
		`metadata.finalizers[=orphan] kubectl Apply`, `metadata.labels["example.com/app"] kubectl Apply`, `spec.containers[name=web].image kubectl Apply`,
		`status.phase kubelet Updatestatus`, `… odd Update`,
	}
	if !slices.Equal(got, want) {
		t.Errorf("owners: %q", got)
	}
	if _, found := h.Object("shop", "nobody"); found {
		t.Error("it has what is not there")
	}

	compare := func(name string) Comparison {
		c, err := h.Compare(context.Background(), "shop", name)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := compare("web"); c.Freshness != state.Current || len(c.Changes) != 0 || c.ResourceVersion == "" {
		t.Errorf("%+v", c)
	}
	// The watch does not tell of these.
	server.change(func() {
		live := pod("shop", "web", managed, labelled("example.com/app", "shop"))
		live["metadata"].(object)["resourceVersion"] = "999"
		server.objects["shop/web"] = live
		server.objects["shop/new"] = live
	})
	c := compare("web")
	if c.Freshness != state.Behind || len(c.Changes) != 2 || c.Changes[0].Path != `metadata.labels["example.com/app"]` {
		t.Errorf("%+v", c)
	}
	if c := compare("new"); c.Freshness != state.Missing || c.Held != nil || c.Live == nil {
		t.Errorf("%+v", c)
	}
	server.change(func() { delete(server.objects, "shop/web") })
	if c := compare("web"); c.Freshness != state.Gone || c.Held == nil || c.Live != nil {
		t.Errorf("%+v", c)
	}
}
