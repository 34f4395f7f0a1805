package tap

import (
	"reflect"
	_ "runtime/pprof" // for go:linkname
	"unsafe"
)

// Everything here goes past Go's type system; no other file of this package imports
// unsafe. What makes it sound is checked beforehand, by reflection alone: sameLayout and
// sameMethods (layout.go) before at, checkLabelLayout (label.go) before label sets.
// checked.go has the versions that this was read against.

// at returns the memory of field v as a T. The caller has made sure that T has
// v's layout and, of an interface, its method set.
func at[T any](v reflect.Value) *T {
	return (*T)(unsafe.Pointer(v.UnsafeAddr()))
}

// exported returns field v without the mark that keeps reflect from using an
// unexported field.
func exported(v reflect.Value) reflect.Value {
	return reflect.NewAt(v.Type(), unsafe.Pointer(v.UnsafeAddr())).Elem()
}

// The two functions below are the runtime's own access to the labels of the
// calling goroutine. Package runtime/pprof can set labels but not read them
// back without the context they came from, and upstream's client code gives us
// no such context: only the goroutine, and what it inherited from the one that
// started it. Both functions are on the runtime's list of linknames that keep
// their signature (src/runtime/proflabel.go, go.dev/issue/67401).

//go:linkname getProfLabel runtime/pprof.runtime_getProfLabel
func getProfLabel() unsafe.Pointer

//go:linkname setProfLabel runtime/pprof.runtime_setProfLabel
func setProfLabel(labels unsafe.Pointer)

// labelSet is a goroutine's labels; the zero value is none.
type labelSet struct{ p unsafe.Pointer }

func goroutineLabels() labelSet { return labelSet{getProfLabel()} }

func setGoroutineLabels(s labelSet) { setProfLabel(s.p) }

// labels reads the list that every label set begins with.
func (s labelSet) labels() []label {
	if s.p == nil {
		return nil
	}
	return *(*[]label)(s.p)
}

// frame is the set as the frame that it is. The caller knows it by its first label.
func (s labelSet) frame() *frame { return (*frame)(s.p) }

// labelSet is the frame as a goroutine carries it.
func (f *frame) labelSet() labelSet { return labelSet{unsafe.Pointer(f)} }
