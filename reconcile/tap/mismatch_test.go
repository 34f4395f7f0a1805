package tap

//lint:file-ignore U1000 unread fields stand for upstream's

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"k8s.io/client-go/util/workqueue"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// What another release could make of a queue's interface. Peek would come between
// Len and ShutDown in the method table: a call of ShutDown through a reinterpreted
// value would land in another method.
type (
	wider interface {
		workqueue.TypedInterface[realItem]
		Peek() (realItem, bool)
	}
	renamedQueue interface {
		Add(realItem)
		Length() int
		Get() (realItem, bool)
		Done(realItem)
		ShutDown()
		ShutDownWithDrain()
		ShuttingDown() bool
	}
	retyped interface {
		Add(realItem)
		Len() int64
		Get() (realItem, bool)
		Done(realItem)
		ShutDown()
		ShutDownWithDrain()
		ShuttingDown() bool
	}
	widerDelaying interface {
		workqueue.TypedDelayingInterface[realItem]
		AddAt(realItem, time.Time)
	}
)

type peeking struct {
	workqueue.TypedDelayingInterface[realItem]
}

func (peeking) Peek() (realItem, bool)    { return realItem{}, false }
func (peeking) Length() int               { return 0 }
func (peeking) AddAt(realItem, time.Time) {}

type lengthy struct{ *peeking }

func (lengthy) Len() int64 { return 0 }

func TestOtherMethodSets(t *testing.T) {
	p := &peeking{workqueue.NewTypedDelayingQueue[realItem]()}
	defer p.ShutDown()
	type late struct {
		first  workqueue.TypedInterface[realItem]
		second wider
	}
	plain := workqueue.NewTyped[realItem]()
	defer plain.ShutDown()
	for _, tt := range []struct {
		target     any
		path, want string
	}{
		{&struct{ queue wider }{p}, "queue", "has 8 methods"},
		{&struct{ queue widerDelaying }{p}, "queue", "has 9 methods"},
		{&struct{ queue renamedQueue }{p}, "queue", "is Length in"},
		{&struct{ queue retyped }{&lengthy{p}}, "queue", "method Len is func() int64"},
		{&late{plain, p}, "second", "has 8 methods"},
	} {
		for name, spec := range map[string]Spec{
			"mirrored": Of("q", tt.path, mirrorItem.describe),
			"its own":  Of("q", tt.path, func(k realItem) string { return k.name }),
		} {
			tp := New(&journal{})
			err := tp.Attach("ctl", tt.target, spec)
			if err == nil || !strings.Contains(err.Error(), tt.want) || !strings.HasPrefix(err.Error(), "attach to ctl: queue q: field "+tt.path) {
				t.Errorf("%T, %s keys: %v, want it to say %q", tt.target, name, err, tt.want)
			}
			if queues := tp.Queues("ctl"); len(queues) != 0 {
				t.Errorf("%T: queues %q are attached all the same", tt.target, queues)
			}
		}
	}
}

// Where one field of a queue that is held twice does not fit, the other is left as it
// was: half a tap would have workers wait for keys that come in past it.
func TestNothingIsReplacedWhereOneFieldDiffers(t *testing.T) {
	p := &peeking{workqueue.NewTypedDelayingQueue[realItem]()}
	defer p.ShutDown()
	c := &struct {
		mine   workqueue.TypedInterface[realItem]
		theirs wider
	}{p, p}
	tp := New(&journal{})
	if err := tp.Attach("ctl", c, Of("q", "mine", mirrorItem.describe).Also("theirs")); err == nil {
		t.Error("a field of another interface is taken")
	}
	if c.mine != p || c.theirs != p {
		t.Error("a field was replaced")
	}
}

// What reflection does not expect is an error.
func TestAttachDoesNotPanic(t *testing.T) {
	tp := New(&journal{})
	for _, target := range []any{nil, 7, "x", &struct{ queue map[string]int }{}, &struct{ queue func() }{}, &struct {
		queue interface{ Get() (int, bool) }
	}{&getter{}}} {
		if err := tp.Attach("ctl", target, Strings("q", "queue"), Strings("r", "queue.x")); err == nil {
			t.Errorf("%T is taken", target)
		}
	}
	explosive := Strings("q", "queue")
	explosive.fits = nil
	c := newTarget()
	defer c.shutDown()
	if err := tp.Attach("ctl", c, explosive); err == nil || !strings.HasPrefix(err.Error(), "attach to ctl: reflection: ") {
		t.Errorf("a panic: %v", err)
	}
}

type getter struct{}

func (*getter) Get() (int, bool) { return 0, false }

// Without labels all causes are unknown, the journal says why, and the rest is
// observed: keys, syncs, retries.
func TestWithoutLabels(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		j := &journal{}
		tp := newTap(j, errors.New("goroutine labels: laid out otherwise"))
		equal(t, "note", last[state.Note](t, j), state.Note{Source: "tap", Warning: true, Text: "causes are unknown: goroutine labels: laid out otherwise"})
		c := newTarget()
		defer c.shutDown()
		if err := tp.Attach("ctl", c, Strings("queue", "queue")); err != nil {
			t.Fatal(err)
		}
		tp.Run(t.Context(), "ctl", func(context.Context) {
			c.queue.Add("a")
			key := take(t, c.queue)
			equal(t, "cause", tp.Cause(), state.Cause{Kind: state.CauseUnknown})
			c.queue.AddRateLimited(key)
			c.queue.Done(key)
		})
		taken := last[state.KeyTaken](t, j)
		equal(t, "taken", taken.Cause, state.Cause{Kind: state.CauseUnknown})
		finished := last[state.KeyFinished](t, j)
		equal(t, "finished", finished.Failed, true)
		time.Sleep(2 * time.Second)
		equal(t, "after its delay", take(t, c.queue), "a")
		c.queue.Forget("a")
		c.queue.Done("a")
		equal(t, "retries forgotten", last[state.KeyForgotten](t, j).Retries, 1)
	})
}

// One small file goes past the type system.
func TestUnsafeIsInOneFile(t *testing.T) {
	files, err := filepath.Glob("*.go")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ImportsOnly)
		if err != nil {
			t.Fatal(err)
		}
		uses := slices.ContainsFunc(f.Imports, func(i *ast.ImportSpec) bool { return i.Path.Value == `"unsafe"` })
		if uses && name != "unsafe.go" && !strings.HasSuffix(name, "_test.go") {
			t.Errorf("%s imports unsafe: that belongs in unsafe.go", name)
		}
	}
}
