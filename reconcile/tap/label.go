package tap

import (
	"context"
	"fmt"
	"reflect"
	"runtime/pprof"

	"github.com/kctl-ctrl/kctl-ctrl/watch/state"
)

// Label keys, as a goroutine or CPU profile shows them. labelController comes
// first in every set of ours and tells it from a set made by anyone else.
const (
	labelController = "kctl-ctrl/controller"
	labelInformer   = "kctl-ctrl/informer"
	labelKey        = "kctl-ctrl/key"
	labelQueue      = "kctl-ctrl/queue"
)

// label is laid out as internal/runtime/pprof/label.Label (Go 1.26).
type label struct{ key, value string }

// frame is what a goroutine works for. Its address is the goroutine's label
// set: a goroutine started by another one inherits it, and the garbage
// collector keeps it for as long as one goroutine carries it. So a child that
// outlives its sync is still attributed to that sync, no number is ever reused
// for another one, and nothing has to be unregistered.
//
// The first field is what profiles read; it must stay first, have the layout
// of runtime/pprof's label set, which checkLabelLayout compares, be sorted by
// key and begin with labelController. A frame is not changed once a goroutine
// carries it.
type frame struct {
	labels []label
	tap    *Tap
	source source
}

// source knows the cause that a frame stands for. Its method is called on any
// goroutine, at any time after the frame was set.
type source interface{ cause() state.Cause }

// current returns the frame of the calling goroutine, nil where it has none of
// this tap.
func (t *Tap) current() *frame {
	if t.labelErr != nil {
		return nil
	}
	return t.frame(goroutineLabels())
}

// frame returns the label set as a frame, nil where it is none of this tap.
func (t *Tap) frame(set labelSet) *frame {
	// Only the label list may be read before the set is known to be ours: a
	// set made by runtime/pprof ends after it.
	if labels := set.labels(); len(labels) == 0 || labels[0].key != labelController {
		return nil
	}
	if f := set.frame(); f.tap == t {
		return f
	}
	return nil
}

// enter gives the calling goroutine the frame f and returns the labels it had,
// for leave.
func (t *Tap) enter(f *frame) (before labelSet) {
	if t.labelErr != nil {
		return labelSet{}
	}
	before = goroutineLabels()
	setGoroutineLabels(f.labelSet())
	return before
}

// leave gives the calling goroutine the labels before.
func (t *Tap) leave(before labelSet) {
	if t.labelErr == nil {
		setGoroutineLabels(before)
	}
}

// checkLabelLayout reports whether a profile may read a frame as a label set:
// it compares, by reflection alone, the type that runtime/pprof keeps in a
// context with what frame assumes. Should a Go release change it, the tap does
// without labels: causes are unknown then, and all else is observed as before.
func checkLabelLayout() error {
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("key", "value"))
	held := reflect.Indirect(reflect.ValueOf(ctx))
	if held.Kind() != reflect.Struct || !held.FieldByName("val").IsValid() {
		return fmt.Errorf("goroutine labels: no value in a %T", ctx)
	}
	set := held.FieldByName("val").Elem().Type()
	if set.Kind() != reflect.Pointer {
		return fmt.Errorf("goroutine labels: %v is not a pointer", set)
	}
	inner := set.Elem()
	for inner.Kind() == reflect.Struct && inner.NumField() == 1 {
		inner = inner.Field(0).Type
	}
	if err := sameLayout(inner, reflect.TypeFor[[]label](), anyName); err != nil {
		return fmt.Errorf("goroutine labels: %v: %w", set, err)
	}
	return nil
}
