package tap

import (
	"bytes"
	"context"
	"errors"
	"runtime/pprof"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
	"unsafe"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// What Go keeps on a goroutine is what a frame begins with.
func TestLabelLayout(t *testing.T) {
	if err := checkLabelLayout(); err != nil {
		t.Fatal(err)
	}
	before := goroutineLabels()
	defer setGoroutineLabels(before)
	pprof.SetGoroutineLabels(pprof.WithLabels(t.Context(), pprof.Labels("b", "2", "a", "1")))
	got := goroutineLabels().labels()
	if want := []label{{"a", "1"}, {"b", "2"}}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if size := unsafe.Sizeof([]label{}); size != 24 {
		t.Errorf("a label list has %d bytes", size)
	}
	if f := New(&journal{}).current(); f != nil {
		t.Errorf("labels of someone else are taken for ours: %v", f.labels)
	}
}

func TestProfileShowsTheSync(t *testing.T) {
	c, tp, _ := tappedTarget(t)
	c.queue.Add("shop/web")
	take(t, c.queue)
	var profile bytes.Buffer
	if err := pprof.Lookup("goroutine").WriteTo(&profile, 1); err != nil {
		t.Fatal(err)
	}
	if want := `"kctl-ctrl/controller":"ctl", "kctl-ctrl/key":"shop/web", "kctl-ctrl/queue":"queue"`; !strings.Contains(profile.String(), want) {
		t.Errorf("no %s in\n%s", want, &profile)
	}
	c.queue.Done("shop/web")
	equal(t, "cause after Done", tp.Cause().Kind, state.CauseUnknown)
}

func TestCauseGoesWithTheGoroutine(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		other := New(&journal{})
		tp.Run(t.Context(), "ctl", func(context.Context) {
			root := state.Cause{Kind: state.CauseTimer, Controller: "ctl"}
			equal(t, "in Run", tp.Cause(), root)
			equal(t, "another tap", other.Cause().Kind, state.CauseUnknown)
			c.queue.Add("a")
			take(t, c.queue)
			sync1 := state.Cause{Kind: state.CauseSync, Controller: "ctl", Queue: "queue", Key: "a", Sync: 1}
			equal(t, "in the sync", tp.Cause(), sync1)

			var children sync.WaitGroup
			late := make(chan struct{})
			children.Go(func() {
				<-late // it outlives its sync and the next one
				equal(t, "in a late child", tp.Cause(), sync1)
				var grand sync.WaitGroup
				grand.Go(func() { equal(t, "in a grandchild", tp.Cause(), sync1) })
				grand.Wait()
			})
			time.AfterFunc(time.Second, func() { equal(t, "in a timer's function", tp.Cause().Kind, state.CauseUnknown) })
			c.queue.Done("a")
			equal(t, "after the sync", tp.Cause(), root)
			c.queue.Add("b")
			take(t, c.queue)
			close(late)
			children.Wait()
			time.Sleep(2 * time.Second)
			c.queue.Done("b")
		})
		equal(t, "after Run", tp.Cause().Kind, state.CauseUnknown)
	})
}

// tainteviction's workers get a key on one goroutine and call Done on another.
func TestDispatchedKeys(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, tp, _ := tappedTarget(t)
		tp.Run(t.Context(), "ctl", func(context.Context) {
			c.queue.Add("a")
			c.queue.Add("b")
			take(t, c.queue)
			take(t, c.queue)
			equal(t, "the last key", tp.Cause().Key, "b")
			var other sync.WaitGroup
			other.Go(func() { c.queue.Done("a"); c.queue.Done("b") })
			other.Wait()
			c.queue.ShutDown()
			c.queue.Get()
			equal(t, "in the next Get the label is gone", tp.Cause().Kind, state.CauseTimer)
			equal(t, "processing", tp.Activity().Processing, 0)
		})
	})
}

func TestLoggerHearsErrors(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var lines []string
		base := funcr.New(func(prefix, args string) { lines = append(lines, prefix+" "+args) }, funcr.Options{Verbosity: 1})
		c, tp, j := tappedTarget(t)
		logger := tp.Logger(base).WithName("deployment").WithValues("cluster", "x")
		failed := errors.New("quota exceeded")
		boom := errors.New("boom")

		for _, tt := range []struct {
			name string
			log  func()
			want string
		}{
			{"below base's level", func() { logger.V(2).Info("Error syncing deployment", "deployment", "d", "err", failed) }, "quota exceeded"},
			{"at base's level", func() { logger.V(1).Info("Retrying", "error", failed) }, "quota exceeded"},
			{"Error", func() { logger.Error(boom, "Sync failed", "err", failed) }, "boom"},
			{"Error without one", func() { logger.Error(nil, "Sync failed") }, ""},
			{"too verbose", func() { logger.V(4).Info("Sync failed", "err", failed) }, ""},
			{"no error there", func() { logger.Info("Sync failed", "err", "text", "odd") }, ""},
			{"WithCallDepth", func() { logger.WithCallDepth(1).V(2).Info("x", "err", failed) }, "quota exceeded"},
			{"Discard", func() { tp.Logger(logr.Discard()).V(2).Info("x", "err", failed) }, "quota exceeded"},
		} {
			c.queue.Add("a")
			take(t, c.queue)
			tt.log()
			c.queue.Done("a")
			if f := last[state.KeyFinished](t, j); f.Error != tt.want || f.Failed != (tt.want != "") {
				t.Errorf("%s: failed %v with %q, want %q", tt.name, f.Failed, f.Error, tt.want)
			}
		}
		logger.V(2).Info("outside a sync", "err", failed)
		equal(t, "lines that base wrote", len(lines), 4)
		if !strings.HasPrefix(lines[0], `deployment "level"=1 "msg"="Retrying" "cluster"="x"`) {
			t.Errorf("base wrote %q", lines[0])
		}
		if logger.V(2).Enabled() || !logger.V(1).Enabled() {
			t.Error("outside a sync the levels are not base's")
		}
	})
}

func TestLoggerKeepsTheCallDepth(t *testing.T) {
	var line string
	base := funcr.New(func(_, args string) { line = args }, funcr.Options{LogCaller: funcr.All})
	New(&journal{}).Logger(base).Info("here")
	if !strings.Contains(line, "cause_test.go") {
		t.Errorf("the caller is lost: %s", line)
	}
}
