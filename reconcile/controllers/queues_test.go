package controllers

import (
	"reflect"
	"strings"
)

// countQueues counts the work queues in upstream's structs: fields of an
// interface type with the methods of one, in the structs and what they hold of
// packages of controllers. Each queue counts once; what shared points to is
// not looked into.
func countQueues(targets []any, shared ...any) int {
	w := queueWalk{seen: map[uintptr]bool{}}
	for _, s := range shared {
		w.seen[reflect.ValueOf(s).Pointer()] = true
	}
	for _, t := range targets {
		w.walk(reflect.ValueOf(t), 0)
	}
	return w.count
}

type queueWalk struct {
	seen  map[uintptr]bool
	count int
}

func (w *queueWalk) walk(v reflect.Value, depth int) {
	const deep = 5
	switch {
	case depth > deep:
	case v.Kind() == reflect.Interface && isQueue(v.Type()):
		if !v.IsNil() && !w.seen[v.Elem().Pointer()] {
			w.seen[v.Elem().Pointer()] = true
			w.count++
		}
	case v.Kind() == reflect.Interface && !v.IsNil():
		w.walk(v.Elem(), depth)
	case v.Kind() == reflect.Pointer && !v.IsNil() && ofController(v.Type().Elem()):
		if !w.seen[v.Pointer()] {
			w.seen[v.Pointer()] = true
			w.walk(v.Elem(), depth+1)
		}
	case v.Kind() == reflect.Struct && ofController(v.Type()):
		for i := range v.NumField() {
			w.walk(v.Field(i), depth+1)
		}
	}
}

func isQueue(t reflect.Type) bool {
	for _, method := range []string{"Get", "Done", "ShutDownWithDrain"} {
		if _, ok := t.MethodByName(method); !ok {
			return false
		}
	}
	return true
}

func ofController(t reflect.Type) bool {
	return t.Kind() == reflect.Struct && strings.HasPrefix(t.PkgPath(), "k8s.io/kubernetes/pkg/controller")
}
